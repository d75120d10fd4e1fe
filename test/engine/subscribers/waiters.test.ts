// What a poll does with the rows it reads: which locks it advances, whose claims it reads, and how many at a time.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Claim, ClaimKey } from "../../../server/core/claim.ts";
import { DUE_AHEAD_US, POLL_LOCKS_MAX, POLL_REST_MS_MAX } from "../../../server/engine/engine-bounds.ts";
import { Followers } from "../../../server/engine/subscribers/followers.ts";
import { Places } from "../../../server/engine/subscribers/places.ts";
import { Waiters } from "../../../server/engine/subscribers/waiters.ts";
import { CLAIM } from "../../support/claims.ts";

const TICK_MS = 100;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Locks with one waiter each, in a database that the test changes. */
function scene(locks: number) {
  const followers = new Followers();
  const told: [lockId: bigint, state: Claim["state"]][] = [];
  const lockIds = Array.from({ length: locks }, (_, index) => BigInt(index + 1));
  const claim = (lockId: bigint): Claim => ({ ...CLAIM, lockId, state: "waiting" });
  const follower = { settled: ({ lockId, state }: Claim) => void told.push([lockId, state]) };
  for (const lockId of lockIds) followers.add(claim(lockId), follower, 1n);
  const database = {
    revisions: new Map(lockIds.map((id) => [id, 1n])),
    due: [] as bigint[],
    dueSoon: new Map<bigint, number>(),
    claims: new Map(lockIds.map((id) => [id, claim(id)])),
    fails: false,
  };
  const looks: (readonly bigint[])[] = [];
  const reads: (readonly bigint[])[] = [];
  const advanced: bigint[] = [];
  const changed: bigint[] = [];
  const failures: unknown[] = [];
  const aheads: number[] = [];
  const places = new Places({
    store: { queue: async () => ({ nowUs: 0, places: [] }) },
    followers,
    onFailure() {},
  });
  vi.spyOn(places, "changed").mockImplementation((lockId) => void changed.push(lockId));
  const waiters = new Waiters({
    store: {
      poll: async (ids, aheadUs) => {
        looks.push(ids);
        aheads.push(aheadUs);
        if (database.fails) throw new Error("A fault made by a test.");
        const { revisions, due, dueSoon } = database;
        return { revisions, due, dueSoon, rulesRevision: 1n };
      },
      limitRules: async () => [],
      claims: async (keys: readonly ClaimKey[]) => {
        reads.push(keys.map(({ lockId }) => lockId));
        return { nowUs: 9, claims: keys.flatMap(({ lockId }) => database.claims.get(lockId) ?? []) };
      },
    },
    followers,
    places,
    advances: { start: async (lockId) => void advanced.push(lockId) },
    rulesInForce: { saw() {} },
    intervalMs: TICK_MS,
    onRulesChanged() {},
    onFailure: (loop, error) => void failures.push([loop, error]),
  });
  const becomes = (lockId: bigint, state: Claim["state"], revision: bigint) => {
    database.revisions.set(lockId, revision);
    database.claims.set(lockId, { ...claim(lockId), state });
  };
  return {
    waiters,
    followers,
    database,
    becomes,
    looks,
    reads,
    advanced,
    changed,
    failures,
    aheads,
    told,
    lockIds,
  };
}

describe("a look", () => {
  test("advances due locks, and waits for none of them", async () => {
    const { waiters, database, advanced } = scene(3);
    database.due = [3n, 1n];
    await waiters.look();
    expect(advanced).toEqual([3n, 1n]);
  });

  test("at some locks reads those of them that are followed here, and no others", async () => {
    const { waiters, looks } = scene(3);
    await waiters.look([2n, 99n]);
    expect(looks).toEqual([[2n]]);
    await waiters.look([99n]);
    expect(looks).toHaveLength(1);
  });

  test("at many locks is made in parts, as are the reads of their claims", async () => {
    const { waiters, looks, reads, becomes, lockIds } = scene(POLL_LOCKS_MAX + 1);
    for (const lockId of lockIds) becomes(lockId, "waiting", 2n);
    await waiters.look();
    expect(looks.map((ids) => ids.length)).toEqual([POLL_LOCKS_MAX, 1]);
    expect(reads.map((ids) => ids.length)).toEqual([POLL_LOCKS_MAX, 1]);
  });
});

describe("a look at the end of a lease", () => {
  test("that fails is reported, and requests the ends that come soon", async () => {
    const { waiters, database, failures, aheads } = scene(1);
    database.dueSoon.set(1n, 50_000);
    await waiters.look();
    expect(aheads).toEqual([DUE_AHEAD_US]);
    database.fails = true;
    await vi.advanceTimersByTimeAsync(100);
    expect(failures).toEqual([["poll", expect.objectContaining({ message: "A fault made by a test." })]]);
  });

  test("is one for all that end at the same time, and is not made after the stop", async () => {
    const { waiters, database, looks } = scene(3);
    for (const lockId of [1n, 2n]) database.dueSoon.set(lockId, 50_000);
    await waiters.look();
    database.dueSoon.clear();
    await vi.advanceTimersByTimeAsync(100);
    expect(looks.slice(1)).toEqual([[1n, 2n]]);
    database.dueSoon.set(3n, 50_000);
    await waiters.look();
    await waiters.stop();
    await vi.advanceTimersByTimeAsync(100);
    expect(looks).toHaveLength(3);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the ticks", () => {
  test("rest a little longer while the database is away, and not for long after it is back", async () => {
    const { waiters, database, looks, failures } = scene(1);
    database.fails = true;
    waiters.start();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(failures.length).toBeGreaterThan(30);
    expect(failures.length).toBeLessThan(50);
    database.fails = false;
    const before = looks.length;
    await vi.advanceTimersByTimeAsync(POLL_REST_MS_MAX);
    const after = looks.length;
    expect(after).toBeGreaterThan(before);
    await vi.advanceTimersByTimeAsync(10 * TICK_MS);
    expect(looks).toHaveLength(after + 10);
    await waiters.stop();
  });
});
