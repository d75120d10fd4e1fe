// How long ended claims are kept, by the names of their locks.

import { describe, expect, test } from "vitest";
import { keptForBy } from "../../server/core/kept-for.ts";

const SECOND_US = 1_000_000;
const HOUR_US = 3_600 * SECOND_US;
const DAY_US = 24 * HOUR_US;

describe("an ended claim is kept", () => {
  const keptFor = keptForBy(HOUR_US, [
    { pattern: "etl/*", keptForUs: 30 * DAY_US },
    { pattern: "etl/web/*", keptForUs: 2 * HOUR_US },
    { pattern: "etl/web/one", keptForUs: 7 * DAY_US },
    { pattern: "short/*", keptForUs: SECOND_US },
  ]);

  test.for([
    ["for the time of the longest pattern that matches", "etl/web/two", 2 * HOUR_US],
    ["for the time of a shorter pattern where no longer one matches", "etl/load", 30 * DAY_US],
    ["for the time of its exact name, whatever patterns match", "etl/web/one", 7 * DAY_US],
    ["for a week if nothing matches", "web/a", 7 * DAY_US],
    ["for the retention time if its class keeps it for less", "short/a", HOUR_US],
  ] as const)("%s", ([, name, us]) => {
    expect(keptFor.of(name)).toBe(us);
  });

  test("for a prefix of the pattern only if that is the whole prefix", () => {
    expect(keptFor.of("etl")).toBe(7 * DAY_US);
    expect(keptFor.of("etl/")).toBe(30 * DAY_US);
  });

  test("for whole seconds, and never for less than was asked for", () => {
    const odd = keptForBy(1_500_000, [{ pattern: "a", keptForUs: 7_000_001 }]);
    expect(odd.of("a")).toBe(8 * SECOND_US);
    expect(keptForBy(8 * DAY_US + 1, []).of("b")).toBe(8 * DAY_US + SECOND_US);
  });

  test("with all names under a prefix for the shortest of their times", () => {
    expect(keptFor.least("")).toBe(HOUR_US);
    expect(keptFor.least("e")).toBe(2 * HOUR_US);
    expect(keptFor.least("etl/web/")).toBe(2 * HOUR_US);
    expect(keptFor.least("etl/web/on")).toBe(2 * HOUR_US);
    expect(keptFor.least("etl/load")).toBe(30 * DAY_US);
    expect(keptFor.least("web/")).toBe(7 * DAY_US);
    expect(keptForBy(HOUR_US, [{ pattern: "a/one", keptForUs: DAY_US }]).least("a/")).toBe(DAY_US);
  });
});
