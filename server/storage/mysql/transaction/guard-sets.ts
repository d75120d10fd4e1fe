// The SET of the statement that writes guard rows: which columns may have changed, given what happens to their holders, and
// their values before and after. The statement leaves out those that did not change (`assignments.ts`). Pure.

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
import { assignments, type Following, type RowWrite } from "./assignments.ts";

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

type Cells = (Value | string | undefined)[];

/**
 * The assignments that write these guard rows; none: nothing changes. Throws if one of them was never read.
 *
 * @param ids of the guard rows, as text.
 */
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

/**
 * What these columns are in most rows, by columns that are set before them: the database assigns from left to right. An
 * expression is shorter than a value for each row.
 */
function following(locks: readonly Lock[]): Readonly<Record<string, Following>> {
  const next = locks.map(({ nextTicket }) => nextTicket);
  return {
    holder_ticket_number: { sql: "next_ticket - 1", values: next.map((ticket) => ticket - 1n) },
    holder_fencing_token: { sql: "last_token", values: locks.map(({ lastToken }) => lastToken) },
  };
}
