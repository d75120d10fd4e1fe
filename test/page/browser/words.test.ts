// How the page writes names and times.

import { describe, expect, test } from "vitest";
import { limitWords, partsOf } from "../../../clients/page/src/limit-change-words.ts";
import { marksOf } from "../../../clients/page/src/time-axis.ts";
import { rateOfTyped, typedRateOf } from "../../../clients/page/src/typed-rate.ts";
import { causeWords } from "../../../clients/page/src/wait-causes.ts";
import {
  ageWords,
  alsoWords,
  beginWords,
  clockWords,
  depthsOf,
  rateWords,
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

describe("a rate", () => {
  test.each([
    [{ permits: 500, per: "60s", burst: 20 }, "500 per minute, burst 20"],
    [{ permits: 10_000, per: "86400s", burst: 10_000 }, "10,000 per day"],
    [{ permits: 3, per: "150s" }, "3 per 150 seconds"],
    [{ permits: 1, per: "7200s", burst: 1 }, "1 per 2 hours"],
    [{ permits: 2, per: "1.500s", burst: 1 }, "2 per 1.5 seconds, burst 1"],
  ])("%j is said in the largest unit: %s", (rate, words) => {
    expect(rateWords(rate)).toBe(words);
  });

  test("that is set fills the form, and the form gives the same", () => {
    const rate = { permits: 500, per: "120s", burst: 20 };
    expect(typedRateOf(rate)).toEqual({ permits: "500", count: "2", unit: "minute", burst: "20" });
    expect(rateOfTyped(typedRateOf(rate))).toEqual(rate);
    // As many as permits: the server calls that 0.
    expect(rateOfTyped(typedRateOf({ ...rate, burst: 500 }))).toEqual({ ...rate, burst: 0 });
  });

  test.each([
    { permits: "" },
    { permits: "0" },
    { permits: "1.5" },
    { count: "0" },
    { count: "34561" },
    { burst: "0" },
  ])("is not complete with %j", (typed) => {
    expect(rateOfTyped({ permits: "5", count: "1", unit: "minute", burst: "", ...typed })).toBeNull();
  });

  test("in the way says until when, or that no wait helps", () => {
    const nowMs = Date.parse("2030-01-31T03:00:00Z");
    const rate = { permits: 500, per: "60s", burst: 20 };
    const inForce = { rate, source: "LIMIT_SOURCE_PATTERN", pattern: "llm/*", reason: "quota" } as const;
    const until = "2030-01-31T03:00:12Z";
    const begin = "The rate is 500 per minute, burst 20, by the pattern llm/*: “quota”.";
    const at = clockWords(Date.parse(until));
    expect(causeWords({ rate: { rate: inForce, until } }, nowMs)).toBe(
      `${begin} It allows the grant at ${at} (in 12 s).`,
    );
    expect(causeWords({ rate: { rate: inForce } }, nowMs)).toContain("burst is too small");
  });
});

test("a change says what has changed of the limit and the rate, and no more", () => {
  const [slow, fast] = [
    { permits: 5, per: "60s", burst: 5 },
    { permits: 9, per: "1s", burst: 9 },
  ];
  const said = [
    { from: 1, to: 3, rateFrom: slow, rateTo: slow },
    { from: 3, to: 3, rateFrom: slow, rateTo: fast },
    { rateTo: slow },
    { rateFrom: slow },
    { from: 3, rateTo: slow },
    // Set again as it was.
    { from: 3, to: 3 },
    { rateFrom: slow, rateTo: slow },
    { from: 3, to: 3, queueRulesTo: { waitingMax: 2, whenFull: "WHEN_FULL_REFUSE" as const } },
  ].map((change) => `${partsOf(change).join(" and ")}: ${limitWords(change)}`);
  expect(said).toEqual([
    "limit: 1 → 3",
    "rate: 5 per minute → 9 per second",
    "rate: not set → 5 per minute",
    "rate: 5 per minute → not set",
    "limit and rate: limit 3 → not set; rate not set → 5 per minute",
    "limit: 3 → 3",
    "rate: 5 per minute → 5 per minute",
    "queue rules: not set → at most 2 wait",
  ]);
});

test("pools are a tree by their prefixes", () => {
  expect(depthsOf(["*", "mail/*", "openai/*", "openai/acme/*", "openai/b/*"])).toEqual([0, 1, 1, 2, 2]);
  expect(depthsOf(["a*", "ab*", "b*"])).toEqual([0, 1, 0]);
});

test("a claim for several locks names the others, and those behind it learn that it waits for all", () => {
  const set = {
    owner: "anna",
    ticketNumber: "4",
    also: [{ lockName: "etl/b" }, { lockName: "web/\u202ec" }],
  };
  expect(alsoWords(set)).toBe("together with etl/b, web/\\u202ec");
  expect(alsoWords({ owner: "bert", also: [] })).toBe("");
  expect(causeWords({ queued: { first: [set], ahead: 1, permitsAhead: "1" } }, 0)).toBe(
    "Behind anna (#4) in the queue, for 1 in all. anna (#4) wants it together with etl/b, web/\\u202ec, and waits until it can have all.",
  );
});

test("a pool in the way is named with what is taken of it, and its rate with a time", () => {
  const limit = { permits: 50, pattern: "openai/*", reason: "contract" };
  const use = { heldPermits: "50" };
  expect(causeWords({ pool: { limit, use, waitsHere: true, ahead: 2 } }, 0)).toBe(
    "It has its lock, and the pool openai/* has 50 of 50 permits taken, and 2 claims before it: “contract”.",
  );
  expect(causeWords({ pool: { limit: { ...limit, pattern: "", reason: "" }, use, ahead: 1 } }, 0)).toBe(
    "Then a pool has 50 of 50 permits taken, and 1 claim waiting there.",
  );
  const rate = { rate: { permits: 5, per: "1s" }, pattern: "openai/*" };
  expect(causeWords({ pool: { rate, waitsHere: true, rateUntil: "2030-01-31T03:12:05Z" } }, 0)).toMatch(
    /^It has its lock, and the pool openai\/\* has a rate\. Its rate of 5 per second allows it at 2030-/,
  );
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
