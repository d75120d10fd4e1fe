// What each database reads instead of the forms in which it would read a statement differently, or too slowly. That the
// statements then find the same rows is in the contract suite.

import { describe, expect, test } from "vitest";
import { withValues } from "../../../server/storage/mysql/connection/sql-text.ts";
import { statementOf } from "../../../server/storage/mysql/steps.ts";
import type { Query } from "../../../server/storage/reads/steps.ts";
import { textOf, valuesOf } from "../../../server/storage/sqlite/dialect.ts";

describe("on MySQL", () => {
  const sent = (...queries: Query[]) => {
    const [sql, ...values] = statementOf(queries);
    return withValues(sql, values);
  };

  test("a position in an index is a range, of several columns", () => {
    expect(sent(["WHERE (a, t.b, c) <= (:x, :y, :z)", { x: 1, y: 2n, z: 3 }])).toBe(
      "WHERE ((a < 1) OR (a = 1 AND t.b < 2) OR (a = 1 AND t.b = 2 AND c <= 3))",
    );
    expect(sent(["WHERE (a, b) > (:x, :x)", { x: 1 }])).toBe("WHERE ((a > 1) OR (a = 1 AND b > 1))");
  });

  test("values are put where their names are, however often, and none is forgotten", () => {
    const values = { list: [1, 2n], pairs: [[1n, 2n]], bytes: Buffer.from("a?:b") };
    expect(sent(["a IN (:list) AND (b, c) IN (:pairs) OR :bytes = :bytes", values])).toBe(
      "a IN (1,2) AND (b, c) IN ((1,2)) OR X'613f3a62' = X'613f3a62'",
    );
    expect(() => sent(["a = :a"])).toThrow("There is no value for a");
  });

  test("several queries are one statement, and the clock is the database's", () => {
    const sql = sent(["SELECT :now LIMIT :max", { max: 1 }], ["SELECT :past LIMIT :max", { max: 2 }]);
    expect(sql).toMatch(
      /^\(SELECT CAST\((.*) AS SIGNED\) LIMIT 1\) UNION ALL \(SELECT CAST\(\1 AS SIGNED\) LIMIT 2\)$/,
    );
  });
});

describe("on SQLite", () => {
  test("indexes are named as it names them, and the order of a join and a limit stay as they are written", () => {
    expect(
      textOf(
        "t FORCE INDEX (PRIMARY) STRAIGHT_JOIN u FORCE INDEX (u_a) ON LEAST(a, GREATEST(b, 1)) LIMIT :max",
      ),
    ).toBe("t  CROSS JOIN u INDEXED BY u_a ON min(a, max(b, 1)) LIMIT (:max + 0)");
  });

  test("a DELETE names one table", () => {
    const sql =
      "DELETE h FROM t h FORCE INDEX (PRIMARY)\n LEFT JOIN u r ON r.a = h.a\n WHERE (h.a, h.b) < (:a, :b)";
    expect(textOf(sql)).toBe("DELETE FROM t AS h WHERE (h.a, h.b) < (:a, :b)");
  });

  test("a list is one value, and only the clocks that are read are given", () => {
    const sql = "a IN (:list) AND (b, c) IN (:pairs) AND :now > :nowhere";
    expect(textOf(sql)).toContain("a IN (SELECT iif(");
    expect(textOf(sql)).toContain("(b, c) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:pairs))");
    const values = { list: [Buffer.from("a"), 2n ** 63n - 1n], pairs: [[1n, 2n]], nowhere: 4 };
    expect(valuesOf([sql, values], { now: 5, past: 6 })).toEqual({
      list: '["61",9223372036854775807]',
      pairs: "[[1,2]]",
      nowhere: 4,
      now: 5,
    });
  });
});
