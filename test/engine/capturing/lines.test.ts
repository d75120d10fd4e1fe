// Captures share a waiting line exactly if they want the same locks.

import { expect, test } from "vitest";
import { lineOf } from "../../../server/engine/capturing/lines.ts";

const under = (prefix: string) => ({ kind: "prefix", prefix }) as const;
const named = (...names: string[]) => ({ kind: "names", names }) as const;
const many = (suffix: string) =>
  named(...Array.from({ length: 1_000 }, (_, index) => `job ${index}${suffix}`));

test("what differs in its target or its statuses stands in another line", () => {
  const lines = [
    lineOf(under("a"), []),
    lineOf(under("b"), []),
    lineOf(under(""), []),
    lineOf(named("a"), []),
    lineOf(named("a", "b"), []),
    lineOf(named("a,b"), []),
    lineOf(under("a"), ["b"]),
    lineOf(under("a"), ["b", "c"]),
    lineOf(under("a"), ["b,c"]),
    lineOf(many(""), []),
    lineOf(many("!"), []),
    lineOf(many(""), ["b"]),
  ];
  expect(new Set(lines).size).toBe(lines.length);
});

test("what is after the same locks stands in one line, and a long list of names does not make its name long", () => {
  expect(lineOf(under("a"), ["b"])).toBe(lineOf(under("a"), ["b"]));
  expect(lineOf(many(""), [])).toBe(lineOf(many(""), []));
  expect(lineOf(many(""), []).length).toBeLessThanOrEqual(512);
});
