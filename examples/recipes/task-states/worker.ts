// A worker of one queue: takes up to three tasks at a time, does them, and says how each has gone. Ends when there has been nothing to
// do for a while.
// Usage: worker.ts QUEUE

import { setTimeout as sleep } from "node:timers/promises";
import { connect, type Lock } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "60", FAIL } = process.env;
const { RETRY_SECONDS = "60", IDLE_SECONDS = "600" } = process.env;
const [queue = "mail"] = process.argv.slice(2);
const prefix = `tasks/${queue}/`;

await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
for (;;) {
  const { locks } = await rowlock.capture({
    prefix,
    count: 3,
    ifStatus: ["new", "failed"],
    statusIfLost: "failed",
    ttl: Number(TTL_SECONDS) * 1_000,
    wait: Number(IDLE_SECONDS) * 1_000,
  });
  if (locks.length === 0) break;
  await Promise.all(locks.map((lock) => take(lock.name.slice(prefix.length), lock)));
}

async function take(task: string, lock: Lock): Promise<void> {
  console.log(`${queue}/${task} begins`);
  try {
    await work(task, lock.signal);
  } catch (error) {
    console.log(`${queue}/${task} fails`);
    console.error(error);
    await lock.release({ status: "failed", coolDown: Number(RETRY_SECONDS) * 1_000 });
    return;
  }
  console.log(`${queue}/${task} ends`);
  // False: it was lost in the last moment, and somebody does it again.
  await lock.release({ status: "done" });
}

/** Replace this with your own. Ends at once when the task is lost. */
async function work(task: string, signal: AbortSignal): Promise<void> {
  await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal });
  if (task === FAIL) throw new Error(`${task} cannot be done`);
}
