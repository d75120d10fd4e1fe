// When a soak calls what it looked at level.

import { expect, test } from "vitest";
import { judge, type Series } from "./level.ts";

const judged = (values: readonly number[], more: Partial<Series> = {}) =>
  judge([{ what: "memory", unit: "MiB", values, ...more }])[0];
const rising = (count: number, by: number) => Array.from({ length: count }, (_, index) => 100 + index * by);

test("what grows only in the first third is level", () => {
  expect(judged([...rising(10, 10), ...Array.from({ length: 20 }, () => 200)])).toEqual({
    what: "memory",
    before: 200,
    after: 200,
    isLevel: true,
  });
});

test("what goes on growing is not, unless it may", () => {
  expect(judged(rising(30, 10))).toMatchObject({ isLevel: false });
  expect(judged(rising(30, 10), { mayGrow: "it is kept" })).toMatchObject({ isLevel: true });
});

test("what goes up and down is level, and so is what grows by next to nothing", () => {
  expect(judged(Array.from({ length: 30 }, (_, index) => 100 + 30 * (index % 3)))).toMatchObject({
    isLevel: true,
  });
  expect(judged(rising(30, 0.1))).toMatchObject({ isLevel: true });
});
