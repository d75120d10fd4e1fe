// The checks of all rows, without a database: how much they read, where they end, and which rows turn out not to be
// damaged.

import { describe, expect, test } from "vitest";
import { checkRows } from "../../../server/storage/reads/invariants.ts";
import type { Query, StepValue } from "../../../server/storage/reads/steps.ts";
import type { Row } from "../../../server/storage/rows/from-rows.ts";
import { CHECK_PAGE } from "../../../server/storage/storage-bounds.ts";

type Rows = readonly Row[];
interface Asked {
  readonly name: string;
  readonly sql: string;
  readonly values: readonly StepValue[];
}

const NOW_US = 5_000_000;
const bytes = (text: string) => Buffer.from(text);

/** Runs the checks over the test's answers; returns the queries and the findings. */
function checked(answer: (asked: Asked) => Rows | undefined, max = 100) {
  const asked: Asked[] = [];
  const run = checkRows(NOW_US, max);
  let step = run.next();
  while (!step.done) {
    const { name, lists } = step.value;
    const [[sql, values = {}]] = lists[0] as [Query];
    const query = { name, sql, values: Object.values(values) };
    asked.push(query);
    step = run.next([answer(query) ?? []]);
  }
  return {
    asked,
    findings: step.value,
    found: step.value.map(({ severity, check }) => `${severity} ${check}`),
  };
}
const named = (name: string, rows: Rows) => (asked: Asked) => (asked.name === name ? rows : undefined);
type Columns = Readonly<Record<string, Row[number]>>;
/** What is read of a guard row behind its name, in order. */
const GUARD: Columns = {
  ...{ limit_value: null, limit_version: "0", limit_reason: bytes(""), next_ticket: "1", last_token: "0" },
  ...{ held_permits: 0, shared_holders: 0, exclusive_holders: 0, holders: 0, waiting: 0, waiting_permits: 0 },
  ...{ revision: "0", has_record: 0, change_mark: "0", record_floor: "0" },
  first_holder: null,
};
const guard = (id: number, more: Columns = {}): Row => [
  ...[`${id}`, bytes(`lock ${id}`)],
  ...Object.values({ ...GUARD, ...more }),
];
const rule = (prefix: string, limit: number | null): Row => [bytes(prefix), limit, "1", bytes(""), "0"];

describe("the check of all rows", () => {
  test("requests no more than it may find, and nothing more when it has found that", () => {
    const row = [bytes("lock 1"), 1, 2, 3];
    let answered = 0;
    const { asked, findings } = checked(({ name }) => {
      if (name !== "check_overlap" && name !== "check_tokens") return undefined;
      answered += 1;
      return answered === 1 ? [row, row] : [row];
    }, 3);
    expect(findings).toHaveLength(3);
    const limits = asked.map(({ sql }) => /LIMIT (\d+)$/.exec(sql)?.[1]);
    expect(limits.slice(0, 2)).toEqual(["3", "3"]);
    expect(limits.at(-1)).toBe("1");
    expect(asked.at(-1)?.name).toBe("check_tokens");
  });

  test("names wrong counters, and their right values", () => {
    // Held permits, shared and exclusive holders, all holders, waiters and their permits: each as stored, then as counted.
    const counters = [3, "3", 0, "0", 0, "0", 1n, "2", 0, 4, 0, "0"];
    const { findings } = checked(named("check_counters", [[bytes('a "lock"'), ...counters]]));
    expect(findings).toMatchObject([{ severity: "error", check: "counters" }]);
    const [{ message } = { message: "" }] = findings;
    expect(message).toContain('"a \\"lock\\""');
    expect(message).toContain("holders is 1 and should be 2");
    expect(message).toContain("waiting is 0 and should be 4");
    expect(message).not.toContain("held_permits");
  });

  test("reports how long grants are paused after a fail-over, which is no damage", () => {
    const { asked, findings } = checked(named("check_fail_over", [[NOW_US + 2_000_001]]));
    expect(findings).toMatchObject([
      { severity: "warning", check: "fail_over", message: expect.stringContaining("for another 3 s") },
    ]);
    expect(asked.find(({ name }) => name === "check_fail_over")?.values).toEqual([NOW_US]);
    expect(checked(named("check_fail_over", [[NOW_US + 1]]), 0).findings).toEqual([]);
  });
});

describe("more permits than a limit are", () => {
  const over = (rows: Rows, rules: Rows) =>
    checked((asked) => named("check_over_limit", rows)(asked) ?? named("check_rules", rules)(asked));

  test("a warning if they are held above the limit in force, of the lock itself or of a pattern", () => {
    const { findings } = over(
      [
        guard(1, { held_permits: 3, limit_value: 2 }),
        guard(2, { held_permits: "6" }),
        guard(3, { held_permits: 5 }),
      ],
      [rule("lock", 5), rule("other", 1)],
    );
    expect(findings.map(({ severity, check }) => [severity, check])).toEqual([
      ["warning", "over_limit"],
      ["warning", "over_limit"],
    ]);
    expect(findings[0]?.message).toContain('"lock 1" has 3 permits held, and its limit is 2');
    expect(findings[1]?.message).toContain('"lock 2" has 6 permits held, and its limit is 5');
  });

  test("nothing if a pattern without a limit leaves one permit to each lock", () => {
    expect(over([guard(1, { held_permits: 1 })], [rule("lock", null)]).findings).toEqual([]);
  });
});

describe("many rows are read in pages", () => {
  const pages = (count: number, max: number) => {
    const afters: unknown[] = [];
    const { findings } = checked(({ name, values }) => {
      if (name !== "check_over_limit") return undefined;
      const [after] = values;
      afters.push(after);
      const left = count - Number(after);
      return Array.from({ length: Math.min(left, CHECK_PAGE) }, (_, row) =>
        guard(Number(after) + row + 1, { held_permits: 9 }),
      );
    }, max);
    return { afters, found: findings.length };
  };

  test("each behind the last row of the previous one, until one is not full", () => {
    expect(pages(CHECK_PAGE - 1, 10_000)).toEqual({ afters: [0n], found: CHECK_PAGE - 1 });
    expect(pages(2 * CHECK_PAGE, 10_000)).toEqual({
      afters: [0n, BigInt(CHECK_PAGE), 2n * BigInt(CHECK_PAGE)],
      found: 2 * CHECK_PAGE,
    });
  });

  test("and no further than it may find", () => {
    expect(pages(3 * CHECK_PAGE, 5)).toEqual({ afters: [0n], found: 5 });
  });
});
