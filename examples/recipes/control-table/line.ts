// A job that stands in line: first come, first served, and as many at a time as the limit of the line says.
// Usage: line.ts LINE JOB

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "60" } = process.env;
const [line = "reports", job = "job"] = process.argv.slice(2);

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(","), owner: job });
const options = {
  ttl: Number(TTL_SECONDS) * 1_000,
  onPosition: ({ ahead }: { ahead: number }) => console.error(`${job} waits, ${ahead} before it`),
};
await rowlock.withLock(`line/${line}`, options, async (lock) => {
  console.log(`${job} begins with token ${lock.token}`);
  await work(lock.signal);
  console.log(`${job} ends`);
});

/** Replace this with your own. Ends at once when the place is lost. */
async function work(signal: AbortSignal): Promise<void> {
  await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal });
}
