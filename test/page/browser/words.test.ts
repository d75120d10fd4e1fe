// How the page writes names and times.

import { describe, expect, test } from "vitest";
import { marksOf } from "../../../clients/page/src/time-axis.ts";
import { ageWords, shown, someOf, timeWords } from "../../../clients/page/src/words.ts";

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
  expect([12, 900, 59_900, 119_000, 150_000, 8_000_000, 200_000_000].map(timeWords)).toEqual([
    "12 ms",
    "900 ms",
    "59 s",
    "119 s",
    "2 min",
    "2 h",
    "2 d",
  ]);
  expect([-5, 900, 1_900].map(ageWords)).toEqual(["0 s", "0 s", "1 s"]);
});

test("a few of many are named, the others counted", () => {
  expect(someOf(["a", "b"], 2)).toBe("a, b");
  expect(someOf(["a", "b", "c", "d"], 1_204)).toBe("a, b, c, 1,201 more");
});

test("a time axis has few marks, at round times", () => {
  const from = new Date(2030, 0, 31, 3, 12, 7).getTime();
  expect(marksOf(from, from + 40_000, 8).map(({ text }) => text)).toEqual([
    "03:12:10",
    "03:12:15",
    "03:12:20",
    "03:12:25",
    "03:12:30",
    "03:12:35",
    "03:12:40",
    "03:12:45",
  ]);
  expect(marksOf(from, from + 7_200_000, 4).map(({ text }) => text)).toEqual([
    "03:30",
    "04:00",
    "04:30",
    "05:00",
  ]);
});
