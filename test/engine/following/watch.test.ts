// What a poll does with the rows it reads: which locks it advances, whose claims it reads, and how many at a time.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Claim, ClaimKey } from "../../../server/core/claim.ts";
import { DUE_AHEAD_US, POLL_LOCKS_MAX } from "../../../server/engine/engine-bounds.ts";
import { Followers } from "../../../server/engine/following/followers.ts";
import { Places } from "../../../server/engine/following/places.ts";
import { Watch } from "../../../server/engine/following/watch.ts";
import { CLAIM } from "../../support/claims.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Locks with one waiter each, in a database that the test changes. */
function scene(locks: number) {
  const followers = new Followers();
  const told: [lockId: bigint, state: Claim["state"]][] = [];
  const lockIds = Array.from({ length: locks }, (_, index) => BigInt(index + 1));
  const claim = (lockId: bigint): Claim => ({ ...CLAIM, lockId, state: "waiting" });
  const follower = { told: ({ lockId, state }: Claim) => void told.push([lockId, state]) };
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
  const watch = new Watch({
    store: {
      watch: async (ids, aheadUs) => {
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
    onFailure: (loop, error) => void failures.push([loop, error]),
  });
  const becomes = (lockId: bigint, state: Claim["state"], revision: bigint) => {
    database.revisions.set(lockId, revision);
    database.claims.set(lockId, { ...claim(lockId), state });
  };
  return {
    watch,
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
  test("reads the claims of the locks that have changed alone, and tells who no longer waits", async () => {
    const { watch, becomes, reads, told, changed } = scene(4);
    becomes(2n, "waiting", 2n);
    becomes(3n, "held", 2n);
    await watch.look();
    expect(reads).toEqual([[2n, 3n]]);
    expect(told).toEqual([[3n, "held"]]);
    expect(changed).toEqual([2n, 3n]);
    await watch.look();
    expect(reads).toHaveLength(1);
    expect(changed).toHaveLength(2);
  });

  test("tells those whose guard row is gone that they have ended", async () => {
    const { watch, database, told } = scene(2);
    database.revisions.delete(1n);
    database.claims.delete(1n);
    await watch.look();
    expect(told).toEqual([[1n, "ended"]]);
  });

  test("advances what is due, and waits for none of it", async () => {
    const { watch, database, advanced } = scene(3);
    database.due = [3n, 1n];
    await watch.look();
    expect(advanced).toEqual([3n, 1n]);
  });

  test("at some locks is for those of them that are followed here, and at no others", async () => {
    const { watch, looks } = scene(3);
    await watch.look([2n, 99n]);
    expect(looks).toEqual([[2n]]);
    await watch.look([99n]);
    expect(looks).toHaveLength(1);
  });

  test("where nobody waits is one all the same, and one at all locks otherwise", async () => {
    const nobody = scene(0);
    await nobody.watch.look();
    expect(nobody.looks).toEqual([[]]);
    const { watch, looks, lockIds } = scene(3);
    await watch.look();
    expect(looks).toEqual([lockIds]);
  });

  test("at many locks comes in parts, as do the reads of their claims", async () => {
    const { watch, looks, reads, becomes, lockIds } = scene(POLL_LOCKS_MAX + 1);
    for (const lockId of lockIds) becomes(lockId, "waiting", 2n);
    await watch.look();
    expect(looks.map((ids) => ids.length)).toEqual([POLL_LOCKS_MAX, 1]);
    expect(reads.map((ids) => ids.length)).toEqual([POLL_LOCKS_MAX, 1]);
  });
});

describe("a look at the end of a lease", () => {
  test("that fails is reported, and asks for ends that come soon", async () => {
    const { watch, database, failures, aheads } = scene(1);
    database.dueSoon.set(1n, 50_000);
    await watch.look();
    expect(aheads).toEqual([DUE_AHEAD_US]);
    database.fails = true;
    await vi.advanceTimersByTimeAsync(100);
    expect(failures).toEqual([["poll", expect.objectContaining({ message: "A fault made by a test." })]]);
  });

  test("is one for all that end at the same time, and not after the stop", async () => {
    const { watch, database, looks } = scene(3);
    for (const lockId of [1n, 2n]) database.dueSoon.set(lockId, 50_000);
    await watch.look();
    database.dueSoon.clear();
    await vi.advanceTimersByTimeAsync(100);
    expect(looks.slice(1)).toEqual([[1n, 2n]]);
    database.dueSoon.set(3n, 50_000);
    await watch.look();
    watch.stop();
    await vi.advanceTimersByTimeAsync(100);
    expect(looks).toHaveLength(3);
    expect(vi.getTimerCount()).toBe(0);
  });
});
