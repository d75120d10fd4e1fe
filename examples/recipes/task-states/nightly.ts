// A job that is left out once it has failed, until somebody has looked at it; and that never runs twice at once.
// Usage: nightly.ts JOB

import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "60", FAIL } = process.env;
const [job = "nightly"] = process.argv.slice(2);

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
const { lock, refusal } = await rowlock.acquire(`job/${job}`, {
  wait: 0,
  ttl: Number(TTL_SECONDS) * 1_000,
  ifStatus: ["", "done"],
  statusIfLost: "failed",
});
if (lock) {
  console.log(`${job} begins`);
  try {
    await work(lock.signal);
  } catch (error) {
    console.log(`${job} fails`);
    await lock.release({ status: "failed" });
    throw error;
  }
  console.log(`${job} ends`);
  if (!(await lock.release({ status: "done" }))) throw new Error("The lock was lost in the last moment.");
} else {
  const why = refusal.reason === "STATUS_MISMATCH" ? `the last run has ${refusal.status}` : refusal.message;
  console.log(`${job} is left out`);
  console.error(why);
  process.exitCode = 75;
}

/** Replace this with your own. Ends at once when the lock is lost. */
async function work(signal: AbortSignal): Promise<void> {
  await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal });
  if (job === FAIL) throw new Error(`${job} cannot be done`);
}
