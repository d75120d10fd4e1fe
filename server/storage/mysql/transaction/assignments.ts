// Builds the SET clause of a statement that writes many rows: a column is set to one value, changed by one difference,
// follows from another column, or is set row by row. Leaves out columns that no row changes. For guard rows it also says
// which columns may have changed, given what happens to their holders. Pure.

import type { Lock } from "../../../core/lock.ts";
import type { Before } from "../../cached-locks.ts";
import {
  CLAIM_CHANGING_COLUMNS,
  HOLDER_COLUMNS,
  LOCK_COUNTED_COLUMNS,
  LOCK_SELDOM_COLUMNS,
} from "../../rows/columns.ts";
import type { HolderMove, Moves } from "../../rows/placement.ts";
import {
  asIs,
  changingClaimValues,
  countedValues,
  holderValuesBy,
  sameSeldom,
  seldomValues,
  type Value,
} from "../../rows/values.ts";
import { literal } from "../connection/sql-text.ts";

const COUNTERS: ReadonlySet<string> = new Set(LOCK_COUNTED_COLUMNS);

type Cell = Value | string | undefined;
type Cells = Cell[];

/** The values of one row before and after the decision, in the order of the columns. */
interface RowWrite {
  /** Undefined: unknown, so the column is written. */
  readonly before: readonly Cell[];
  /** Undefined: the column is not written. */
  readonly after: readonly Cell[];
}

interface Selection {
  /** Begins a CASE over the rows. */
  readonly cases: string;
  /** The part of it that selects a row, by the row's index. */
  readonly whens: readonly string[];
}

/** An expression for a column, and its value in each row after the columns that were set before it. */
interface Following {
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

/** What happens to the holder in a guard row. Each needs the columns of those before it. */
const KEPT = 0;
const GONE = 1;
const RENEWED = 2;
const NEW = 3;
export type HolderCase = typeof KEPT | typeof GONE | typeof RENEWED | typeof NEW;

export function holderCase(move: HolderMove | undefined): HolderCase {
  if (!move) return KEPT;
  if (!move.holder) return GONE;
  return move.isNew ? NEW : RENEWED;
}

/** The state of a guard row without a holder. A release leaves the other columns, so that the row keeps its size. */
const NO_STATE = 0;
const STATE = "holder_state";

const CHANGING = CLAIM_CHANGING_COLUMNS.map((column) => `holder_${column}`);
const HOLDER_PARTS: Readonly<Record<HolderCase, readonly string[]>> = {
  [KEPT]: [],
  [GONE]: [STATE],
  [RENEWED]: CHANGING,
  [NEW]: HOLDER_COLUMNS,
};
/** The columns of a statement, by the greatest change of a holder, and whether a column changes that seldom does. */
const COLUMNS = [LOCK_COUNTED_COLUMNS, [...LOCK_COUNTED_COLUMNS, ...LOCK_SELDOM_COLUMNS]].map((ofLock) =>
  Object.values(HOLDER_PARTS).map((ofHolder): readonly string[] => [...ofLock, ...ofHolder]),
);

/** Selects guard rows. MariaDB compares numbers with and without a sign as decimals, which takes long. */
export const CASE_ID = "CASE CAST(id AS SIGNED)";

/** The assignments that write the guard rows with these `ids`; none: nothing changes. Throws if one was never read. */
export function guardSets(
  locks: readonly Lock[],
  ids: readonly string[],
  { holders }: Moves,
  before: Before,
): string[] {
  let widest: HolderCase = KEPT;
  let seldom = 0;
  for (const lock of locks) {
    const move = holders.get(lock.id);
    const found = move?.holder && !move.isNew && !before.claim(move.holder) ? NEW : holderCase(move);
    if (found > widest) widest = found;
    if (!sameSeldom(oldOf(lock, before), lock)) seldom = 1;
  }
  const rows: RowWrite[] = [];
  for (const lock of locks) {
    const old = oldOf(lock, before);
    const row = { before: countedValues(old) as Cells, after: countedValues(lock) as Cells };
    if (seldom === 1) {
      row.before.push(...seldomValues(old));
      row.after.push(...seldomValues(lock));
    }
    addHolder(row, holders.get(lock.id), old, before, widest);
    rows.push(row);
  }
  const columns = COLUMNS[seldom]?.[widest] as readonly string[];
  const whens = ids.map((id) => `WHEN ${id}`);
  return assignments(columns, rows, { cases: CASE_ID, whens }, widest === NEW ? following(locks) : {});
}

function oldOf({ id }: Lock, before: Before): Lock {
  const old = before.lock(id);
  if (!old) throw new Error(`Lock ${id} was decided about but never read.`);
  return old;
}

/** Adds the values of the columns of the holder that the statement has. Columns that the row keeps are undefined. */
function addHolder(
  row: { before: Cells; after: Cells },
  move: HolderMove | undefined,
  { id, firstHolder }: Lock,
  before: Before,
  widest: HolderCase,
): void {
  if (!move) return;
  const parts = HOLDER_PARTS[widest];
  if (!move.holder) {
    const at = row.after.length + parts.indexOf(STATE);
    row.after[at] = NO_STATE;
    return;
  }
  // After a hand-over the row still has what the last holder had, which is often the same.
  const old = firstHolder === null ? undefined : before.claim({ lockId: id, ticketNumber: firstHolder });
  if (widest === NEW) {
    if (old) row.before.push(...holderValuesBy(asIs, old));
    row.after.push(...holderValuesBy(asIs, move.holder));
  } else {
    if (old) row.before.push(...changingClaimValues(old));
    row.after.push(...changingClaimValues(move.holder));
  }
}

/** What these columns are in most rows, by columns set before them: shorter than a value for each row. */
function following(locks: readonly Lock[]): Readonly<Record<string, Following>> {
  const next = locks.map(({ nextTicket }) => nextTicket);
  return {
    holder_ticket_number: { sql: "next_ticket - 1", values: next.map((ticket) => ticket - 1n) },
    holder_fencing_token: { sql: "last_token", values: locks.map(({ lastToken }) => lastToken) },
  };
}
