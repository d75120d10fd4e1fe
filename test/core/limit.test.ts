// Which limit is in force for a name.

import { describe, expect, test } from "vitest";
import type { LimitRule } from "../../server/core/limit.ts";
import { effectiveLimit } from "../../server/core/limit.ts";

const rule = (prefix: string, limit: number | null, version = 1n): LimitRule => ({
  prefix,
  limit,
  version,
  reason: `for ${prefix}*`,
  changeMark: 0n,
});
const unset = { name: "etl/load", limit: null, limitVersion: 0n, limitReason: "" };

describe("the limit in force", () => {
  test("is 1 by default, so that a plain Acquire is a mutex", () => {
    expect(effectiveLimit(unset, [])).toEqual({
      limit: 1,
      source: "default",
      pattern: "",
      version: 0n,
      reason: "",
    });
  });

  test("is that of the exact name, which beats every pattern", () => {
    const lock = { ...unset, limit: 2, limitVersion: 7n, limitReason: "small disk" };
    expect(effectiveLimit(lock, [rule("etl/load", 9), rule("", 8)])).toEqual({
      limit: 2,
      source: "name",
      pattern: "",
      version: 7n,
      reason: "small disk",
    });
  });

  test("is that of the longest pattern that matches, in whatever order they are listed", () => {
    const rules = [rule("", 1), rule("etl/", 3, 4n), rule("etl/x", 5), rule("e", 2)];
    const expected = { limit: 3, source: "pattern", pattern: "etl/*", version: 4n, reason: "for etl/*" };
    expect(effectiveLimit(unset, rules)).toEqual(expected);
    expect(effectiveLimit(unset, rules.toReversed())).toEqual(expected);
  });

  test("falls back to the default after a removal, with the version of the removed setting", () => {
    const lock = { ...unset, limitVersion: 3n };
    expect(effectiveLimit(lock, [rule("ETL/", 6)])).toMatchObject({
      limit: 1,
      source: "default",
      version: 3n,
    });
  });
});
