// A server that hears of a grant before its cluster node has applied it looks again soon, for a limited time.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Claim, ClaimKey } from "../../../server/core/claim.ts";
import { POKED_AGAIN_MS } from "../../../server/engine/engine-bounds.ts";
import { Followers } from "../../../server/engine/following/followers.ts";
import { Places } from "../../../server/engine/following/places.ts";
import { Watch } from "../../../server/engine/following/watch.ts";
import { CLAIM } from "../../support/claims.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const LONG_MS = 10_000;

/** Two waiters; those in `granted` have been granted. */
function scene() {
  const granted = new Set<bigint>();
  const followers = new Followers();
  const told: bigint[] = [];
  const reads: bigint[][] = [];
  const failures: unknown[] = [];
  const fault = { next: null as Error | null };
  const claim = (ticketNumber: bigint): Claim => ({
    ...CLAIM,
    ticketNumber,
    state: granted.has(ticketNumber) ? "held" : "waiting",
  });
  for (const ticketNumber of [1n, 2n])
    followers.add(claim(ticketNumber), { told: (now) => told.push(now.ticketNumber) }, 1n);
  const watch = new Watch({
    store: {
      watch: async () => ({ revisions: new Map(), due: [], dueSoon: new Map(), rulesRevision: 0n }),
      limitRules: async () => [],
      claims: async (keys: readonly ClaimKey[]) => {
        reads.push(keys.map(({ ticketNumber }) => ticketNumber));
        const { next } = fault;
        fault.next = null;
        if (next) throw next;
        return { nowUs: 0, claims: keys.map(({ ticketNumber }) => claim(ticketNumber)) };
      },
    },
    followers,
    places: new Places({
      store: { queue: async () => ({ nowUs: 0, places: [] }) },
      followers,
      onFailure() {},
    }),
    advances: { start: async () => {} },
    rulesInForce: { saw() {} },
    onFailure: (_loop, error) => void failures.push(error),
  });
  const poke = (...ticketNumbers: bigint[]) => watch.lookAt(ticketNumbers.map(claim));
  return { watch, granted, told, reads, failures, fault, poke };
}

test("a grant that is there is told at once, and nothing is read again", async () => {
  const { granted, told, reads, poke } = scene();
  granted.add(1n);
  await poke(1n, 7n);
  expect(told).toEqual([1n]);
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(reads).toEqual([[1n]]);
});

test("a grant that comes a little later is told soon, and what was told is not read again", async () => {
  const { granted, told, reads, poke } = scene();
  granted.add(1n);
  await poke(1n, 2n);
  expect(told).toEqual([1n]);
  granted.add(2n);
  await vi.advanceTimersByTimeAsync(POKED_AGAIN_MS[0] as number);
  expect(told).toEqual([1n, 2n]);
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(reads).toEqual([[1n, 2n], [2n]]);
});

test("a grant that does not come is left to the poll after some looks, and a look that fails to the poll as well", async () => {
  const { reads, poke, failures, fault } = scene();
  await poke(1n);
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(reads).toHaveLength(1 + POKED_AGAIN_MS.length);
  await poke(1n);
  fault.next = new Error("A fault made by a test.");
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(failures).toHaveLength(1);
  expect(reads).toHaveLength(1 + POKED_AGAIN_MS.length + 2);
});

test("nothing is looked at after the end", async () => {
  const { watch, reads, poke } = scene();
  await poke(1n);
  watch.stop();
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(reads).toHaveLength(1);
});
