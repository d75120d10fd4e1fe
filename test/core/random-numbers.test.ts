// Random numbers fit a BIGINT, whatever the bytes are.

import { expect, test } from "vitest";
import { RANDOM_NUMBER_BYTES, randomNumberOf } from "../../server/core/rows.ts";

const bytes = (...values: number[]) => new Uint8Array(values);

test.each([
  [bytes(0, 0, 0, 0, 0, 0, 0, 0), 0n],
  [bytes(0, 0, 0, 0, 0, 0, 0, 2), 1n],
  [bytes(0x80, 0, 0, 0, 0, 0, 0, 0), 2n ** 62n],
  [bytes(255, 255, 255, 255, 255, 255, 255, 255), 2n ** 63n - 1n],
])("%s is the number %s", (given, number) => {
  expect(given).toHaveLength(RANDOM_NUMBER_BYTES);
  expect(randomNumberOf(given)).toBe(number);
});

test("an offset selects where in the bytes the number begins", () => {
  expect(randomNumberOf(bytes(9, 9, 0, 0, 0, 0, 0, 0, 0, 6, 9).subarray(2, 10))).toBe(3n);
});
