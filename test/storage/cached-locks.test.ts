// What is kept of a lock's claims after a write, within bounds, and when the time leaves in doubt what a decision would read.
// That decisions about known locks leave the right rows is in the contract suite and in the simulation.

import { describe, expect, test } from "vitest";
import { DUE_MAX, FORCE_RELEASE_MAX } from "../../server/core/bounds.ts";
import type { Claim } from "../../server/core/claim.ts";
import type { Lock } from "../../server/core/lock.ts";
import { Copies, liveClaims } from "../../server/storage/cached-locks.ts";
import { CACHED_HOLDERS_MAX, CACHED_QUEUE_MAX } from "../../server/storage/storage-bounds.ts";
import { RECORD } from "../support/claims.ts";
import { held, LOCK, numbers, waiting } from "./rows/numbered-claims.ts";

const EARLIEST_US = 900;
const LATEST_US = 1_000;
const CLOCK = { nowUs: LATEST_US, atLeastUs: EARLIEST_US, jumpedAtUs: null, skippedUs: 0, backAtUs: null };

const lockOf = (holders: number, inQueue: number): Lock => ({ ...LOCK, holders, waiting: inQueue });
const ticketsOf = (claims: Iterable<Claim> = []) =>
  [...claims].map(({ ticketNumber }) => Number(ticketNumber));

describe("of a lock's claims", () => {
  test("more holders than the bound make it unknown", () => {
    const holders = numbers(1, CACHED_HOLDERS_MAX + 1).map((number) => held(number));
    const known = (count: number) => liveClaims(lockOf(count, 0), null, holders.slice(0, count), null);
    expect(known(CACHED_HOLDERS_MAX)?.all.size).toBe(CACHED_HOLDERS_MAX);
    expect(known(CACHED_HOLDERS_MAX + 1)).toBeNull();
  });

  test("waiters beyond the bound are forgotten, and holders are not", () => {
    const queue = numbers(10, 11 + CACHED_QUEUE_MAX).map((number) => waiting(number));
    const known = liveClaims(lockOf(1, queue.length), null, [...queue, held(1)], null);
    const last = 9 + CACHED_QUEUE_MAX;
    expect(ticketsOf(known?.all.values())).toEqual([1, ...numbers(10, last)]);
    expect(known?.queueTo).toEqual({ place: BigInt(last), ticketNumber: BigInt(last) });
  });

  test("a count that differs from the whole queue makes it unknown", () => {
    for (const count of [0, 2]) expect(liveClaims(lockOf(0, count), null, [waiting(1)], null)).toBeNull();
  });
});

describe("a decision", () => {
  /** Whether a decision gets the lock with these claims, and which of them it gets without a request. */
  function taken(lock: Partial<Lock>, ...claims: Claim[]) {
    const copies = new Copies(CLOCK);
    const inQueue = claims.filter(({ state }) => state === "waiting").length;
    const all = new Map(claims.map((claim) => [claim.ticketNumber, claim]));
    const known = { lock: { ...LOCK, waiting: inQueue, ...lock }, claims: { all, queueTo: null } };
    const isSure = copies.take(known, 9);
    return { isSure, known, copies, due: ticketsOf(copies.asked) };
  }

  test("changes its copies only", () => {
    const { copies, known } = taken({ holders: 1 }, held(1), waiting(2));
    const lock = copies.locks.get(1n) as Lock;
    lock.limit = 5;
    for (const claim of [...copies.asked, ...(copies.queues.get(1n)?.head ?? [])]) claim.endNote = "changed";
    expect(copies.lock(1n)).toEqual({ ...LOCK, waiting: 1, holders: 1 });
    expect([...known.claims.all.values()]).toEqual([held(1), waiting(2)]);
  });

  test("has as many holders as one ForceRelease ends, and as many due ones as one decision ends", () => {
    const { copies, known } = taken({}, ...numbers(2, FORCE_RELEASE_MAX + 2).map((number) => held(number)));
    copies.takeHolders(known.claims);
    expect(ticketsOf(copies.asked)).toEqual(numbers(2, FORCE_RELEASE_MAX + 1));
    const late = numbers(1, DUE_MAX + 3).map((number) => held(number, { deadlineUs: 1 }));
    expect(taken({}, ...late).due).toHaveLength(DUE_MAX);
  });

  const lease = (deadlineUs: number | null): Claim[] => [held(1), held(2, { deadlineUs })];
  // Another server may have extended the place.
  const place = (deadlineUs: number | null): Claim[] => [waiting(2, { deadlineUs })];
  test.each<[number | null, boolean, boolean, boolean]>([
    [EARLIEST_US - 1, true, false, true],
    [EARLIEST_US, true, false, true],
    [EARLIEST_US + 1, false, false, false],
    [LATEST_US, false, false, false],
    [LATEST_US + 1, true, true, true],
    [null, true, true, true],
  ])(
    "at %s is sure of a lease: %s, of a place: %s, and of a due time: %s",
    (atUs, ofLease, ofPlace, ofDue) => {
      expect(taken({}, ...lease(atUs)).isSure).toBe(ofLease);
      expect(taken({}, ...place(atUs)).isSure).toBe(ofPlace);
      expect(taken({ record: { ...RECORD, notBeforeUs: atUs } }).isSure).toBe(ofDue);
      if (ofLease)
        expect(taken({}, ...lease(atUs)).due).toEqual(atUs !== null && atUs <= EARLIEST_US ? [2] : []);
    },
  );
});
