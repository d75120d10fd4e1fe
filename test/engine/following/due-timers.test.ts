// A timer ends a lease that others wait for, so that the end does not have to wait for a later poll.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DUE_AFTER_MS } from "../../../server/engine/engine-bounds.ts";
import { DueTimers } from "../../../server/engine/following/due-timers.ts";
import { Followers } from "../../../server/engine/following/followers.ts";
import { Places } from "../../../server/engine/following/places.ts";
import { Watch } from "../../../server/engine/following/watch.ts";
import { CLAIM } from "../../support/claims.ts";

const LOCK = 7n;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A watch over one lock whose lease ends at `endMs` on the fake clock. */
function watching(lease: { endMs: number }) {
  const followers = new Followers();
  followers.add({ ...CLAIM, lockId: LOCK, state: "waiting" }, { told() {} }, 1n);
  const advanced: { lockId: bigint; atMs: number }[] = [];
  let looks = 0;
  const store = {
    watch: async (lockIds: readonly bigint[], aheadUs: number) => {
      looks += 1;
      const inUs = (lease.endMs - Date.now()) * 1_000;
      return {
        revisions: new Map(lockIds.map((id) => [id, 1n])),
        due: inUs <= 0 ? [...lockIds] : [],
        dueSoon: new Map(inUs > 0 && inUs <= aheadUs ? lockIds.map((id) => [id, inUs]) : []),
        rulesRevision: 0n,
      };
    },
    claims: async () => ({ nowUs: 0, claims: [] }),
    limitRules: async () => [],
  };
  const queue = async () => ({ nowUs: 0, places: [] });
  const watch = new Watch({
    store,
    followers,
    places: new Places({ store: { queue }, followers, onFailure() {} }),
    advances: { start: async (lockId) => void advanced.push({ lockId, atMs: Date.now() }) },
    rulesInForce: { saw() {} },
    onFailure(loop, error) {
      throw new Error(loop, { cause: error });
    },
  });
  return { watch, advanced, looks: () => looks };
}

test("a lease is ended within some milliseconds of its end", async () => {
  const endMs = Date.now() + 400;
  const { watch, advanced } = watching({ endMs });
  await watch.look();
  await vi.advanceTimersByTimeAsync(399);
  expect(advanced).toEqual([]);
  await vi.advanceTimersByTimeAsync(6);
  expect(advanced).toMatchObject([{ lockId: LOCK }]);
  expect(advanced[0]?.atMs).toBeLessThanOrEqual(endMs + 5);
});

test("one that was renewed meanwhile is awaited anew, without a transaction", async () => {
  const lease = { endMs: Date.now() + 400 };
  const { watch, advanced, looks } = watching(lease);
  await watch.look();
  lease.endMs += 500;
  await vi.advanceTimersByTimeAsync(405);
  expect(advanced).toEqual([]);
  expect(looks()).toBe(2);
  await vi.advanceTimersByTimeAsync(505);
  expect(advanced).toHaveLength(1);
});

test("many polls before the end make one look at it", async () => {
  const { watch, looks } = watching({ endMs: Date.now() + 400 });
  for (let polls = 0; polls < 5; polls++) await watch.look();
  await vi.advanceTimersByTimeAsync(405);
  expect(looks()).toBe(6);
});

test("one that ends long after the next polls is left to them, and nothing is left after the stop", async () => {
  const { watch, looks } = watching({ endMs: Date.now() + 10_000 });
  await watch.look();
  expect(vi.getTimerCount()).toBe(0);
  const { watch: stopped } = watching({ endMs: Date.now() + 400 });
  await stopped.look();
  stopped.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(looks()).toBe(1);
});

test("locks whose leases end together are looked at together, each once however often its end was told", async () => {
  const looks: (readonly bigint[])[] = [];
  const timers = new DueTimers((lockIds) => void looks.push([...lockIds]));
  for (const lockId of [1n, 2n, 1n]) timers.set(lockId, 400_000);
  timers.set(3n, 800_000);
  await vi.advanceTimersByTimeAsync(400 + DUE_AFTER_MS + 1);
  expect(looks).toEqual([[1n, 2n]]);
  // The lease was renewed meanwhile.
  timers.set(1n, 100_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(looks).toEqual([[1n, 2n], [1n], [3n]]);
});
