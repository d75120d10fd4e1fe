// A worker without a job table: what was in the row is in the job's lock, and the intervals are in a file. After SIGTERM it ends
// its job, and then itself. Usage: node worker.ts schedule.json

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type Lock } from "@rowlock/client";

const { ROWLOCK_ADDR = "127.0.0.1:50051", JOBS_PREFIX = "jobs/" } = process.env;
const { ATTEMPTS = "5", RETRY_SECONDS = "60", TTL_SECONDS = "30", WORK_SECONDS = "1" } = process.env;
const [file = "schedule.json"] = process.argv.slice(2);
/** Seconds from the end of a run to the next, by job. */
const schedule: Readonly<Record<string, number>> = JSON.parse(readFileSync(file, "utf8"));

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
while (!stop.signal.aborted) for (const lock of await captured()) await take(lock);

/** One job that is due, enabled, has attempts left, and runs nowhere. */
async function captured(): Promise<readonly Lock[]> {
  const ttl = Number(TTL_SECONDS) * 1_000;
  const terms = { ifStatus: ["idle", "failed"], statusIfLost: "failed", signal: stop.signal };
  try {
    return (await rowlock.capture({ prefix: JOBS_PREFIX, ...terms, ttl, wait: 60_000 })).locks;
  } catch (error) {
    if (stop.signal.aborted) return [];
    throw error;
  }
}

async function take(lock: Lock): Promise<void> {
  const job = lock.name.slice(JOBS_PREFIX.length);
  const everySeconds = schedule[job];
  if (everySeconds === undefined) return void (await lock.release({ status: "unknown" }));
  try {
    console.log(`${job} begins`);
    await work(lock.signal);
    console.log(`${job} ends`);
    await lock.release({ status: "idle", attemptsLeft: Number(ATTEMPTS), coolDown: everySeconds * 1_000 });
  } catch (error) {
    console.log(`${job} fails`);
    console.error(error);
    await lock.release({ status: "failed", coolDown: Number(RETRY_SECONDS) * 1_000 });
  }
}

/** Replace this with your own. Ends at once when the lock is lost. */
async function work(signal: AbortSignal): Promise<void> {
  await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal });
}
