// Does jobs of one tenant, one after the other, as one of many workers: node work.ts TENANT JOB...

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", API = "openai", TTL_SECONDS = "30" } = process.env;
const [tenant, ...jobs] = process.argv.slice(2);

/** Replace this with your own. */
async function work(_job: string, signal: AbortSignal): Promise<void> {
  await sleep(Number(process.env.WORK_SECONDS ?? "1") * 1_000, undefined, { signal });
}

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
for (const job of jobs) {
  // Waits until nobody else does this job, then for room in the tenant's pool, and then in that of all tenants.
  await using lock = await rowlock.lock(`${API}/${tenant}/${job}`, { ttl: Number(TTL_SECONDS) * 1_000 });
  await work(job, lock.signal);
  console.log(`${tenant}/${job}: done`);
}
