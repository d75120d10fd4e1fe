// Values in the text of statements: each ends where it should, whatever it contains.

import fc from "fast-check";
import { expect, test } from "vitest";
import { type SqlValue, withValues } from "../../../../server/storage/mysql/connection/sql-text.ts";
import { seed } from "../../../support/seed.ts";

test.each<[string, SqlValue, string]>([
  ["a number", 12, "12"],
  ["a time in microseconds", 1_795_470_000_123_456, "1795470000123456"],
  ["a negative number", -0.5, "-0.5"],
  ["the largest number of 64 bits", 18_446_744_073_709_551_615n, "18446744073709551615"],
  ["nothing", null, "NULL"],
  ["bytes", Buffer.from("it's a \\ \0?"), "X'69742773206120 5c20003f'".replace(" ", "")],
  ["no bytes", Buffer.alloc(0), "X''"],
  [
    "text",
    'worker-1 of a/b:c_2, {"team":"x"} [a@b.c+d=e]',
    `'worker-1 of a/b:c_2, {"team":"x"} [a@b.c+d=e]'`,
  ],
  ["text that a quote would end", "it's", "X'69742773'"],
  ["text with a backslash", "a\\", "X'615c'"],
  ["text of more than one byte a character", "ä", "X'c3a4'"],
  ["text with a line break at its end", "a\n", "X'610a'"],
  ["text that ends a comment", "*/", "X'2a2f'"],
  ["text with a place for a value", "a?", "X'613f'"],
  ["no text", "", "X''"],
  ["a list", [1, 2n, null], "1,2,NULL"],
  ["a list of lists", [[1, 2], [3]], "(1,2),(3)"],
])("%s", (_, value, text) => {
  expect(withValues("SELECT ?", [value])).toBe(`SELECT ${text}`);
});

test("text is its bytes, whatever it contains, and only harmless characters are themselves", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "binary-ascii" })), (text) => {
      const sent = withValues("?", [text]);
      const hex = /^X'([0-9a-f]*)'$/.exec(sent)?.[1];
      if (hex !== undefined) expect(Buffer.from(hex, "hex")).toEqual(Buffer.from(text));
      else {
        expect(sent).toBe(`'${text}'`);
        expect(text).not.toMatch(/['\\?*]|[^ -~]/);
      }
    }),
    { seed },
  );
});

test("each value takes the place of one question mark, in order", () => {
  expect(withValues("a = ? AND b IN (?) AND c = ?;\nd", [1, [2, 3], Buffer.from("?")])).toBe(
    "a = 1 AND b IN (2,3) AND c = X'3f';\nd",
  );
});

test.each([[[]], [[1]], [[1, 2, 3]]])("%j for two question marks are refused", (values) => {
  expect(() => withValues("? ?", values)).toThrow(`${values.length} values for 2 question marks`);
});

test.each([Number.NaN, Number.POSITIVE_INFINITY])("%s is refused", (value) => {
  expect(() => withValues("?", [value])).toThrow("is not a value for the database");
});
