// Which values of a label are counted apart.

import { expect, test } from "vitest";
import { LabelCounts } from "../../server/metrics/lock-gauges.ts";

function counted(...values: readonly string[]): LabelCounts {
  const counts = new LabelCounts("team");
  for (const team of values) counts.add({ team, host: "a1" }, "waiters");
  return counts;
}

test("those with the most claims are shown, and the rest is one value", () => {
  const counts = counted(...Array.from({ length: 60 }, (_, index) => `team ${index}`), "other");
  for (let claim = 0; claim < 3; claim++) counts.add({ team: "team 59" }, "holders");
  const { most } = counts;
  expect(most).toHaveLength(51);
  expect(most[0]).toEqual({ value: "team 59", holders: 3, waiters: 1 });
  expect(most.at(-1)).toEqual({ value: "other", holders: 0, waiters: 11 });
});

test("claims without the label are not counted, whatever its key", () => {
  const counts = new LabelCounts("constructor");
  counts.add({ team: "etl" }, "holders");
  expect(counts.most).toEqual([]);
});

test("however many values there are, a bounded number is kept", () => {
  const counts = counted(...Array.from({ length: 10_001 }, (_, index) => `${index}`));
  counts.add({ team: "9999" }, "holders");
  expect(counts.most[0]).toEqual({ value: "9999", holders: 1, waiters: 1 });
  expect(counts.most.reduce((sum, { holders, waiters }) => sum + holders + waiters, 0)).toBe(10_002);
  counts.add({ team: "10000" }, "holders");
  expect(counts.most.at(-1)).toMatchObject({ value: "other", holders: 1 });
});
