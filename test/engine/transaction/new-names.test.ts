// How many new lock names a server creates per second: limited by the rest of a ten-second allowance.

import { expect, test } from "vitest";
import { NewNames } from "../../../server/engine/transaction/new-names.ts";

test("ten seconds of new names may come at once, and then as many as each second earns", () => {
  let nowMs = 0;
  const names = new NewNames(5, () => nowMs);
  expect([names.take(30), names.take(30), names.take(1)]).toEqual([30, 20, 0]);
  nowMs = 199;
  expect(names.take(1)).toBe(0);
  nowMs = 200;
  expect(names.take(3)).toBe(1);
  nowMs = 1_200;
  expect(names.take(100)).toBe(5);
  nowMs = 3_600_000;
  expect([names.take(100), names.take(1)]).toEqual([50, 0]);
});

test("any number may come where there is no bound", () => {
  const names = new NewNames(Number.POSITIVE_INFINITY);
  expect([names.take(1_000_000), names.take(1_000_000)]).toEqual([1_000_000, 1_000_000]);
});
