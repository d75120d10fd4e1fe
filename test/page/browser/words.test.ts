// How the page writes names and times.

import { describe, expect, test } from "vitest";
import { marksOf } from "../../../clients/page/src/time-axis.ts";
import { causeWords } from "../../../clients/page/src/wait-causes.ts";
import {
  ageWords,
  beginWords,
  clockWords,
  shown,
  someOf,
  timeWords,
  zoneWords,
} from "../../../clients/page/src/words.ts";
import { localTime } from "../../../clients/shell/past-times.ts";

describe("a text from others", () => {
  test("keeps what people write", () => {
    const text = "etl/täglich <b>été</b> 日本 שלום 🙂";
    expect(shown(text)).toBe(text);
  });

  test("shows what a browser would obey or hide", () => {
    expect(shown("a\u202eb\u2066c\u0000d\u2028e\u200bf\ufeffg\u{e0041}")).toBe(
      "a\\u202eb\\u2066c\\u0000d\\u2028e\\u200bf\\ufeffg\\ue0041",
    );
  });
});

test("times are short, and do not flicker where they grow", () => {
  const times = [12, 900, 59_900, 119_000, 150_000, 8_000_000, 200_000_000].map(timeWords);
  expect(times.join(", ")).toBe("12 ms, 900 ms, 59 s, 119 s, 2 min, 2 h, 2 d");
  expect([-5, 900, 1_900].map(ageWords)).toEqual(["0 s", "0 s", "1 s"]);
});

test("an instant has one form, today and on any day", () => {
  for (const date of [new Date(), new Date(2030, 0, 31, 3, 12, 5)])
    expect(clockWords(date.getTime())).toBe(localTime(date));
  expect(clockWords(new Date(2030, 0, 31, 3, 12, 5).getTime())).toBe("2030-01-31 03:12:05");
  expect(zoneWords(Date.now())).toMatch(/^([\w+/-]+ \()?UTC[+-]\d\d:\d\d\)?$/);
});

test("the end of a lease is the one that the page shows elsewhere", () => {
  const at = (minutes: number) => new Date(2030, 0, 31, 3, minutes).toISOString();
  const cause = { held: { holderCount: 1, firstEndsAt: at(1) } };
  const nowMs = Date.parse(at(0));
  expect(causeWords(cause, nowMs)).toContain("(in 60 s)");
  expect(causeWords(cause, nowMs, at(5))).toContain("2030-01-31 03:05:00 (in 5 min)");
  expect(causeWords(cause, nowMs, null)).toContain("No lease has an end.");
});

test("a few of many are named, the others counted", () => {
  expect(someOf(["a", "b"], 2)).toBe("a, b");
  expect(someOf(["a", "b", "c", "d"], 1_204)).toBe("a, b, c, 1,201 more");
});

test("a time axis has few marks, at round times", () => {
  const from = new Date(2030, 0, 31, 3, 12, 7).getTime();
  const marks = (ms: number, most: number) => marksOf(from, from + ms, most).map(({ text }) => text);
  const shortly = ["10", "15", "20", "25", "30", "35", "40", "45"].map((second) => `03:12:${second}`);
  expect(marks(40_000, 8)).toEqual(shortly);
  expect(marks(7_200_000, 4)).toEqual(["03:30", "04:00", "04:30", "05:00"]);
});

test("history says where it begins, only if more was asked for", () => {
  const begin = "2030-01-31T03:12:05Z";
  const beginMs = Date.parse(begin);
  expect(beginWords(begin, beginMs - 1)).toBe(
    `The history is complete from ${clockWords(beginMs)} on; earlier claims may be forgotten.`,
  );
  expect([beginWords(begin, beginMs), beginWords(undefined, 0)]).toEqual(["", ""]);
});
