// Operating: changes that a person makes while everything is used. The limit of the semaphore is turned, locks are paused
// by a pattern, rates and a pool are changed, leases are ended by force, and a counter's record is deleted.

import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Failed, outcomeOf } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import { compareAndSet, ERASED, NO_RECORD, readCounter } from "./counters.ts";
import { FORCED, PAUSED, PAUSED_PATTERN, SEMAPHORE, SET_MUTEXES } from "./locks.ts";
import { changePool } from "./pools.ts";
import { changeRate } from "./rates.ts";
import { oneOf, type Run } from "./run.ts";

const LIMIT_MAX = 4;
/** Of a lock without any setting. */
const LIMIT_DEFAULT = 1;
const PAUSE_MS_MAX = 1_500;
const RESUME_TRIES_MAX = 20;
const REST_MS_MAX = 500;

type Change = (run: Run, client: Client) => Promise<void>;
const CHANGES: readonly Change[] = [turn, pause, changeRate, changePool, force, erase];

export async function operate(run: Run): Promise<void> {
  const { chance, clients, isOver } = run;
  while (!isOver()) {
    await oneOf(CHANGES, chance)(run, oneOf(clients, chance));
    await sleep(chance() * REST_MS_MAX);
  }
}

async function turn({ history, chance }: Run, client: Client): Promise<void> {
  const limit = 1 + Math.floor(chance() * LIMIT_MAX);
  const call = { did: "limit", who: client.name, lock: SEMAPHORE, limit, startMs: monotonicMs() } as const;
  const outcome = await outcomeOf(client.ask({ do: "setLimit", name: SEMAPHORE, limit }));
  history.add({ ...call, endMs: monotonicMs(), outcome });
}

async function pause(run: Run, client: Client): Promise<void> {
  await setPaused(run, client, true);
  await sleep(run.chance() * PAUSE_MS_MAX);
  for (let tries = 0; tries < RESUME_TRIES_MAX; tries++) {
    if ((await setPaused(run, oneOf(run.clients, run.chance), false)) === "done") return;
    await sleep(REST_MS_MAX);
  }
}

async function setPaused({ history }: Run, client: Client, isPaused: boolean): Promise<"done" | "unknown"> {
  const startMs = monotonicMs();
  const limit = isPaused ? 0 : null;
  const outcome = await outcomeOf(client.ask({ do: "setLimit", pattern: PAUSED_PATTERN, limit }));
  const call = { did: "limit", who: client.name, startMs, endMs: monotonicMs(), outcome } as const;
  for (const lock of PAUSED)
    history.add({ ...call, lock, limit: limit ?? LIMIT_DEFAULT, pattern: PAUSED_PATTERN });
  return outcome;
}

/** One of several locks that a lease has is enough to end it. */
async function force({ history, chance }: Run, client: Client): Promise<void> {
  const lock = oneOf([FORCED, SET_MUTEXES[0] as string], chance);
  const call = { did: "force", who: client.name, lock, startMs: monotonicMs() } as const;
  try {
    const { ended } = await client.ask({ do: "forceRelease", name: lock, reason: "a run" });
    history.add({ ...call, endMs: monotonicMs(), outcome: "done", ended: Number(ended) });
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    const outcome = error.reason === "UNKNOWN_LOCK" ? "done" : "unknown";
    history.add({ ...call, endMs: monotonicMs(), outcome, ended: 0 });
  }
}

async function erase(run: Run, client: Client): Promise<void> {
  const from = await readCounter(run, client, ERASED);
  if (!from || from.version === NO_RECORD) return;
  await compareAndSet(run, client, ERASED, from, 0, async () => {
    await client.ask({ do: "deleteRecord", name: ERASED, ifVersion: from.version });
    return NO_RECORD;
  });
}
