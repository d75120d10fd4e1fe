// Runs on each of 25 identical servers, one of which makes the report of the hour: node report.ts

import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", JOB = "hourly/report", SERVER = hostname() } = process.env;
const { EVERY_SECONDS = "3600", RETRY_SECONDS = "60", TTL_SECONDS = "30", WORK_SECONDS = "5" } = process.env;

/** Replace this with your own. Ends when the lock is lost, before another server begins. */
async function report(token: bigint, signal: AbortSignal): Promise<void> {
  console.log(`${SERVER} begins, with token ${token}`);
  await pause(Number(WORK_SECONDS) * 1_000, undefined, { signal });
  console.log(`${SERVER} ends`);
}

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(","), owner: SERVER });
for (;;) {
  // Waits in the queue, until it is first in it and the hour is over; or until whoever runs the job has died.
  await using lock = await rowlock.lock(JOB, {
    minInterval: Number(EVERY_SECONDS) * 1_000,
    ttl: Number(TTL_SECONDS) * 1_000,
  });
  try {
    await report(lock.token, lock.signal);
  } catch (error) {
    console.error(error);
    // It was not made: the next server tries soon, and not in an hour.
    await lock.release({ coolDown: Number(RETRY_SECONDS) * 1_000 });
  }
}
