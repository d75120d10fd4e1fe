// Holding: each client takes one lock after the other, by a try or by waiting, holds it for a moment or for longer than
// its ttl, writes to the store that it protects, and releases it.

import { setTimeout as sleep } from "node:timers/promises";
import type { Client, Holding } from "../clients/client.ts";
import { monotonicMs } from "../history/clock.ts";
import type { Mode } from "../history/history.ts";
import type { FencedStore } from "./fenced-store.ts";
import { POOLED } from "./pools.ts";
import { oneOf, type Run, TTL_MS } from "./run.ts";

export const MUTEXES = ["mutex/0", "mutex/1", "mutex/2", "mutex/3", "mutex/4"];
export const SEMAPHORE = "semaphore";
export const READ_WRITE = "read-write";
/** Mutexes that an operator pauses by a pattern now and then. */
export const PAUSED = ["paused/0", "paused/1"];
export const PAUSED_PATTERN = "paused/*";
/** A mutex whose leases an operator ends by force now and then. */
export const FORCED = "forced";
export const LOCKS = [...MUTEXES, SEMAPHORE, READ_WRITE, ...PAUSED, FORCED, ...POOLED];
/** What the store protects. */
const FENCED = [...MUTEXES, ...PAUSED, FORCED];

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

export async function useLocks(run: Run, client: Client, store: FencedStore): Promise<void> {
  const { chance, isOver } = run;
  while (!isOver()) {
    const lock = oneOf(LOCKS, chance);
    const mode = modeOn(lock, chance);
    const permits = lock === SEMAPHORE ? 1 + Math.floor(chance() * PERMITS_MAX) : 1;
    const waitMs = chance() < TRIES_SHARE ? 0 : 100 + Math.floor(chance() * WAIT_MS_MAX);
    const isDoubled = client.isBare && waitMs === 0 && chance() < DOUBLED_SHARE;
    const holding = await client.acquire({ lock, mode, permits, ttlMs: TTL_MS, waitMs, isDoubled });
    if (holding) await use(run, client, lock, holding, store);
    await sleep(chance() * REST_MS_MAX);
  }
}

function modeOn(lock: string, chance: () => number): Mode {
  if (lock !== READ_WRITE) return "permit";
  return chance() < WRITERS_SHARE ? "exclusive" : "shared";
}

async function use(
  { history, chance }: Run,
  client: Client,
  lock: string,
  holding: Holding,
  store: FencedStore,
): Promise<void> {
  const { token } = holding;
  const who = client.name;
  const isFenced = FENCED.includes(lock);
  const base = isFenced ? store.read(lock, token) : undefined;
  const startMs = monotonicMs();
  await sleep(chance() < LONG_SHARE ? LONG_MS : chance() * HOLD_MS_MAX);
  // Not asked whether it still holds the lock: the store must refuse it if it does not.
  if (base !== undefined)
    history.add({
      did: "write",
      who,
      lock,
      token,
      base,
      startMs,
      endMs: monotonicMs(),
      ...store.write(lock, token),
    });
  const releaseMs = monotonicMs();
  const outcome = await client.release(holding);
  history.add({ did: "release", who, lock, token, startMs: releaseMs, endMs: monotonicMs(), outcome });
}
