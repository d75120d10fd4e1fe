// What a poll does with the rows it reads: which locks it advances, whose claims it reads, and how many at a time.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Claim, ClaimKey } from "../../../server/core/claim.ts";
import { DUE_AHEAD_US, POLL_LOCKS_MAX } from "../../../server/engine/engine-bounds.ts";
import { Followers } from "../../../server/engine/subscribers/followers.ts";
import { Places } from "../../../server/engine/subscribers/places.ts";
import type { WaitersOptions } from "../../../server/engine/subscribers/waiters.ts";
import { CLAIM } from "../../support/claims.ts";
import { waitersOver } from "../../support/scripted-waiters.ts";

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
    /** When the leases end that the waiters wait for; null: long after the next polls. */
    endMs: new Map<bigint, number>(),
    claims: new Map(lockIds.map((id) => [id, claim(id)])),
  };
  const looks: (readonly bigint[])[] = [];
  const reads: (readonly bigint[])[] = [];
  const advanced: { lockId: bigint; atMs: number }[] = [];
  const store: Partial<WaitersOptions["store"]> = {
    poll: async (ids, aheadUs) => {
      looks.push(ids);
      expect(aheadUs).toBe(DUE_AHEAD_US);
      const { revisions, endMs } = database;
      const inUs = ids.map((id) => [id, ((endMs.get(id) ?? Infinity) - Date.now()) * 1_000] as const);
      const due = inUs.flatMap(([id, us]) => (us <= 0 ? [id] : []));
      const dueSoon = new Map(inUs.filter(([, us]) => us > 0 && us <= aheadUs));
      return { revisions, due: [...database.due, ...due], dueSoon, rulesRevision: 1n };
    },
    claims: async (keys: readonly ClaimKey[]) => {
      reads.push(keys.map(({ lockId }) => lockId));
      return { nowUs: 9, claims: keys.flatMap(({ lockId }) => database.claims.get(lockId) ?? []) };
    },
  };
  const queue = async () => ({ nowUs: 0, lock: null, places: [] });
  const places = new Places({
    store: { queue, poolQueue: queue },
    rules: () => [],
    followers,
    onFailure() {},
  });
  const changed: bigint[] = [];
  vi.spyOn(places, "changed").mockImplementation((lockId) => void changed.push(lockId));
  const waiters = waitersOver(followers, store, {
    places,
    advances: { start: async (lockId) => void advanced.push({ lockId, atMs: Date.now() }) },
    onFailure: (_loop, error) => expect.unreachable(String(error)),
  });
  const becomes = (lockId: bigint, state: Claim["state"], revision: bigint) => {
    database.revisions.set(lockId, revision);
    database.claims.set(lockId, { ...claim(lockId), state });
  };
  return { waiters, database, becomes, looks, reads, advanced, changed, told, lockIds };
}

describe("a look", () => {
  test("advances due locks, and waits for none of them", async () => {
    const { waiters, database, advanced } = scene(3);
    database.due = [3n, 1n];
    await waiters.look();
    expect(advanced.map(({ lockId }) => lockId)).toEqual([3n, 1n]);
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

  test("reads the claims of changed locks alone, and notifies those that no longer wait", async () => {
    const { waiters, becomes, reads, told, changed } = scene(4);
    becomes(2n, "waiting", 2n);
    becomes(3n, "held", 2n);
    await waiters.look();
    expect(reads).toEqual([[2n, 3n]]);
    expect(told).toEqual([[3n, "held"]]);
    expect(changed).toEqual([2n, 3n]);
    await waiters.look();
    expect(reads).toHaveLength(1);
    expect(changed).toHaveLength(2);
  });
});

describe("a look at the end of a lease", () => {
  const ends = (inMs: number, stage = scene(1)) => {
    for (const lockId of stage.lockIds) stage.database.endMs.set(lockId, Date.now() + inMs);
    return stage;
  };

  test("ends it within some milliseconds, and looks once, however often the lock was polled before", async () => {
    const { waiters, advanced, looks, database } = ends(400);
    for (let polls = 0; polls < 5; polls++) await waiters.look();
    await vi.advanceTimersByTimeAsync(399);
    expect(advanced).toEqual([]);
    await vi.advanceTimersByTimeAsync(6);
    expect(advanced).toHaveLength(1);
    expect(advanced[0]?.atMs).toBeLessThanOrEqual((database.endMs.get(1n) ?? 0) + 5);
    expect(looks).toHaveLength(6);
  });

  test("that was renewed meanwhile is made again then, without a transaction", async () => {
    const stage = ends(400);
    await stage.waiters.look();
    ends(900, stage);
    await vi.advanceTimersByTimeAsync(405);
    expect([stage.advanced, stage.looks.length]).toEqual([[], 2]);
    await vi.advanceTimersByTimeAsync(505);
    expect(stage.advanced).toHaveLength(1);
  });

  test("is one for all that end at the same time, and is not made after the stop", async () => {
    const stage = ends(50, scene(2));
    await stage.waiters.look();
    await vi.advanceTimersByTimeAsync(100);
    expect(stage.looks.slice(1)).toEqual([[1n, 2n]]);
    ends(50, stage);
    await stage.waiters.look();
    await stage.waiters.stop();
    await vi.advanceTimersByTimeAsync(100);
    expect(stage.looks).toHaveLength(3);
    expect(vi.getTimerCount()).toBe(0);
  });
});
