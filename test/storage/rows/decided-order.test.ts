// A page of locks in the order of their decisions, from two branches that were read separately.

import { expect, test } from "vitest";
import { pageOf } from "../../../server/storage/rows/decided-order.ts";

const row = (id: number, decidedAtUs: number) => [BigInt(id), Buffer.from(`n${id}`), 1n, 0, 0, decidedAtUs];

test("a page is in order of time and then of id, without the times", () => {
  const { locks, next } = pageOf([row(3, 5), row(9, 4), row(1, 5), row(2, 9)], 9);
  expect(locks.map(({ id }) => id)).toEqual([9n, 1n, 3n, 2n]);
  expect(locks[0]).toEqual({ id: 9n, name: "n9", revision: 1n, holders: 0, waiting: 0 });
  expect(next).toBeNull();
});

test("a full page goes on behind its last lock, and one that is not full is the last", () => {
  const rows = [row(1, 5), row(2, 5), row(3, 6)];
  expect(pageOf(rows, 2).next).toEqual({ atUs: 5, afterLockId: 2n });
  expect(pageOf(rows, 2).locks).toHaveLength(2);
  expect(pageOf(rows, 3).next).toEqual({ atUs: 6, afterLockId: 3n });
  expect(pageOf(rows, 4).next).toBeNull();
  expect(pageOf([], 1)).toEqual({ locks: [], next: null });
});
