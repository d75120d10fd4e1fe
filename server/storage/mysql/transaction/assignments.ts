// Builds the SET clause of a statement that writes many rows: a column is set to one value, changed by one difference,
// follows from another column, or is set row by row. Leaves out columns that no row changes.

import { LOCK_COUNTED_COLUMNS } from "../../rows/columns.ts";
import type { Value } from "../../rows/values.ts";
import { literal } from "../connection/sql-text.ts";

const COUNTERS: ReadonlySet<string> = new Set(LOCK_COUNTED_COLUMNS);

type Cell = Value | string | undefined;

/** The values of one row before and after the decision, in the order of the columns. */
export interface RowWrite {
  /** Undefined: unknown, so the column is written. */
  readonly before: readonly Cell[];
  /** Undefined: the column is not written. */
  readonly after: readonly Cell[];
}

/** How the statement selects one of its rows. */
export interface Selection {
  /** Begins a CASE over the rows. */
  readonly cases: string;
  /** The part of it that selects a row, by the row's index. */
  readonly whens: readonly string[];
}

/** An expression for a column, and its value in each row after the columns that were set before it. */
export interface Following {
  readonly sql: string;
  readonly values: readonly Cell[];
}

/** Returns the assignments, in the order of the columns. `following`: expressions that may be used for columns. */
export function assignments(
  columns: readonly string[],
  rows: readonly RowWrite[],
  selection: Selection,
  following: Readonly<Record<string, Following>> = {},
): string[] {
  const sets: string[] = [];
  for (let at = 0; at < columns.length; at++) {
    const column = columns[at] as string;
    const first = firstMoved(rows, at);
    if (!first) continue;
    const value =
      sameInAll(rows, at, first) ??
      (COUNTERS.has(column) ? moved(column, rows, at, first) : null) ??
      followed(rows, at, following[column]) ??
      chosen(column, rows, at, selection);
    sets.push(`${column} = ${value}`);
  }
  return sets;
}

function firstMoved(rows: readonly RowWrite[], at: number): RowWrite | null {
  for (const row of rows) if (isMoved(row, at)) return row;
  return null;
}

function isMoved({ before, after }: RowWrite, at: number): boolean {
  return after[at] !== undefined && !isSame(before[at], after[at]);
}

function isSame(a: Cell, b: Cell): boolean {
  return a === b || (Buffer.isBuffer(a) && Buffer.isBuffer(b) && a.equals(b));
}

function sameInAll(rows: readonly RowWrite[], at: number, { after }: RowWrite): string | null {
  const value = after[at] as Value | string;
  for (const row of rows) if (!isSame(row.after[at], value)) return null;
  return literal(value);
}

function moved(column: string, rows: readonly RowWrite[], at: number, first: RowWrite): string | null {
  const difference = differenceAt(first, at);
  for (const row of rows) if (differenceAt(row, at) !== difference) return null;
  return `${column} + ${difference}`;
}

function differenceAt({ before, after }: RowWrite, at: number): bigint | number {
  const [from, to] = [before[at], after[at]];
  return typeof to === "bigint" ? to - (from as bigint) : (to as number) - (from as number);
}

function followed(rows: readonly RowWrite[], at: number, following: Following | undefined): string | null {
  if (!following) return null;
  const { sql, values } = following;
  for (let row = 0; row < rows.length; row++) if (rows[row]?.after[at] !== values[row]) return null;
  return sql;
}

function chosen(column: string, rows: readonly RowWrite[], at: number, { cases, whens }: Selection): string {
  let sql = cases;
  let areAll = true;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as RowWrite;
    if (isMoved(row, at)) sql += ` ${whens[index]} THEN ${literal(row.after[at] as Value | string)}`;
    else areAll = false;
  }
  return areAll ? `${sql} END` : `${sql} ELSE ${column} END`;
}
