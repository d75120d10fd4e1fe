// Times in the past as people write them.

import { expect, test } from "vitest";
import { localTime, parsePast, pastOf } from "../../../clients/shell/past-times.ts";

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
  expect(localTime(pastOf(text, NOW) as Date)).toBe(meant);
});

test("an instant with a zone is that instant", () => {
  expect(pastOf("2026-11-20T03:12:07.5Z", NOW)?.toISOString()).toBe("2026-11-20T03:12:07.500Z");
  expect(pastOf("2026-11-20T03:12+02:00", NOW)?.toISOString()).toBe("2026-11-20T01:12:00.000Z");
});

test.each(["", "2", "soon", "24:00", "12:60", "12:00:60", "2026-13-45", "2026-11-20T25:00", "20261120"])(
  "%j is refused with examples",
  (text) => {
    expect(() => parsePast(text)).toThrow(/write a time such as 2h \(ago\), 03:12/);
  },
);
