// A job of a tenant that needs one of a few GPUs. Tenants get them in turn, however many jobs each of them starts.
// Usage: job.ts TENANT JOB

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "60" } = process.env;
const { WAIT_SECONDS = "3600" } = process.env;
const [tenant = "acme", job = "job-1"] = process.argv.slice(2);

/** Replace this with your own. Ends at once when the lock is lost. */
async function render(signal: AbortSignal): Promise<void> {
  await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal });
}

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(","), owner: job, labels: { tenant } });
await using lock = await rowlock.lock("gpu", {
  ttl: Number(TTL_SECONDS) * 1_000,
  wait: Number(WAIT_SECONDS) * 1_000,
});
console.log(`${job} begins`);
await render(lock.signal);
console.log(`${job} ends`);
