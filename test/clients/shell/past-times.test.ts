// Times in the past as people write them.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { localTime, type Past, parsePast, pastOf } from "../../../clients/shell/past-times.ts";

const NOW = new Date(2026, 10, 24, 9, 30, 15);

test.each<[string, string]>([
  ["2h", "2026-11-24 07:30:15"],
  ["1.5d", "2026-11-22 21:30:15"],
  ["90s", "2026-11-24 09:28:45"],
  ["now", "2026-11-24 09:30:15"],
  ["today", "2026-11-24 00:00:00"],
  ["yesterday", "2026-11-23 00:00:00"],
  ["03:12", "2026-11-24 03:12:00"],
  ["9:30:15", "2026-11-24 09:30:15"],
  ["09:31", "2026-11-23 09:31:00"],
  ["23:59:59", "2026-11-23 23:59:59"],
  ["2026-11-20", "2026-11-20 00:00:00"],
  ["2026-11-20T03:12", "2026-11-20 03:12:00"],
  ["2026-11-20 03:12:07", "2026-11-20 03:12:07"],
])("%s is %s", (text, meant) => {
  expect(localTime((pastOf(text, NOW) as Past).date)).toBe(meant);
});

test("an instant with a zone is that instant", () => {
  expect(pastOf("2026-11-20T03:12:07.5Z", NOW)?.date.toISOString()).toBe("2026-11-20T03:12:07.500Z");
  expect(pastOf("2026-11-20T03:12+02:00", NOW)?.date.toISOString()).toBe("2026-11-20T01:12:00.000Z");
});

const WRONG = `2 soon 20261120 24:00 12:60 12:00:60 2026-13-45 2026-00-10 2026-02-30 2026-11-20T25:00
  2026-11-20T24:00 2026-11-20T12:00+24:00 2026-02-29T10:00 2026-04-31T00:00:00Z`;

test.each(["", ...WRONG.split(/\s+/)])("%j is refused with examples", (text) => {
  expect(() => parsePast(text)).toThrow(/write a time such as 2h \(ago\), 03:12/);
});

describe("where clocks are set", () => {
  const zone = process.env.TZ;
  beforeAll(() => {
    process.env.TZ = "Europe/Berlin";
  });
  afterAll(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });
  const iso = (text: string) => new Date(text);

  test.each([
    // At 3:00 clocks are set back to 2:00.
    [
      "2026-10-25T02:30",
      "2026-10-26T12:00:00Z",
      "2026-10-25T00:30:00.000Z",
      /twice: the first one was taken, 2026-10-25T00:30:00Z; the other is 2026-10-25T01:30:00Z/,
    ],
    [
      "02:30",
      "2026-10-25T12:00:00Z",
      "2026-10-25T01:30:00.000Z",
      /twice: the last one was taken, 2026-10-25T01:30:00Z; the first is/,
    ],
    ["02:30", "2026-10-25T00:45:00Z", "2026-10-25T00:30:00.000Z", undefined],
    ["03:30", "2026-10-25T12:00:00Z", "2026-10-25T02:30:00.000Z", undefined],
    // At 2:00 clocks are set to 3:00.
    [
      "2026-03-29 02:30",
      "2026-03-30T12:00:00Z",
      "2026-03-29T01:30:00.000Z",
      /never showed 2026-03-29 02:30: 2026-03-29 03:30:00 was taken/,
    ],
    [
      "02:30",
      "2026-03-29T12:00:00Z",
      "2026-03-28T01:30:00.000Z",
      /did not show this time today: 2026-03-28 02:30:00 was taken/,
    ],
    ["2026-10-25T02:30+01:00", "2026-10-26T12:00:00Z", "2026-10-25T01:30:00.000Z", undefined],
  ])("%s at %s says which one it takes", (text, now, meant, note) => {
    const past = pastOf(text, iso(now));
    expect(past?.date.toISOString()).toBe(meant);
    expect(past?.note ?? "").toMatch(note ?? /^$/);
  });
});
