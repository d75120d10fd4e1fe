// What a server knows of a lock's claims after a write: all holders and the head of the queue, or nothing.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Lock } from "../../../server/core/lock.ts";
import {
  type LiveClaims,
  liveClaims,
  type QueuePosition,
  seenTo,
} from "../../../server/storage/cached-locks/live-claims.ts";
import { CACHED_HOLDERS_MAX, CACHED_QUEUE_MAX } from "../../../server/storage/storage-bounds.ts";
import { held, LOCK, numbers, waiting } from "../mysql/transaction/lock-fixture.ts";

const lockOf = (holders: number, inQueue: number): Lock => ({ ...LOCK, holders, waiting: inQueue });
/** The position of a waiter. */
const at = (number: number): QueuePosition => ({ place: BigInt(number), ticketNumber: BigInt(number) });
const knownOf = (queueTo: QueuePosition | null, ...claims: Claim[]): LiveClaims => ({
  all: new Map(claims.map((claim) => [claim.ticketNumber, claim])),
  queueTo,
});
const ticketsOf = (known: LiveClaims | null) => known && [...known.all.keys()].map(Number);

describe("a read has seen the queue", () => {
  test("to its end if the head is all of it, or there are no waiters", () => {
    expect(seenTo(lockOf(0, 2), { head: [waiting(1), waiting(2)], complete: true })).toBeNull();
    expect(seenTo(lockOf(1, 0), undefined)).toBeNull();
  });

  test("up to the last of the head if more wait", () => {
    expect(seenTo(lockOf(0, 9), { head: [waiting(3), waiting(4), waiting(7)], complete: false })).toEqual(
      at(7),
    );
  });

  test("not at all if it did not read the waiters, or the lock is unknown", () => {
    expect(seenTo(lockOf(0, 9), undefined)).toEqual(at(0));
    expect(seenTo(lockOf(0, 9), { head: [], complete: false })).toEqual(at(0));
    expect(seenTo(undefined, undefined)).toEqual(at(0));
  });
});

describe("a lock", () => {
  test("is unknown if the whole queue was seen and the count of waiters differs", () => {
    expect(liveClaims(lockOf(0, 2), null, [waiting(1)], null)).toBeNull();
    expect(liveClaims(lockOf(0, 0), null, [waiting(1)], null)).toBeNull();
    expect(ticketsOf(liveClaims(lockOf(0, 2), null, [waiting(1)], at(1)))).toEqual([1]);
  });

  test("keeps its holders before its waiters, each in their order, in whatever order they become known", () => {
    const before = knownOf(null, held(3), waiting(8));
    expect(ticketsOf(liveClaims(lockOf(2, 2), before, [waiting(5), held(1)], null))).toEqual([1, 3, 5, 8]);
    const outOfTurn = knownOf(null, waiting(3), waiting(8));
    expect(ticketsOf(liveClaims(lockOf(2, 1), outOfTurn, [held(8), held(5)], null))).toEqual([5, 8, 3]);
  });

  test("is known up to where its queue was read: later waiters are forgotten, holders are not", () => {
    const known = liveClaims(lockOf(1, 9), null, [waiting(4), waiting(5), waiting(6), held(8)], at(5));
    expect(ticketsOf(known)).toEqual([8, 4, 5]);
    expect(known?.queueTo).toEqual(at(5));
  });

  test.each([
    ["the further of two parts of its queue", at(3), at(7), at(7)],
    ["the further of them also where that was known before", at(7), at(3), at(7)],
    ["all of it where all was known before", null, at(3), null],
    ["all of it where all was read", at(3), null, null],
  ])("is known to %s", (_, before, readTo, expected) => {
    const claims = [waiting(2), waiting(3), waiting(7)];
    const known = liveClaims(lockOf(0, 3), knownOf(before, ...claims), [], readTo);
    expect(known?.queueTo).toEqual(expected);
  });

  test("with more holders than the cache keeps is unknown", () => {
    const holders = numbers(1, CACHED_HOLDERS_MAX).map((number) => held(number));
    expect(liveClaims(lockOf(holders.length, 0), null, holders, null)?.all.size).toBe(CACHED_HOLDERS_MAX);
    const oneMore = [...holders, held(holders.length + 1)];
    expect(liveClaims(lockOf(oneMore.length, 0), null, oneMore, null)).toBeNull();
  });

  test("with a longer queue than the cache keeps is known to the last one that is kept", () => {
    const queue = numbers(10, 9 + CACHED_QUEUE_MAX).map((number) => waiting(number));
    const whole = liveClaims(lockOf(0, queue.length), null, queue, null);
    expect([whole?.all.size, whole?.queueTo]).toEqual([CACHED_QUEUE_MAX, null]);
    const longer = [...queue, waiting(900), waiting(901)];
    const cut = liveClaims(lockOf(1, longer.length), null, [...longer, held(1)], null);
    expect(ticketsOf(cut)).toEqual([1, ...numbers(10, 9 + CACHED_QUEUE_MAX)]);
    expect(cut?.queueTo).toEqual(at(9 + CACHED_QUEUE_MAX));
  });
});
