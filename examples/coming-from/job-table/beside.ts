// A new worker for the time of the move, beside old workers: it has the job's lock, and claims its row, too. After SIGTERM it ends
// its job, and then itself. Usage: node beside.ts

import { setTimeout as sleep } from "node:timers/promises";
import { connect, type Lock } from "@rowlock/client";
import { recordOf } from "./moves.ts";
import { isRunning, JobTable, NEW_OWNER, PREFIX } from "./table.ts";

const { ROWLOCK_ADDR = "127.0.0.1:50051", TTL_SECONDS = "30", WORK_SECONDS = "1" } = process.env;
/** When to look again at a job whose row says no. */
const LOOK_AGAIN_MS = Number(process.env.LOOK_AGAIN_SECONDS ?? 5) * 1_000;

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
await using table = new JobTable();
await using rowlock = connect({ addresses: ROWLOCK_ADDR.split(",") });
while (!stop.signal.aborted) for (const lock of await captured()) await take(lock);

async function captured(): Promise<readonly Lock[]> {
  const ttl = Number(TTL_SECONDS) * 1_000;
  const terms = { ifStatus: ["idle", "failed"], statusIfLost: "failed", signal: stop.signal };
  try {
    return (await rowlock.capture({ prefix: PREFIX, ...terms, ttl, wait: 60_000 })).locks;
  } catch (error) {
    if (stop.signal.aborted) return [];
    throw error;
  }
}

async function take(lock: Lock): Promise<void> {
  const job = lock.name.slice(PREFIX.length);
  // Old workers leave the row alone, as for any owner. The token makes the row this holder's and no later one's.
  const owner = `${NEW_OWNER}${lock.token}`;
  const isClaimed = await table.claim(job, owner);
  if (isClaimed) await table.finish(job, owner, await isDone(job, lock.signal));

  // The lock remembers what the row says now, whoever has changed it.
  const row = await table.row(job);
  if (!row) return void (await lock.release({ status: "gone" }));
  const { notBefore, attemptsLeft, status } = recordOf(row);
  const dueInMs = notBefore ? notBefore.getTime() - row.nowS * 1_000 : 0;
  await lock.release({
    coolDown: Math.ceil(Math.max(dueInMs, isClaimed ? 0 : LOOK_AGAIN_MS)),
    ...(attemptsLeft !== null && { attemptsLeft }),
    ...(!isRunning(row) && { status }),
  });
}

async function isDone(job: string, signal: AbortSignal): Promise<boolean> {
  console.log(`${job} begins`);
  try {
    await work(signal);
    console.log(`${job} ends`);
    return true;
  } catch (error) {
    console.log(`${job} fails`);
    console.error(error);
    return false;
  }
}

/** Replace this with your own. Ends at once when the lock is lost. */
async function work(signal: AbortSignal): Promise<void> {
  await sleep(Number(WORK_SECONDS) * 1_000, undefined, { signal });
}
