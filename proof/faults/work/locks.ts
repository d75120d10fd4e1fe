// Holding: each client takes one lock after the other, by a try or by waiting, holds it for a moment or for longer than
// its ttl, writes to the store that it protects, and releases it.

import { setTimeout as sleep } from "node:timers/promises";
import type { Client, Holding, WantedLock } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import type { Mode } from "../history/history.ts";
import type { FencedStore } from "./fenced-store.ts";
import { POOLED, POOLED_SETS } from "./pools.ts";
import { groupAt, WITH_QUEUE_RULES } from "./queue-rules.ts";
import { oneOf, type Run, TTL_MS } from "./run.ts";

export const MUTEXES = ["mutex/0", "mutex/1", "mutex/2", "mutex/3", "mutex/4"];
export const SEMAPHORE = "semaphore";
export const READ_WRITE = "read-write";
/** Mutexes that an operator pauses by a pattern now and then. */
export const PAUSED = ["paused/0", "paused/1"];
export const PAUSED_PATTERN = "paused/*";
/** A mutex whose leases an operator ends by force now and then. */
export const FORCED = "forced";
/** Held together with each other, and now and then alone. Where one claim waits for two, others wait for it: so few use them. */
export const SET_MUTEXES = ["set/0", "set/1", "set/2", "set/3", "set/4", "set/5", "set/6", "set/7"];
const SET_READ_WRITE = "set/read-write";
const SETS = [...SET_MUTEXES, SET_READ_WRITE, ...POOLED_SETS];
const SINGLE = [...MUTEXES, SEMAPHORE, READ_WRITE, ...PAUSED, FORCED, ...POOLED, ...WITH_QUEUE_RULES];
export const LOCKS = [...SINGLE, ...SETS];
/** What the store protects. */
const FENCED = [...MUTEXES, ...PAUSED, FORCED, ...SET_MUTEXES];

const TRIES_SHARE = 0.3;
/** Of the tries of bare clients. */
const DOUBLED_SHARE = 0.3;
const WRITERS_SHARE = 0.3;
const PERMITS_MAX = 2;
const WAIT_MS_MAX = 4_000;
const HOLD_MS_MAX = 60;
/** Some hold for longer than a ttl, so they must renew. */
const LONG_SHARE = 0.02;
const LONG_MS = 1.5 * TTL_MS;
const REST_MS_MAX = 60;
const SET_MAX = 4;
const ALONE_SHARE = 0.3;
const SET_TRIES_SHARE = 0.2;
/** Some wait for longer than anything may be left alone. */
const SET_LONG_SHARE = 0.3;
const SET_LONG_MS = 10_000;

export async function useLocks(run: Run, client: Client, store: FencedStore): Promise<void> {
  const { chance, isOver } = run;
  while (!isOver()) {
    const lock = oneOf(SINGLE, chance);
    const mode = modeOn(lock, chance);
    const permits = lock === SEMAPHORE ? 1 + Math.floor(chance() * PERMITS_MAX) : 1;
    const waitMs = chance() < TRIES_SHARE ? 0 : 100 + Math.floor(chance() * WAIT_MS_MAX);
    const isDoubled = client.isBare && waitMs === 0 && chance() < DOUBLED_SHARE;
    const holding = await client.acquire({
      ...{ lock, mode, permits, ttlMs: TTL_MS, waitMs, isDoubled },
      group: groupAt(lock, client),
    });
    if (holding) await use(run, client, holding, store);
    await sleep(chance() * REST_MS_MAX);
  }
}

/** Mostly several locks at a time, in any order. Of a bare client. */
export async function useSets(run: Run, client: Client, store: FencedStore): Promise<void> {
  const { chance, isOver } = run;
  while (!isOver()) {
    const [first, ...also] = SETS.map((lock) => ({
      at: chance(),
      lock,
      mode: modeOn(lock, chance),
      permits: 1,
    }))
      .sort((a, b) => a.at - b.at)
      .slice(0, chance() < ALONE_SHARE ? 1 : 2 + Math.floor(chance() * (SET_MAX - 1)))
      .map(({ at: _, ...wanted }) => wanted) as [WantedLock, ...WantedLock[]];
    const kind = chance();
    const isLong = kind < SET_TRIES_SHARE + SET_LONG_SHARE;
    const longMs = isLong ? SET_LONG_MS : 100 + Math.floor(chance() * WAIT_MS_MAX);
    const waitMs = kind < SET_TRIES_SHARE ? 0 : longMs;
    const isDoubled = waitMs === 0 && chance() < DOUBLED_SHARE;
    const holding = await client.acquire({ ...first, also, ttlMs: TTL_MS, waitMs, isDoubled });
    if (holding) await use(run, client, holding, store);
    await sleep(chance() * REST_MS_MAX);
  }
}

function modeOn(lock: string, chance: () => number): Mode {
  if (lock !== READ_WRITE && lock !== SET_READ_WRITE) return "permit";
  return chance() < WRITERS_SHARE ? "exclusive" : "shared";
}

async function use(
  { history, chance }: Run,
  client: Client,
  holding: Holding,
  store: FencedStore,
): Promise<void> {
  const who = client.name;
  const fenced = holding.beliefs.flatMap(({ lock, token }) => {
    const base = FENCED.includes(lock) ? store.read(lock, token) : undefined;
    return base === undefined ? [] : { lock, token, base };
  });
  const startMs = monotonicMs();
  await sleep(chance() < LONG_SHARE ? LONG_MS : chance() * HOLD_MS_MAX);
  // Not asked whether it still holds the lock: the store must refuse it if it does not.
  for (const { lock, token, base } of fenced) {
    const write = { did: "write", who, lock, token, base, startMs } as const;
    history.add({ ...write, endMs: monotonicMs(), ...store.write(lock, token) });
  }
  const releaseMs = monotonicMs();
  const outcome = await client.release(holding);
  const call = { did: "release", who, startMs: releaseMs, endMs: monotonicMs(), outcome } as const;
  for (const { lock, token, set } of holding.beliefs)
    history.add({ ...call, lock, token, ...(set && { set }) });
}
