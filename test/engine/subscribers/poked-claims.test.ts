// Pokes of other servers: claims that arrive together are read together, and a grant that this server's cluster node has
// not applied yet is looked for again soon, for a limited time.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Claim, ClaimKey } from "../../../server/core/claim.ts";
import { POKED_AGAIN_MS } from "../../../server/engine/engine-bounds.ts";
import { Followers } from "../../../server/engine/subscribers/followers.ts";
import type { WaitersOptions } from "../../../server/engine/subscribers/waiters.ts";
import { CLAIM } from "../../support/claims.ts";
import { polled, waitersOver } from "../../support/scripted-waiters.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const LONG_MS = 10_000;
const settled = () => vi.advanceTimersByTimeAsync(0);

/** Two waiters with the ticket numbers 1 and 2; those in `granted` have been granted. */
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
    followers.add(claim(ticketNumber), { settled: (now) => told.push(now.ticketNumber) }, 1n);
  const store: Partial<WaitersOptions["store"]> = {
    poll: async () => polled({ revisions: new Map([[CLAIM.lockId, 1n]]) }),
    claims: async (keys: readonly ClaimKey[]) => {
      reads.push(keys.map(({ ticketNumber }) => ticketNumber));
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
  waiters.start();
  const poke = async (...ticketNumbers: bigint[]) => {
    waiters.poked(ticketNumbers.map(claim));
    await settled();
  };
  return { granted, told, reads, failures, fault, poke };
}

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
