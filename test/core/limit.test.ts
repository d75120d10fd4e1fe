// Which limit is in force for a name.

import { describe, expect, test } from "vitest";
import type { LimitRule } from "../../server/core/limit.ts";
import { effectiveLimit } from "../../server/core/limit.ts";
import { probeName } from "../../server/core/lock.ts";

const rule = (prefix: string, limit: number | null, version = 1n): LimitRule => ({
  prefix,
  limit,
  rate: null,
  queueRules: null,
  version,
  reason: `for ${prefix}*`,
  changeMark: 0n,
});
const unset = { name: "etl/load", limit: null, limitVersion: 0n, limitReason: "" };

describe("the limit in force", () => {
  const ofName = { ...unset, limit: 2, limitVersion: 7n, limitReason: "small disk" };
  const many = [rule("", 1), rule("etl/", 3, 4n), rule("etl/x", 5), rule("e", 2)];
  const plain = { limit: 1, source: "default", pattern: "", version: 0n, reason: "" };
  const longest = { limit: 3, source: "pattern", pattern: "etl/*", version: 4n, reason: "for etl/*" };

  test.each([
    ["1 by default, so that a plain Acquire is a mutex", unset, [], plain],
    [
      "that of the exact name, which beats every pattern",
      ofName,
      [rule("etl/load", 9), rule("", 8)],
      { limit: 2, source: "name", pattern: "", version: 7n, reason: "small disk" },
    ],
    ["that of the longest pattern that matches", unset, many, longest],
    ["that, in whatever order the patterns are listed", unset, many.toReversed(), longest],
    [
      "the default after a removal, with the version of the removed setting",
      { ...unset, limitVersion: 3n },
      [rule("ETL/", 6)],
      { ...plain, version: 3n },
    ],
    [
      "the default for a lock of the servers' own, so that a paused `*` keeps no server from its probe",
      { ...unset, name: probeName(1n) },
      [rule("", 0)],
      plain,
    ],
  ])("is %s", (_, lock, rules, expected) => {
    expect(effectiveLimit(lock, rules)).toEqual(expected);
  });
});
