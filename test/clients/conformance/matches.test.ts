// What counts as an expected answer, and what does not.

import { expect, test } from "vitest";
import { mismatch } from "./matches.ts";

test.each([
  ["a text", "a", "a"],
  ["fields that nobody asked for", { a: 1, b: 2 }, { a: 1 }],
  ["lists, entry by entry", [{ a: 1, b: 2 }, 3], [{ a: 1 }, 3]],
  ["a number between two", 5, { $min: 5, $max: 5 }],
  ["words in a text", "It has EXPIRED.", { $matches: "expired|ended" }],
  ["a text without some words", "It has expired.", { $lacks: "secret" }],
  ["entries of a list", [{ a: 1 }, { a: 2 }, { a: 3 }], { $has: [{ a: 3 }, { a: 1 }] }],
  ["one of several", { state: "held" }, { state: { $oneOf: ["held", "uncertain"] } }],
  ["null for what is not there", { a: null }, { a: { $absent: true }, b: { $absent: true } }],
])("%s", (_, actual, expected) => {
  expect(mismatch(actual, expected)).toBeUndefined();
});

test.each([
  ["a number for a text", 1, "1", 'it should be "1", and is 1'],
  ["nothing", undefined, { a: 1 }, 'it should be {"a":1}, and is not there'],
  ["a field that is missing", { a: {} }, { a: { b: 1 } }, "a.b should be 1, and is not there"],
  ["a longer list", [1, 2], [1], "it should be [1], and is [1,2]"],
  ["a number that is too large", 6, { $max: 5 }, "it should be {$max: 5}, and is 6"],
  ["a text for a number", "6", { $min: 5 }, 'it should be {$min: 5}, and is "6"'],
  [
    "a text with words",
    "a secret",
    { $lacks: "secret" },
    'it should be {$lacks: "secret"}, and is "a secret"',
  ],
  [
    "a list without the entry",
    [{ a: 1 }],
    { $has: [{ a: 2 }] },
    'it should be {$has: [{"a":2}]}, and is [{"a":1}]',
  ],
  [
    "something that should be absent",
    { a: 0 },
    { a: { $absent: true } },
    "a should be {$absent: true}, and is 0",
  ],
])("%s is not what was expected", (_, actual, expected, words) => {
  expect(mismatch(actual, expected)).toBe(words);
});

test("an unknown rule is a mistake", () => {
  expect(() => mismatch(1, { $atLeast: 1 })).toThrow("There is no $atLeast");
});
