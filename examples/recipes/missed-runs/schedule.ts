// Fires each run of a schedule once, also those that were missed while nothing ran; on as many servers as you like:
// node schedule.ts

import { setTimeout as pause } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", JOB = "runs", EVERY_SECONDS = "3600" } = process.env;
const { LOOK_BACK_SECONDS = "86400", RETRY_SECONDS = "60" } = process.env;
const { TTL_SECONDS = "30", WORK_SECONDS = "1" } = process.env;

/** Replace this with your own. `run` is such as "runs/2026-01-01T07:00:00Z". */
async function fire(run: string, token: bigint, signal: AbortSignal): Promise<void> {
  console.log(`${run} begins, with token ${token}`);
  await pause(Number(WORK_SECONDS) * 1_000, undefined, { signal });
  console.log(`${run} ends`);
}

/** The runs whose time has come within the last day, at whole multiples of the interval; and how long it is to the next. */
function due(): { names: string[]; nextMs: number } {
  const [everyMs, now] = [Number(EVERY_SECONDS) * 1_000, Date.now()];
  const nextMs = everyMs - (now % everyMs);
  const names: string[] = [];
  for (let at = now + nextMs - everyMs; at > now - Number(LOOK_BACK_SECONDS) * 1_000; at -= everyMs)
    names.push(`${JOB}/${new Date(at).toISOString().replace(".000Z", "Z")}`);
  return { names, nextMs };
}

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
for (;;) {
  const { names, nextMs } = due();
  const { locks } = await rowlock.capture({
    names,
    ifStatus: ["", "failed"],
    statusIfLost: "failed",
    wait: nextMs,
    ttl: Number(TTL_SECONDS) * 1_000,
  });
  // None: all are done, or others are at them, and the time of the next one has come.
  for (const lock of locks) {
    try {
      await fire(lock.name, lock.token, lock.signal);
      await lock.release({ status: "done" });
    } catch (error) {
      console.error(error);
      await lock.release({ status: "failed", coolDown: Number(RETRY_SECONDS) * 1_000 });
    }
  }
}
