// Builds the SET clause of a statement that writes many rows: a column is set to one value, changed by one difference,
// or set row by row. Leaves out columns that no row changes.

import { LOCK_COUNTED_COLUMNS } from "../../rows/columns.ts";
import type { Value } from "../../rows/values.ts";
import type { SqlValue } from "../connection/sql-text.ts";

const COUNTERS: ReadonlySet<string> = new Set(LOCK_COUNTED_COLUMNS);

/** The values of one row before and after the decision, in the order of the columns. */
export interface RowWrite {
  /** Undefined: unknown, so the column is written. */
  readonly before: readonly (Value | undefined)[];
  /** Undefined: the column is not written. */
  readonly after: readonly (Value | undefined)[];
}

/** The part of a CASE that selects one row of the statement. */
export type Arm = readonly [sql: string, ...values: SqlValue[]];

/** Returns the assignments and their values. `arm` selects a row by its index; `cases` begins a CASE over rows. */
export function assignments(
  columns: readonly string[],
  rows: readonly RowWrite[],
  arm: (index: number) => Arm,
  cases: string,
): { sets: string[]; values: SqlValue[] } {
  const sets: string[] = [];
  const values: SqlValue[] = [];
  columns.forEach((column, at) => {
    const first = rows.find((row) => isMoved(row, at));
    if (!first) return;
    const value = first.after[at] as Value;
    const difference = COUNTERS.has(column) ? differenceAt(first, at) : null;
    if (rows.every(({ after }) => isSame(after[at], value))) {
      sets.push(`${column} = ?`);
      values.push(value);
    } else if (difference !== null && rows.every((row) => differenceAt(row, at) === difference)) {
      sets.push(`${column} = ${column} + ?`);
      values.push(difference);
    } else {
      const arms = rows.flatMap((row, index) => {
        if (!isMoved(row, at)) return [];
        const [sql, ...selecting] = arm(index);
        values.push(...selecting, row.after[at] as Value);
        return [`${sql} THEN ?`];
      });
      const others = arms.length < rows.length ? `ELSE ${column}` : "";
      sets.push(`${column} = ${cases} ${arms.join(" ")} ${others} END`);
    }
  });
  return { sets, values };
}

function isMoved({ before, after }: RowWrite, at: number): boolean {
  return after[at] !== undefined && !isSame(before[at], after[at]);
}

function isSame(a: RowWrite["after"][number], b: RowWrite["after"][number]): boolean {
  return a === b || (Buffer.isBuffer(a) && Buffer.isBuffer(b) && a.equals(b));
}

function differenceAt(row: RowWrite, at: number): bigint {
  return BigInt(row.after[at] as number | bigint) - BigInt(row.before[at] as number | bigint);
}
