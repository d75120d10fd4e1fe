// Which table has each claim after a decision, what is written for that, and by when a lock may have something due.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Lock } from "../../../server/core/lock.ts";
import { NEVER_DUE_US } from "../../../server/storage/rows/columns.ts";
import { boundsOf, movesOf } from "../../../server/storage/rows/placement.ts";
import type { Writes } from "../../../server/storage/store.ts";
import { NO_CHANGES } from "../../support/store-fixture.ts";
import * as fixture from "../mysql/transaction/lock-fixture.ts";
import { LOCK } from "../mysql/transaction/lock-fixture.ts";

const NOW_US = 1_000;
const held = (number: number, more: Partial<Claim> = {}) =>
  fixture.held(number, { deadlineUs: 2_000, ...more });
const waiting = (number: number, more: Partial<Claim> = {}) =>
  fixture.waiting(number, { deadlineUs: 1_500, ...more });
/** Remembered for some more time. */
const ended = (number: number, more: Partial<Claim> = {}) =>
  fixture.ended(number, { deadlineUs: 9_000, ...more });
const lock = (more: Partial<Lock> = {}): Lock => ({ ...LOCK, ...more });
/** With this first holder; all lower numbers are those of further holders or have ended. */
const heldBy = (first: number) => lock({ firstHolder: BigInt(first) });

/** What a decision about one lock writes: ticket numbers by table, and the lock as the store leaves it. */
function moved(of: Lock, changes: Pick<Partial<Writes>, "added" | "changed">) {
  const moves = movesOf({ ...NO_CHANGES, locks: [of], ...changes }, NOW_US);
  const numbers = (claims: readonly Claim[]) => claims.map(({ ticketNumber }) => Number(ticketNumber));
  const move = moves.holders.get(of.id);
  return {
    holder: move && { isNew: move.isNew, holder: move.holder && Number(move.holder.ticketNumber) },
    added: numbers(moves.added),
    changed: numbers(moves.changed),
    removed: numbers(moves.removed),
    ended: numbers(moves.ended),
    requests: numbers(moves.requests),
    earliestUs: moves.earliestUs,
    first: of.firstHolder === null ? null : Number(of.firstHolder),
  };
}

/** Nothing is written of claims, at a lock without a first holder. */
const NOTHING = {
  ...{ holder: undefined, added: [], changed: [], removed: [], ended: [], requests: [] },
  ...{ earliestUs: null, first: null },
};

describe("a decision", () => {
  test("about a claim without its lock is a bug", () => {
    for (const changes of [{ added: [held(1)] }, { changed: [waiting(1)] }, { changed: [ended(1)] }]) {
      expect(() => movesOf({ ...NO_CHANGES, ...changes }, NOW_US)).toThrow("without its lock 1");
      const other = { ...NO_CHANGES, locks: [lock({ id: 2n })], ...changes };
      expect(() => movesOf(other, NOW_US)).toThrow("Claim 1 was decided about without its lock 1");
    }
  });
});

describe("a claim that takes a lock", () => {
  test("takes the place of a holder that goes in the same decision", () => {
    expect(moved(heldBy(4), { changed: [ended(4)], added: [held(5)] })).toMatchObject({
      ...{ holder: { isNew: true, holder: 5 }, added: [], removed: [], ended: [4] },
      ...{ first: 5 },
    });
  });

  test("is in the guard row if it has the lowest number of several, in whatever order the decision lists them", () => {
    const added = [held(6), waiting(7), held(5)];
    expect(moved(lock(), { added })).toMatchObject({
      holder: { isNew: true, holder: 5 },
      added: [7, 6],
      first: 5,
    });
  });
});

describe("a holder", () => {
  test("that is renewed is written where it is", () => {
    expect(moved(heldBy(4), { changed: [held(4)] })).toMatchObject({
      holder: { isNew: false, holder: 4 },
      changed: [],
      first: 4,
    });
    expect(moved(heldBy(4), { changed: [held(2)] })).toMatchObject({
      holder: undefined,
      changed: [2],
      removed: [],
      first: 4,
    });
  });

  test("with a lower number comes into the guard row before a claim that is granted with it", () => {
    expect(moved(heldBy(4), { changed: [ended(4), held(2)], added: [held(5)] })).toMatchObject({
      holder: { isNew: true, holder: 2 },
      added: [5],
      changed: [],
      removed: [2],
      first: 2,
    });
  });
});

describe("an ended claim", () => {
  test.each([
    ["has passed", NOW_US - 1],
    ["passes now", NOW_US],
    ["is not set", null],
  ])("whose deadline %s is not kept, and its request id is not added", (_, deadlineUs) => {
    const gone = (number: number) => ended(number, { deadlineUs });
    expect(moved(heldBy(4), { changed: [gone(4), gone(5)], added: [gone(7)] })).toEqual({
      ...NOTHING,
      holder: { isNew: false, holder: null },
      removed: [5],
    });
  });

  test("is kept as long as its deadline is to come", () => {
    const last = { deadlineUs: NOW_US + 1 };
    expect(moved(heldBy(4), { changed: [ended(4, last)], added: [ended(7, last)] })).toMatchObject({
      ended: [4, 7],
      requests: [7],
    });
  });
});

describe("the earliest deadline of a decision", () => {
  const earliestUs = (of: Lock, changes: Pick<Partial<Writes>, "added" | "changed">) =>
    moved(of, changes).earliestUs;
  const until = (deadlineUs: number | null) => ({ deadlineUs });

  test("is that of all live claims that it writes, in whatever table", () => {
    const [guard, further, added] = [held(1, until(30)), held(2, until(20)), waiting(4, until(10))];
    expect(earliestUs(heldBy(1), { changed: [guard, further], added: [added] })).toBe(10);
    expect(earliestUs(heldBy(1), { changed: [guard, further] })).toBe(20);
    expect(earliestUs(heldBy(1), { changed: [guard] })).toBe(30);
  });
});

describe("the bound of a lock's deadlines", () => {
  const STAYS = { soonUs: null, laterUs: null, atMostUs: null };

  /** With these counters after the decision. */
  function bounds(
    counters: Partial<Lock>,
    of: Lock,
    changes: Pick<Partial<Writes>, "added" | "changed">,
    locks: Lock[] = [],
  ) {
    const decided = Object.assign(of, counters);
    const moves = movesOf({ ...NO_CHANGES, locks: [decided, ...locks], ...changes }, NOW_US);
    return boundsOf(decided, moves, NOW_US);
  }

  test("stays at a lock that is free from now on", () => {
    expect(bounds({ holders: 0 }, heldBy(1), { changed: [ended(1)] })).toEqual(STAYS);
    // Although the decision sets deadlines at another lock.
    const other = lock({ id: 2n });
    const changes = { changed: [ended(1)], added: [held(1, { lockId: 2n })] };
    expect(bounds({ holders: 0 }, heldBy(1), changes, [other])).toEqual(STAYS);
  });

  test("stays if no deadline is set", () => {
    expect(bounds({ holders: 1 }, heldBy(1), {})).toEqual(STAYS);
    expect(bounds({ holders: 1, waiting: 2 }, heldBy(1), { changed: [ended(3)] })).toEqual(STAYS);
  });

  test("is exact for an only holder, once less than half of the time is left", () => {
    const expected = { soonUs: 1_500, laterUs: 2_000, atMostUs: 2_000 };
    expect(bounds({ holders: 1 }, lock(), { added: [held(1)] })).toEqual(expected);
    expect(bounds({ holders: 1 }, heldBy(1), { changed: [held(1)] })).toEqual(expected);
    expect(bounds({ holders: 1 }, lock(), { changed: [held(1)] })).toEqual(expected);
    const deadlineUs = null;
    expect(bounds({ holders: 1 }, heldBy(1), { changed: [held(1, { deadlineUs })] })).toEqual({
      soonUs: NOW_US + (NEVER_DUE_US - NOW_US) / 2,
      laterUs: NEVER_DUE_US,
      atMostUs: NEVER_DUE_US,
    });
  });

  test.each<[string, Partial<Lock>]>([
    ["another holder", { holders: 2 }],
    ["a waiter", { holders: 1, waiting: 1 }],
    ["a waiter and no holder", { holders: 0, waiting: 1 }],
  ])("only falls at a lock with %s, because not all of its deadlines are known", (_, counters) => {
    const atMostUs = { ...STAYS, atMostUs: 1_500 };
    expect(bounds(counters, heldBy(1), { changed: [held(1)], added: [waiting(2)] })).toEqual(atMostUs);
  });
});
