// The checks of all rows, without a database: how many rows they read at a time, and where they end. What they find is in
// the contract suite.

import { expect, test } from "vitest";
import { checkNow } from "../../../server/storage/reads/invariants.ts";
import type { Query } from "../../../server/storage/reads/steps.ts";
import { CHECK_PAGE } from "../../../server/storage/storage-bounds.ts";

/** A guard row with 9 permits held, and nothing else. */
const overLimit = (id: number) => [
  ...[`${id}`, Buffer.from(`lock ${id}`), null, "0", Buffer.from(""), "1", "0", 9, 0, 0, 0, 0, 0],
  ...["0", 0, "0", "0", null, null, null, 0, null, null],
];

/** Checks that many locks of which each is over its limit. */
function checked(count: number, max: number) {
  const afters: unknown[] = [];
  const limits: unknown[] = [];
  const run = checkNow(max, "all");
  run.next();
  let step = run.next([[["5000000"]]]);
  while (!step.done) {
    const { name, lists } = step.value;
    const [[sql, values]] = lists[0] as [Query];
    limits.push(Number(/LIMIT (\d+)$/.exec(sql)?.[1] ?? 0));
    let rows: ReturnType<typeof overLimit>[] = [];
    if (name === "check_over_limit") {
      const after = Number(values?.after);
      afters.push(after);
      const left = Math.min(count - after, CHECK_PAGE);
      rows = Array.from({ length: left }, (_, row) => overLimit(after + row + 1));
    }
    step = run.next([rows]);
  }
  return { afters, limits, found: step.value.length };
}

test("many rows are read in pages, each behind the last row of the previous one, until one is not full", () => {
  expect(checked(CHECK_PAGE - 1, 10_000)).toMatchObject({ afters: [0], found: CHECK_PAGE - 1 });
  const afters = [0, CHECK_PAGE, 2 * CHECK_PAGE];
  expect(checked(2 * CHECK_PAGE, 10_000)).toMatchObject({ afters, found: 2 * CHECK_PAGE });
});

test("no more is read than may be found", () => {
  const { afters, limits, found } = checked(3 * CHECK_PAGE, 5);
  expect([afters, found]).toEqual([[0], 5]);
  expect(limits[0]).toBe(5);
});
