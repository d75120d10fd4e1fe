// Prefixes as ranges of bytes: the range contains every name under the prefix, and no other name.

import { describe, expect, test } from "vitest";
import { prefixRange, rangeAfter } from "../../../server/storage/rows/values.ts";

const isIn = ({ from, below }: { from: Buffer; below: Buffer }, name: string) => {
  const bytes = Buffer.from(name);
  return Buffer.compare(bytes, from) >= 0 && Buffer.compare(bytes, below) < 0;
};

const NAMES = [
  "",
  "\0own",
  "\u0001",
  "etk",
  "etl",
  "etl/",
  "etl/a",
  "etl/\u{10ffff}",
  "etl0",
  "etm",
  "é",
  "ê",
  "\u{10ffff}",
];

describe("a range", () => {
  test.each(["etl", "etl/", "é", "\u{10ffff}", "\0own"])("of %j has the names with that prefix", (prefix) => {
    const under = NAMES.filter((name) => isIn(prefixRange(prefix), name));
    expect(under).toEqual(NAMES.filter((name) => name.startsWith(prefix)));
  });

  test("of no prefix has all names, and for callers only those that are not the servers' own", () => {
    expect(NAMES.filter((name) => isIn(prefixRange(""), name))).toEqual(NAMES);
    expect(NAMES.filter((name) => isIn(rangeAfter("", null), name))).toEqual(NAMES.slice(2));
    expect(isIn(rangeAfter("\0", null), "\0own")).toBe(true);
  });

  test("of a prefix that ends in the highest byte ends with the byte before it", () => {
    const { below } = prefixRange("a\u{10ffff}");
    // No byte of UTF-8 is 0xff, so the last byte can always be raised.
    expect(below).toEqual(Buffer.from([0x61, 0xf4, 0x8f, 0xbf, 0xc0]));
  });

  test("after a name begins directly behind it, and never before the prefix", () => {
    const range = rangeAfter("etl/", "etl/a");
    expect(["etl/", "etl/a", "etl/a\0", "etl/b", "etl0"].map((name) => isIn(range, name))).toEqual([
      false,
      false,
      true,
      true,
      false,
    ]);
    expect(rangeAfter("etl/", "a")).toEqual(prefixRange("etl/"));
    expect(isIn(rangeAfter("", "etl"), "etl")).toBe(false);
    expect(isIn(rangeAfter("", "etl"), "etl/")).toBe(true);
  });
});
