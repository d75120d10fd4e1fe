// A timer ends a lease that others wait for, so that the end does not have to wait for a later poll.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DueTimers } from "../../../server/engine/subscribers/decision-feed.ts";
import { Followers } from "../../../server/engine/subscribers/followers.ts";
import { Places } from "../../../server/engine/subscribers/places.ts";
import { Waiters } from "../../../server/engine/subscribers/waiters.ts";
import { CLAIM } from "../../support/claims.ts";

const LOCK = 7n;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Waiters at locks whose leases end at `endMs` on the fake clock. */
function waiting(lease: { endMs: number }, lockIds = [LOCK]) {
  const followers = new Followers();
  for (const lockId of lockIds) followers.add({ ...CLAIM, lockId, state: "waiting" }, { settled() {} }, 1n);
  const looked: (readonly bigint[])[] = [];
  const advanced: { lockId: bigint; atMs: number }[] = [];
  let looks = 0;
  const store = {
    poll: async (lockIds: readonly bigint[], aheadUs: number) => {
      looks += 1;
      looked.push(lockIds);
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
  const waiters = new Waiters({
    store,
    followers,
    places: new Places({ store: { queue }, followers, onFailure() {} }),
    advances: { start: async (lockId) => void advanced.push({ lockId, atMs: Date.now() }) },
    rulesInForce: { saw() {} },
    intervalMs: 86_400_000,
    onRulesChanged() {},
    onFailure(loop, error) {
      throw new Error(loop, { cause: error });
    },
  });
  return { waiters, advanced, looked, looks: () => looks };
}

test("a lease is ended within some milliseconds of its end", async () => {
  const endMs = Date.now() + 400;
  const { waiters, advanced } = waiting({ endMs });
  await waiters.look();
  await vi.advanceTimersByTimeAsync(399);
  expect(advanced).toEqual([]);
  await vi.advanceTimersByTimeAsync(6);
  expect(advanced).toMatchObject([{ lockId: LOCK }]);
  expect(advanced[0]?.atMs).toBeLessThanOrEqual(endMs + 5);
});

test("a lease that was renewed meanwhile gets a new timer, without a transaction", async () => {
  const lease = { endMs: Date.now() + 400 };
  const { waiters, advanced, looks } = waiting(lease);
  await waiters.look();
  lease.endMs += 500;
  await vi.advanceTimersByTimeAsync(405);
  expect(advanced).toEqual([]);
  expect(looks()).toBe(2);
  await vi.advanceTimersByTimeAsync(505);
  expect(advanced).toHaveLength(1);
});

test("an end long after the next polls is left to them, and no timer is left after the stop", async () => {
  const { waiters, looks } = waiting({ endMs: Date.now() + 10_000 });
  await waiters.look();
  expect(vi.getTimerCount()).toBe(0);
  const { waiters: stopped } = waiting({ endMs: Date.now() + 400 });
  await stopped.look();
  await stopped.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(looks()).toBe(1);
});

test("of two times for one key the earlier one counts, and a cleared one does not", async () => {
  const beganMs = performance.now();
  const due: [key: string, atMs: number][] = [];
  const timers = new DueTimers<string>((key) => void due.push([key, performance.now() - beganMs]));
  timers.set("a", 400);
  timers.set("a", 300);
  timers.set("a", 500);
  timers.set("b", 200);
  timers.set("c", 100);
  timers.clear("c");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(due).toEqual([
    ["b", 200],
    ["a", 300],
  ]);
  timers.set("a", 50);
  await vi.advanceTimersByTimeAsync(50);
  expect(due.at(-1)).toEqual(["a", 1_050]);
});
