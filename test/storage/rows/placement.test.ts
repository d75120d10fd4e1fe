// Which table has each claim after a decision, what is written for that, and by when a lock may have something due.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Lock } from "../../../server/core/lock.ts";
import { NEVER_DUE_US } from "../../../server/storage/rows/columns.ts";
import { boundsOf, movesOf } from "../../../server/storage/rows/placement.ts";
import type { Writes } from "../../../server/storage/store.ts";
import { CLAIM, FREE_LOCK } from "../../support/claims.ts";
import { NO_CHANGES } from "../../support/store-fixture.ts";

const NOW_US = 1_000;
const LOCK: Lock = { ...FREE_LOCK, name: "etl/a", revision: 1n };
const held = (ticketNumber: number, more: Partial<Claim> = {}): Claim => ({
  ...{
    ...CLAIM,
    ticketNumber: BigInt(ticketNumber),
    requestId: `request ${ticketNumber}`,
    deadlineUs: 2_000,
  },
  ...more,
});
const waiting = (number: number, more: Partial<Claim> = {}) =>
  held(number, { state: "waiting", fencingToken: 0n, grantedAtUs: null, deadlineUs: 1_500, ...more });
/** Remembered for some more time. */
const ended = (number: number, more: Partial<Claim> = {}) =>
  held(number, { state: "ended", deadlineUs: 9_000, ...more });
const lock = (more: Partial<Lock> = {}): Lock => ({ ...LOCK, ...more });
/** With this first holder; all lower numbers are those of further holders or have ended. */
const heldBy = (first: number) => lock({ firstHolder: BigInt(first) });

type Changes = Pick<Partial<Writes>, "added" | "changed">;

/** What a decision about one lock writes: ticket numbers by table, and the lock as the store leaves it. */
function moved(of: Lock, changes: Changes) {
  const moves = movesOf({ ...NO_CHANGES, locks: [of], ...changes }, NOW_US);
  const numbers = (claims: readonly Claim[]) => claims.map(({ ticketNumber }) => Number(ticketNumber));
  const move = moves.holders.get(of.id);
  return {
    holder: move && [move.isNew ? "new" : "there", move.holder && Number(move.holder.ticketNumber)],
    added: numbers(moves.added),
    changed: numbers(moves.changed),
    removed: numbers(moves.removed),
    ended: numbers(moves.ended),
    requests: numbers(moves.requests),
    earliestUs: moves.earliestUs,
    first: of.firstHolder === null ? null : Number(of.firstHolder),
  };
}

test("a decision about a claim without its lock is a bug", () => {
  for (const changes of [{ added: [held(1)] }, { changed: [waiting(1)] }, { changed: [ended(1)] }])
    for (const locks of [[], [lock({ id: 2n })]])
      expect(() => movesOf({ ...NO_CHANGES, locks, ...changes }, NOW_US)).toThrow(
        "Claim 1 was decided about without its lock 1",
      );
});

test.each<[string, Lock, Changes, Partial<ReturnType<typeof moved>>]>([
  [
    "a claim takes the place of a holder that goes in the same decision",
    heldBy(4),
    { changed: [ended(4)], added: [held(5)] },
    { holder: ["new", 5], added: [], removed: [], ended: [4], first: 5 },
  ],
  [
    "of several claims that take a lock, the one with the lowest number is in the guard row",
    lock(),
    { added: [held(6), waiting(7), held(5)] },
    { holder: ["new", 5], added: [7, 6], first: 5 },
  ],
  [
    "a first holder that is renewed is written where it is",
    heldBy(4),
    { changed: [held(4)] },
    { holder: ["there", 4], changed: [], first: 4 },
  ],
  [
    "a further holder that is renewed is written where it is",
    heldBy(4),
    { changed: [held(2)] },
    { holder: undefined, changed: [2], removed: [], first: 4 },
  ],
  [
    "a holder with a lower number comes into the guard row before a claim that is granted with it",
    heldBy(4),
    { changed: [ended(4), held(2)], added: [held(5)] },
    { holder: ["new", 2], added: [5], changed: [], removed: [2], first: 2 },
  ],
  [
    "ended claims are kept as long as their deadlines are to come",
    heldBy(4),
    { changed: [ended(4, { deadlineUs: NOW_US + 1 })], added: [ended(7, { deadlineUs: NOW_US + 1 })] },
    { ended: [4, 7], requests: [7] },
  ],
  ...[NOW_US - 1, NOW_US, null].map((deadlineUs): [string, Lock, Changes, object] => {
    const gone = (number: number) => ended(number, { deadlineUs });
    return [
      `ended claims with the deadline ${deadlineUs} are not kept, nor their request ids`,
      heldBy(4),
      { changed: [gone(4), gone(5)], added: [gone(7)] },
      { holder: ["there", null], added: [], removed: [5], ended: [], requests: [], earliestUs: null },
    ];
  }),
])("%s", (_, of, changes, expected) => {
  expect(moved(of, changes)).toMatchObject(expected);
});

test("the earliest deadline of a decision is that of all live claims that it writes, in whatever table", () => {
  const [guard, further] = [held(1, { deadlineUs: 30 }), held(2, { deadlineUs: 20 })];
  const added = [waiting(4, { deadlineUs: 10 })];
  expect(moved(heldBy(1), { changed: [guard, further], added }).earliestUs).toBe(10);
  expect(moved(heldBy(1), { changed: [guard, further] }).earliestUs).toBe(20);
  expect(moved(heldBy(1), { changed: [guard] }).earliestUs).toBe(30);
});

describe("the bound of a lock's deadlines", () => {
  const STAYS = { soonUs: null, laterUs: null, atMostUs: null };
  const EXACT = { soonUs: 1_500, laterUs: 2_000, atMostUs: 2_000 };
  const FALLS = { ...STAYS, atMostUs: 1_500 };
  const HALF_OF_EVER_US = NOW_US + (NEVER_DUE_US - NOW_US) / 2;
  const NEVER = { soonUs: HALF_OF_EVER_US, laterUs: NEVER_DUE_US, atMostUs: NEVER_DUE_US };
  const both = { changed: [held(1)], added: [waiting(2)] };

  test.each<[string, ReturnType<typeof boundsOf>, Partial<Lock>, Lock, Changes]>([
    ["stays if the lock is free from now on", STAYS, {}, heldBy(1), { changed: [ended(1)] }],
    ["stays if no deadline is set", STAYS, { holders: 1 }, heldBy(1), {}],
    ["stays if only ended claims are", STAYS, { holders: 1, waiting: 2 }, heldBy(1), { changed: [ended(3)] }],
    ["is exact for an only holder that is new", EXACT, { holders: 1 }, lock(), { added: [held(1)] }],
    ["is exact for one that is renewed", EXACT, { holders: 1 }, heldBy(1), { changed: [held(1)] }],
    ["is exact for one that waited", EXACT, { holders: 1 }, lock(), { changed: [held(1)] }],
    ["is never", NEVER, { holders: 1 }, heldBy(1), { changed: [held(1, { deadlineUs: null })] }],
    // Not all deadlines are known.
    ["only falls beside another holder", FALLS, { holders: 2 }, heldBy(1), both],
    ["only falls beside a waiter", FALLS, { holders: 1, waiting: 1 }, heldBy(1), both],
    ["only falls without a holder", FALLS, { holders: 0, waiting: 1 }, heldBy(1), both],
  ])("%s", (_, expected, counters, of, changes) => {
    const other = lock({ id: 2n });
    const locks = [Object.assign(of, counters), other];
    expect(boundsOf(of, movesOf({ ...NO_CHANGES, locks, ...changes }, NOW_US), NOW_US)).toEqual(expected);
  });

  test("stays although the decision sets a deadline of another lock", () => {
    const of = Object.assign(heldBy(1), { holders: 0 });
    const writes = { locks: [of, lock({ id: 2n })], changed: [ended(1)], added: [held(1, { lockId: 2n })] };
    expect(boundsOf(of, movesOf({ ...NO_CHANGES, ...writes }, NOW_US), NOW_US)).toEqual(STAYS);
  });
});
