// Deploys a service that uses a database: one deployment of each service at a time, and none of any while its database is
// migrated. Usage: deploy.ts SERVICE DATABASE use|migrate

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "60" } = process.env;
const { WAIT_SECONDS = "600" } = process.env;
const [service = "shop", database = "orders", how = "use"] = process.argv.slice(2);

/** Replace this with your own. Ends at once when the locks are lost. */
async function deploy(signal: AbortSignal): Promise<void> {
  await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal });
}

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(","), owner: service });
const { lock, refusal } = await rowlock.acquire(`deploy/${service}`, {
  also: [{ name: `database/${database}`, mode: how === "migrate" ? "exclusive" : "shared" }],
  ttl: Number(TTL_SECONDS) * 1_000,
  wait: Number(WAIT_SECONDS) * 1_000,
});
if (lock) {
  await using held = lock;
  console.log(`${service} begins`);
  await deploy(held.signal);
  console.log(`${service} ends`);
} else {
  console.log(`${service} gives up`);
  console.error(refusal.message);
  process.exitCode = 75;
}
