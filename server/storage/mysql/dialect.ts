// The statements of `reads/` as MySQL and MariaDB read them. Runs nothing.

import type { Query } from "../reads/steps.ts";
import type { SqlValue } from "./connection/sql-text.ts";
import { type Branch, NOW_US } from "./statements.ts";

// MySQL does not turn a comparison of rows into a range of an index.
const COMPARED_ROWS = /\(([\w., ]+)\) ([<>])(=?) \((:[\w:, ]+)\)/g;

function compared(_: string, columns: string, sign: string, orEqual: string, values: string): string {
  const names = values.split(", ");
  const parts = columns.split(", ").map((column, at, all) => {
    const same = all.slice(0, at).map((other, index) => `${other} = ${names[index]} AND `);
    return `${same.join("")}${column} ${sign}${at === all.length - 1 ? orEqual : ""} ${names[at]}`;
  });
  return `(${parts.map((part) => `(${part})`).join(" OR ")})`;
}

/** A text with question marks, and the names of their values. */
type Positional = readonly [text: string, names: readonly string[]];

/** By the texts in `reads/`, which are constants. */
const known = new Map<string, Positional>();

function positional(sql: string): Positional {
  const before = known.get(sql);
  if (before) return before;
  const names: string[] = [];
  const text = sql
    .replace(COMPARED_ROWS, compared)
    .replace(/:(now|past)\b/g, NOW_US)
    .replace(/:(\w+)/g, (_, name) => {
      names.push(name);
      return "?";
    });
  known.set(sql, [text, names]);
  return [text, names];
}

function branchOf([sql, values = {}]: Query): Branch {
  const [text, names] = positional(sql);
  const inOrder = names.map((name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`There is no value for ${name}: ${sql}`);
    return value as SqlValue;
  });
  return [text, ...inOrder];
}

/** One statement that returns the rows of all these queries. */
export function statementOf(queries: readonly Query[]): Branch {
  const branches = queries.map(branchOf);
  const [first] = branches;
  if (first && branches.length === 1) return first;
  const sql = branches.map(([text]) => `(${text})`).join(" UNION ALL ");
  return [sql, ...branches.flatMap(([, ...values]) => values)];
}
