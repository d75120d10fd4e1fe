// Configured limits, as listings show them: patterns and names in one order, from wherever a page ended.

import { expect, test } from "vitest";
import type { LimitRule } from "../../../server/core/limit.ts";
import type { GuardRow } from "../../../server/core/lock.ts";
import type { LimitsQuery } from "../../../server/engine/lock-engine.ts";
import { limitSettings } from "../../../server/engine/views/views.ts";
import type { LockQuery } from "../../../server/storage/store.ts";

const rule = (prefix: string, limit: number | null): LimitRule => {
  return { prefix, limit, version: 7n, reason: `why ${prefix}`, changeMark: 0n };
};
const named = (name: string, limit: number | null) =>
  ({ name, limit, limitVersion: 3n, limitReason: `why ${name}` }) as GuardRow;

/** Unordered, as rules come; by bytes, the last two sort differently than in UTF-16. */
const RULES = [
  rule("web/", 0),
  rule("", 2),
  rule("etl/", 3),
  rule("gone/", null),
  rule("\u{1f512}", 1),
  rule("\u{ff5e}", 1),
];
const LOCKS = [named("etl/load", 0), named("etl/none", null), named("web/one", 4)];

async function targets(query: Partial<LimitsQuery> = {}) {
  const asked: LockQuery[] = [];
  const store = {
    list: async (lockQuery: LockQuery) => {
      asked.push(lockQuery);
      const { prefix, afterName, max } = lockQuery;
      const locks = LOCKS.filter(
        ({ name }) => name.startsWith(prefix) && (afterName === null || name > afterName),
      );
      return { locks: locks.slice(0, max), next: null };
    },
  };
  const found = [];
  for await (const setting of limitSettings(store, RULES, { prefix: "", after: null, max: 100, ...query }))
    found.push(setting);
  return { found, targets: found.map(({ target }) => target), asked };
}

test("patterns come first, then names, each in the order of their bytes, without removed ones", async () => {
  const { targets: all } = await targets();
  expect(all).toEqual(["*", "etl/*", "web/*", "\u{ff5e}*", "\u{1f512}*", "etl/load", "web/one"]);
});

test("each has its limit, its version and its reason", async () => {
  const { found } = await targets({ prefix: "web/" });
  expect(found).toEqual([
    { kind: "pattern", target: "web/*", limit: 0, version: 7n, reason: "why web/" },
    { kind: "name", target: "web/one", limit: 4, version: 3n, reason: "why web/one" },
  ]);
});

test("those under a prefix are patterns and names that begin with it", async () => {
  expect((await targets({ prefix: "e" })).targets).toEqual(["etl/*", "etl/load"]);
  expect((await targets({ prefix: "etl/*" })).targets).toEqual(["etl/*"]);
  expect((await targets({ prefix: "other" })).targets).toEqual([]);
});

test("a page goes on behind a pattern with the next patterns and all names", async () => {
  const after = { kind: "pattern", target: "etl/*" } as const;
  const { targets: rest } = await targets({ after });
  expect(rest).toEqual(["web/*", "\u{ff5e}*", "\u{1f512}*", "etl/load", "web/one"]);
  expect((await targets({ after: { kind: "pattern", target: "*" } })).targets[0]).toBe("etl/*");
});

test("a page goes on behind a name with the next names alone", async () => {
  const { targets: rest, asked } = await targets({
    prefix: "",
    after: { kind: "name", target: "etl/load" },
    max: 5,
  });
  expect(rest).toEqual(["web/one"]);
  expect(asked).toEqual([{ prefix: "", afterName: "etl/load", max: 5, which: "limited" }]);
});
