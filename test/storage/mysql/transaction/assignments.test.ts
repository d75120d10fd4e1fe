// How the changes of many rows become one SET: it writes the new values and leaves out unchanged columns.

import { describe, expect, test } from "vitest";
import { assignments } from "../../../../server/storage/mysql/transaction/assignments.ts";
import type { Value } from "../../../../server/storage/rows/values.ts";
import { textOf } from "./lock-fixture.ts";

/** The SET for rows with one column each, before and after, numbered from 1. */
function set(
  column: string,
  ...rows: readonly (readonly [before: Value | undefined, after: Value])[]
): string {
  const sets = assignments(
    [column],
    rows.map(([before, after]) => ({ before: before === undefined ? [] : [before], after: [after] })),
    { cases: "CASE id", whens: rows.map((_, index) => `WHEN ${index + 1}`) },
  );
  return textOf({ sql: sets.join(", "), values: [] });
}
const bytes = (text: string) => Buffer.from(text);

describe("a column", () => {
  test("that no row changes is left out, even if it holds bytes", () => {
    expect(set("holders", [1, 1], [2, 2])).toBe("");
    expect(set("end_note", [bytes("a"), bytes("a")], [null, null])).toBe("");
  });

  test("that gets one value in all rows is set to it, even if some had it before", () => {
    expect(set("waiting", [1, 5], [7, 5], [5, 5])).toBe("waiting = 5");
    expect(set("end_note", [bytes("a"), bytes("c")], [bytes("c"), bytes("c")])).toBe("end_note = 'c'");
    expect(set("deadline", [1, null], [2, null])).toBe("deadline = NULL");
  });

  test("that counts and moves by the same in all rows is moved", () => {
    expect(set("revision", [1n, 2n], [7n, 8n])).toBe("revision = revision + 1");
    expect(set("holders", [5, 3], [2, 0])).toBe("holders = holders + -2");
  });

  test("that counts and moves in some rows only is selected row by row for these", () => {
    expect(set("holders", [1, 2], [7, 7], [3, 4])).toBe(
      "holders = CASE id WHEN 1 THEN 2 WHEN 3 THEN 4 ELSE holders END",
    );
    expect(set("holders", [1, 2], [7, 9])).toBe("holders = CASE id WHEN 1 THEN 2 WHEN 2 THEN 9 END");
  });

  test("that is no counter is never moved, though its values may differ by the same", () => {
    expect(set("deadline", [1, 2], [5, 6])).toBe("deadline = CASE id WHEN 1 THEN 2 WHEN 2 THEN 6 END");
    expect(set("limit_value", [null, 2], [5, null])).toBe(
      "limit_value = CASE id WHEN 1 THEN 2 WHEN 2 THEN NULL END",
    );
  });

  test("is written to rows that were not read", () => {
    expect(set("ttl", [undefined, 1], [undefined, 2])).toBe("ttl = CASE id WHEN 1 THEN 1 WHEN 2 THEN 2 END");
    expect(set("ttl", [undefined, null])).toBe("ttl = NULL");
  });
});

test("columns are written in their order, each with its own values", () => {
  const sets = assignments(
    ["holders", "limit_version", "waiting"],
    [
      { before: [1, 1n, 0], after: [2, 1n, 4] },
      { before: [5, 9n, 0], after: [6, 9n, 8] },
    ],
    { cases: "CASE", whens: ["WHEN a", "WHEN b"] },
  );
  expect(sets).toEqual(["holders = holders + 1", "waiting = CASE WHEN a THEN 4 WHEN b THEN 8 END"]);
});

describe("a column that follows from another one", () => {
  const following = { token: { sql: "last_token", values: [5n, 8n] } };
  const sets = (...after: readonly (bigint | undefined)[]) =>
    assignments(
      ["token"],
      after.map((value) => ({ before: [], after: [value] })),
      { cases: "CASE id", whens: ["WHEN 1", "WHEN 2"] },
      following,
    );

  test("is set to that one if it has that value in all rows", () => {
    expect(sets(5n, 8n)).toEqual(["token = last_token"]);
  });

  test("is set row by row if it has another value in one, or stays there", () => {
    expect(sets(5n, 9n)).toEqual(["token = CASE id WHEN 1 THEN 5 WHEN 2 THEN 9 END"]);
    expect(sets(5n, undefined)).toEqual(["token = CASE id WHEN 1 THEN 5 ELSE token END"]);
  });
});
