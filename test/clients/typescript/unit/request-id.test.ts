// The ids that the client makes: their form, their time and their order.

import { expect, test } from "vitest";
import { newRequestId } from "../../../../clients/typescript/src/request-id.ts";

const MS = 1_645_557_742_000;

function timeOf(id: string): number {
  return Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
}

test("are random UUIDs of version 7", () => {
  const ids = Array.from({ length: 100 }, () => newRequestId(MS));
  expect(new Set(ids).size).toBe(100);
  for (const id of ids) expect(id).toMatch(/^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("have the time now", () => {
  const before = Date.now();
  const ms = timeOf(newRequestId());
  expect(ms).toBeGreaterThanOrEqual(before);
  expect(ms).toBeLessThanOrEqual(Date.now());
});

test("sort by the time they were made", () => {
  const times = [0, 1, 0xffff, 0x10000, MS, MS + 1, 2 ** 48 - 1];
  const ids = times.map((ms) => newRequestId(ms));
  expect(ids.map(timeOf)).toEqual(times);
  expect(ids.toSorted()).toEqual(ids);
});
