// How long the client pauses before it calls a server again.

import { afterEach, expect, test, vi } from "vitest";
import { backoffMs } from "../../../clients/typescript/src/backoff.ts";

afterEach(() => vi.restoreAllMocks());

test("the pause doubles with each failure, up to two seconds, and is never less than half of that", () => {
  const random = vi.spyOn(Math, "random");
  const pauses = (drawn: number) => {
    random.mockReturnValue(drawn);
    return [1, 2, 3, 4, 5, 6, 7, 100].map((failures) => backoffMs(failures));
  };
  expect(pauses(1)).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]);
  expect(pauses(0)).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000]);
});

test("the pause is as long as the server requests, if that is longer", () => {
  vi.spyOn(Math, "random").mockReturnValue(1);
  expect(backoffMs(1, 5_000)).toBe(5_000);
  expect(backoffMs(3, 250)).toBe(400);
});
