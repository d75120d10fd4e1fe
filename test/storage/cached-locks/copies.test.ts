// What a decision receives of a cached lock: copies, each claim once, and nothing if the time leaves a doubt.

import { beforeEach, describe, expect, test } from "vitest";
import { DUE_MAX, FORCE_RELEASE_MAX } from "../../../server/core/bounds.ts";
import type { Claim } from "../../../server/core/claim.ts";
import type { Lock } from "../../../server/core/lock.ts";
import { Copies } from "../../../server/storage/cached-locks/live-claims.ts";
import { RECORD } from "../../support/claims.ts";
import { held, LOCK, numbers, waiting } from "../mysql/transaction/lock-fixture.ts";

const EARLIEST_US = 900;
const LATEST_US = 1_000;

const knownOf = (lock: Partial<Lock>, ...claims: Claim[]) => ({
  lock: { ...LOCK, ...lock },
  claims: { all: new Map(claims.map((claim) => [claim.ticketNumber, claim])), queueTo: null },
});
const ticketsOf = (claims: Iterable<Claim> = []) =>
  [...claims].map(({ ticketNumber }) => Number(ticketNumber));

let copies: Copies;
beforeEach(() => {
  copies = new Copies({
    nowUs: LATEST_US,
    atLeastUs: EARLIEST_US,
    jumpedAtUs: null,
    skippedUs: 0,
    backAtUs: null,
  });
});

describe("a decision", () => {
  test("changes its copies only, and leaves the cached rows unchanged", () => {
    const known = knownOf({ waiting: 1, holders: 1 }, held(1), waiting(2));
    expect(copies.take(known, 1)).toBe(true);
    copies.takeHolders(known.claims);
    const lock = copies.locks.get(1n) as Lock;
    lock.limit = 5;
    for (const claim of [...copies.asked, ...(copies.queues.get(1n)?.head ?? [])]) claim.endNote = "changed";
    expect(copies.lock(1n)).toEqual({ ...LOCK, waiting: 1, holders: 1 });
    expect(copies.claim({ lockId: 1n, ticketNumber: 1n })).toEqual(held(1));
    expect(copies.claim({ lockId: 1n, ticketNumber: 2n })).toEqual(waiting(2));
    expect(known.lock.limit).toBeNull();
  });

  test("finds nothing beside what was read", () => {
    copies.take(knownOf({ holders: 1 }, held(1)), 1);
    expect(copies.lock(2n)).toBeUndefined();
    expect(copies.claim({ lockId: 2n, ticketNumber: 1n })).toBeUndefined();
    expect(copies.claim({ lockId: 1n, ticketNumber: 9n })).toBeUndefined();
  });

  test("has holders, as many as one ForceRelease ends, and no waiters", () => {
    const all = [waiting(1), ...numbers(2, FORCE_RELEASE_MAX + 2).map((number) => held(number))];
    copies.takeHolders(knownOf({}, ...all).claims);
    expect(ticketsOf(copies.asked)).toEqual(numbers(2, FORCE_RELEASE_MAX + 1));
  });
});

describe("the head of a queue", () => {
  test("is empty for a lock without waiters", () => {
    expect(copies.take(knownOf({ holders: 1 }, held(1)), 5)).toBe(true);
    expect(copies.queues.size).toBe(0);
  });
});

describe("time", () => {
  const take = (...claims: Claim[]) => {
    const inQueue = claims.filter(({ state }) => state === "waiting").length;
    return copies.take(knownOf({ waiting: inQueue }, ...claims), 9);
  };

  test("makes a lease that has certainly ended due, and one that certainly goes on not", () => {
    const deadlines = [EARLIEST_US - 1, EARLIEST_US, LATEST_US + 1, null];
    expect(take(...deadlines.map((deadlineUs, at) => held(at + 1, { deadlineUs })))).toBe(true);
    expect(ticketsOf(copies.asked)).toEqual([1, 2]);
  });

  test.each([EARLIEST_US + 1, LATEST_US])("leaves a lease open that may have ended or not at %i", (at) => {
    expect(take(held(1), held(2, { deadlineUs: at }))).toBe(false);
  });

  test.each([EARLIEST_US - 1, EARLIEST_US, LATEST_US])(
    "leaves a place open that may have lapsed at %i, as another server may have extended it",
    (at) => {
      expect(take(waiting(1, { deadlineUs: at }))).toBe(false);
    },
  );

  test("makes no more ended leases due than one decision ends", () => {
    expect(take(...numbers(1, DUE_MAX + 3).map((number) => held(number, { deadlineUs: 1 })))).toBe(true);
    expect(copies.asked.size).toBe(DUE_MAX);
  });

  test.each([
    [EARLIEST_US, true],
    [EARLIEST_US + 1, false],
    [LATEST_US, false],
    [LATEST_US + 1, true],
    [null, true],
  ])("makes a lock due at %s with certainty or not: %s", (notBeforeUs, isSure) => {
    expect(copies.take(knownOf({ record: { ...RECORD, notBeforeUs } }), 1)).toBe(isSure);
  });
});
