// Pokes of other servers: claims that arrive together are read together, and a grant that this server's cluster node has
// not applied yet is looked for again soon, for a limited time.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Claim, ClaimKey } from "../../../server/core/claim.ts";
import { POKED_AGAIN_MS, POKED_MAX } from "../../../server/engine/engine-bounds.ts";
import { Followers } from "../../../server/engine/subscribers/followers.ts";
import type { WaitersOptions } from "../../../server/engine/subscribers/waiters.ts";
import { CLAIM } from "../../support/claims.ts";
import { polled, waitersOver } from "../../support/scripted-waiters.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const LONG_MS = 10_000;
const settled = () => vi.advanceTimersByTimeAsync(0);

/** `count` waiters with ticket numbers from 1; those in `granted` have been granted. */
function scene(count = 2n, start = true) {
  const granted = new Set<bigint>();
  const followers = new Followers();
  const told: bigint[] = [];
  const reads: bigint[][] = [];
  let looks = 0;
  const failures: unknown[] = [];
  const fault = { next: null as Error | null };
  /** A read waits for this. */
  const gate = { promise: Promise.resolve() };
  const claim = (ticketNumber: bigint): Claim => ({
    ...CLAIM,
    ticketNumber,
    state: granted.has(ticketNumber) ? "held" : "waiting",
  });
  for (let ticketNumber = 1n; ticketNumber <= count; ticketNumber++)
    followers.add(claim(ticketNumber), { settled: (now) => told.push(now.ticketNumber) }, 1n);
  const store: Partial<WaitersOptions["store"]> = {
    poll: async () => {
      looks += 1;
      return polled({ revisions: new Map([[CLAIM.lockId, 1n]]) });
    },
    claims: async (keys: readonly ClaimKey[]) => {
      reads.push(keys.map(({ ticketNumber }) => ticketNumber));
      await gate.promise;
      const { next } = fault;
      fault.next = null;
      if (next) throw next;
      return { nowUs: 0, claims: keys.map(({ ticketNumber }) => claim(ticketNumber)) };
    },
  };
  const waiters = waitersOver(followers, store, {
    intervalMs: 2 * LONG_MS,
    onFailure: (loop, error) => void failures.push([loop, error]),
  });
  if (start) waiters.start();
  const poke = async (...ticketNumbers: bigint[]) => {
    waiters.poked(ticketNumbers.map(claim));
    await settled();
  };
  /** From now on reads wait; returns what lets them go on. */
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate.promise = promise;
    return async () => {
      resolve();
      await settled();
    };
  };
  return { waiters, granted, told, reads, failures, fault, poke, hold, looks: () => looks };
}

const numbers = (from: bigint, count: number) =>
  Array.from({ length: count }, (_, index) => from + BigInt(index));

test("a grant that comes a little later is reported soon, and a reported one is not read again", async () => {
  const { granted, told, reads, poke } = scene();
  granted.add(1n);
  await poke();
  await poke(1n, 2n);
  expect(told).toEqual([1n]);
  granted.add(2n);
  await vi.advanceTimersByTimeAsync(POKED_AGAIN_MS[0] as number);
  expect(told).toEqual([1n, 2n]);
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(reads).toEqual([[1n, 2n], [2n]]);
});

test("a grant that does not come is left to the poll after some looks, as is a look that fails", async () => {
  const { reads, poke, failures, fault } = scene();
  await poke(1n);
  await vi.advanceTimersByTimeAsync(LONG_MS / 2);
  expect(reads).toHaveLength(1 + POKED_AGAIN_MS.length);
  await poke(1n);
  fault.next = new Error("A fault made by a test.");
  await vi.advanceTimersByTimeAsync(LONG_MS / 2);
  expect(failures).toHaveLength(1);
  expect(reads).toHaveLength(1 + POKED_AGAIN_MS.length + 2);
});

test("one poke is read at a time, and those that come meanwhile are read together", async () => {
  const { granted, reads, poke, hold } = scene(5n);
  for (const number of numbers(1n, 5)) granted.add(number);
  const goOn = hold();
  await poke(1n);
  await poke(2n, 3n);
  await poke(4n);
  expect(reads).toEqual([[1n]]);
  await goOn();
  expect(reads).toEqual([[1n], [2n, 3n, 4n]]);
  await poke(5n);
  expect(reads).toHaveLength(3);
});

test("claims beyond as many as are kept are left to the poll", async () => {
  const { granted, reads, poke, hold } = scene(BigInt(POKED_MAX + 5));
  for (const number of numbers(1n, POKED_MAX + 5)) granted.add(number);
  const goOn = hold();
  await poke(1n);
  await poke(...numbers(2n, POKED_MAX - 1));
  await poke(...numbers(BigInt(POKED_MAX + 1), 3));
  await goOn();
  expect(reads.slice(1).flat()).toEqual(numbers(2n, POKED_MAX));
});

test("a read that fails is reported, and the next poke is read", async () => {
  const { reads, poke, failures, fault, hold } = scene();
  const goOn = hold();
  const why = new Error("A fault made by a test.");
  fault.next = why;
  await poke(1n);
  await poke(2n);
  await goOn();
  expect(failures).toEqual([["poke", why]]);
  expect(reads.slice(0, 2)).toEqual([[1n], [2n]]);
});

test("a tick looks at all locks beside a poke whose read hangs", async () => {
  const { poke, hold, looks } = scene();
  hold();
  await poke(1n);
  await vi.advanceTimersByTimeAsync(2 * LONG_MS);
  expect(looks()).toBe(1);
});

test("nothing is read before the start or after the stop, which waits for what is under way", async () => {
  const { waiters, reads, poke, hold } = scene(3n, false);
  await poke(1n);
  expect(reads).toEqual([]);
  waiters.start();
  const goOn = hold();
  await poke(2n);
  await poke(3n);
  let isStopped = false;
  const stopping = waiters.stop().then(() => {
    isStopped = true;
  });
  await settled();
  expect(isStopped).toBe(false);
  await goOn();
  await stopping;
  await vi.advanceTimersByTimeAsync(LONG_MS);
  expect(reads).toEqual([[1n, 2n]]);
  expect(vi.getTimerCount()).toBe(0);
});
