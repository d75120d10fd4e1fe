// A CI job that deploys to an environment: one at a time, the newest push waits, and those between are skipped.
// Usage: job.ts ENVIRONMENT PUSH

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "60" } = process.env;
const { WAIT_SECONDS = "3600" } = process.env;
const [environment = "staging", push = "push-1"] = process.argv.slice(2);

/** Replace this with your own. Ends at once when the lock is lost. */
async function deploy(signal: AbortSignal): Promise<void> {
  await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal });
}

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(","), owner: push });
const { lock, refusal } = await rowlock.acquire(`ci/${environment}`, {
  ttl: Number(TTL_SECONDS) * 1_000,
  wait: Number(WAIT_SECONDS) * 1_000,
});
if (lock) {
  await using held = lock;
  console.log(`${push} begins`);
  await deploy(held.signal);
  console.log(`${push} ends`);
} else if (refusal.reason === "SUPERSEDED") {
  console.log(`${push} is skipped: a newer push is deployed instead`);
} else {
  console.log(`${push} gives up`);
  console.error(refusal.message);
  process.exitCode = 75;
}
