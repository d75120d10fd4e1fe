// The statements of `reads/` as SQLite reads them, and how it runs their steps: one after the other, without other work
// of this process between them, except after a step that is a pause.

import type { SQLInputValue } from "node:sqlite";
import { setImmediate as otherWork } from "node:timers/promises";
import type { Query, Runner, Step, Steps, StepValue } from "../reads/steps.ts";
import type { Row } from "../rows/from-rows.ts";
import { LIST_SCAN_MAX, PURGE_SLICE } from "../storage-bounds.ts";
import type { SqliteHandle } from "./handle.ts";

// A list is a JSON array, so that one prepared statement serves every length. Bytes in it are hexadecimal digits.
const IN_LIST = (name: string) =>
  `IN (SELECT iif(typeof(value) = 'text', unhex(value), value) FROM json_each(${name}))`;
const RULES: readonly (readonly [RegExp, string])[] = [
  // A join in a DELETE serves the optimizer of MySQL alone.
  [/^DELETE (\w+) FROM (\w+) \1 [\s\S]*?WHERE/, "DELETE FROM $2 AS $1 WHERE"],
  [/\bFORCE INDEX \((PRIMARY|rowlock_lock_name)\)/g, ""],
  [/\bFORCE INDEX \((\w+)\)/g, "INDEXED BY $1"],
  [/\bSTRAIGHT_JOIN\b/g, "CROSS JOIN"],
  [/\bGREATEST\(/g, "max("],
  [/\bLEAST\(/g, "min("],
  [/(\([\w.]+, [\w.]+\)) IN \((:\w+)\)/g, "$1 IN (SELECT value ->> 0, value ->> 1 FROM json_each($2))"],
  [/\bIN \((:\w+)\)/g, IN_LIST("$1")],
  // SQLite recompiles a statement for each value of a bare parameter there.
  [/\bLIMIT (:\w+)/g, "LIMIT ($1 + 0)"],
];

/** By the texts in `reads/`, which are constants. */
const known = new Map<string, string>();

export function textOf(sql: string): string {
  let text = known.get(sql);
  if (text === undefined) {
    text = RULES.reduce((before, [form, instead]) => before.replace(form, instead), sql);
    known.set(sql, text);
  }
  return text;
}

/** The values of a query, with the clocks that its text names. */
export function valuesOf(
  [sql, values = {}]: Query,
  clocks: { readonly now: number; readonly past: number },
): Record<string, SQLInputValue> {
  const given: Record<string, SQLInputValue> = {};
  for (const name in values) given[name] = inputOf(values[name] as StepValue);
  if (/:now\b/.test(sql)) given.now = clocks.now;
  if (/:past\b/.test(sql)) given.past = clocks.past;
  return given;
}

function inputOf(value: StepValue): SQLInputValue {
  return Array.isArray(value) ? listText(value) : (value as SQLInputValue);
}

function listText(list: readonly StepValue[]): string {
  const texts = list.map((value) => {
    if (Buffer.isBuffer(value)) return `"${value.toString("hex")}"`;
    return Array.isArray(value) ? listText(value) : value;
  });
  return `[${texts.join(",")}]`;
}

export function stepsOn(handle: SqliteHandle): Runner {
  const { statements } = handle;
  const perform = ({ name, lists, isWrite }: Step): readonly (readonly Row[])[] =>
    lists.map((queries) => {
      const nowUs = handle.nowUs();
      const clocks = { now: nowUs, past: nowUs - handle.coarseUs };
      return queries.flatMap((query) => {
        const text = textOf(query[0]);
        const values = valuesOf(query, clocks);
        return isWrite ? [[statements.write(name, text, [values])]] : statements.read(name, text, [values]);
      });
    });
  const run = async <Answer>(steps: Steps<Answer>): Promise<Answer> => {
    let at = steps.next();
    while (!at.done) {
      const { isPause } = at.value;
      at = steps.next(perform(at.value));
      if (isPause) await otherWork();
    }
    return at.value;
  };
  return {
    read: run,
    write: async (steps) =>
      handle.inTransaction(() => {
        let at = steps.next();
        while (!at.done) at = steps.next(perform(at.value));
        return at.value;
      }),
    snapshot: (steps) => run(steps()),
    count: async (table) =>
      table === "rowlock_history" ? handle.endedCount : Number(statements.get("count_changes")?.[0]),
    removedEnded: (claims) => handle.countEnded(-claims),
    clock: null,
    scanMax: LIST_SCAN_MAX,
    sliceMax: PURGE_SLICE,
  };
}
