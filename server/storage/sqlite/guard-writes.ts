// The UPDATE of one guard row after a decision: one of a few fixed statements, with the columns that may have changed.
// Chooses only; transaction.ts runs it.

import type { Lock } from "../../core/lock.ts";
import type { RecentMap } from "../../core/recent-map.ts";
import {
  CLAIM_CHANGING_COLUMNS,
  HOLDER_COLUMNS,
  LOCK_COUNTED_COLUMNS,
  LOCK_SELDOM_COLUMNS,
} from "../rows/columns.ts";
import { type Bounds, boundsOf, type HolderMove, type Moves } from "../rows/placement.ts";
import {
  asIs,
  changingClaimValues,
  countedValues,
  holderValuesBy,
  sameSeldom,
  seldomValues,
  type Value,
} from "../rows/values.ts";
import { DECIDED_AT_STEP_US } from "../store.ts";
import { textSetsOf } from "./statements.ts";

interface GuardWrite {
  /** Under which the statement is counted. */
  readonly name: string;
  readonly sql: string;
  readonly values: (Value | string)[];
}

const setsOf = (columns: readonly string[]) => columns.map((column) => `${column} = ?`);

// The choices of each part of a statement. Each combination is one number, and so one statement.
const SELDOM = [[], setsOf(LOCK_SELDOM_COLUMNS)];
const DECIDED = [[], ["decided_at = ?"]];

const KEPT = 0;
const GONE = 1;
const RENEWED = 2;
const NEW = 3;
const HOLDER = [
  { name: "write_lock", sets: [] },
  { name: "write_lock_without_holder", sets: ["holder_state = 0"] },
  {
    name: "write_lock_and_holder",
    sets: setsOf(CLAIM_CHANGING_COLUMNS.map((column) => `holder_${column}`)),
  },
  { name: "write_lock_and_holder", sets: textSetsOf(HOLDER_COLUMNS) },
] as const;

const STAYS = 0;
const IS_SET = 1;
/** The row's bound is unknown. Values: `soonUs`, `laterUs`, and `atMostUs` twice. */
const IS_COMPARED = 2;
const BOUND = [
  [],
  ["next_deadline = ?"],
  ["next_deadline = iif(next_deadline < ?, ?, coalesce(min(next_deadline, ?), next_deadline, ?))"],
];

const made: (string | undefined)[] = [];

function sqlOf(seldom: number, decided: number, holder: number, bound: number): string {
  const at = ((seldom * 2 + decided) * 4 + holder) * 3 + bound;
  const known = made[at];
  if (known !== undefined) return known;
  const sets = [
    ...setsOf(LOCK_COUNTED_COLUMNS),
    ...[SELDOM[seldom], DECIDED[decided], HOLDER[holder]?.sets, BOUND[bound]].flatMap((part) => part ?? []),
  ];
  const sql = `UPDATE rowlock_lock SET ${sets.join(", ")} WHERE id = ?`;
  made[at] = sql;
  return sql;
}

/**
 * The two indexed times of guard rows, as this process last read or wrote them: when the lock was decided about, and the
 * bound of its deadlines, `next_deadline`. SQLite writes an index anew even if the column keeps its value, so a write
 * should not name a column that stays.
 */
export type GuardTimes = RecentMap<bigint, { readonly decidedAtUs: number; readonly boundUs: number | null }>;

/**
 * Returns how to write the guard row of a lock that was decided about, and notes its times. `old`: the lock before the decision;
 * undefined: unknown, so all columns are written. `times`: undefined if other connections may write the rows.
 */
export function guardWrite(
  lock: Lock,
  old: Lock | undefined,
  moves: Moves,
  nowUs: number,
  times: GuardTimes | undefined,
): GuardWrite {
  const { id } = lock;
  const move = moves.holders.get(id);
  const known = times?.get(id);
  const bounds = boundsOf(lock, moves, nowUs);
  const values: (Value | string)[] = countedValues(lock);

  const seldom = old && sameSeldom(old, lock) ? 0 : 1;
  if (seldom === 1) values.push(...seldomValues(lock));

  const decided = known && mayKeep(known.decidedAtUs, nowUs) ? 0 : 1;
  if (decided === 1) values.push(nowUs);

  const holder = holderChoice(move);
  if (move?.holder)
    values.push(...(holder === NEW ? holderValuesBy(asIs, move.holder) : changingClaimValues(move.holder)));

  let bound = IS_COMPARED;
  if (known) {
    const boundUs = boundAfter(known.boundUs, bounds);
    bound = boundUs === known.boundUs ? STAYS : IS_SET;
    if (bound === IS_SET) values.push(boundUs);
    if (decided === 1 || bound === IS_SET)
      times?.set(id, { decidedAtUs: decided === 1 ? nowUs : known.decidedAtUs, boundUs });
  } else values.push(bounds.soonUs, bounds.laterUs, bounds.atMostUs, bounds.atMostUs);

  values.push(id);
  const { name } = HOLDER[holder];
  return { name, sql: sqlOf(seldom, decided, holder, bound), values };
}

function holderChoice(move: HolderMove | undefined) {
  if (!move) return KEPT;
  if (!move.holder) return GONE;
  return move.isNew ? NEW : RENEWED;
}

function boundAfter(boundUs: number | null, { soonUs, laterUs, atMostUs }: Bounds): number | null {
  if (boundUs === null || atMostUs === null) return boundUs ?? atMostUs;
  if (soonUs !== null && boundUs < soonUs) return laterUs;
  return Math.min(boundUs, atMostUs);
}

/** Whether the time of the last decision may stay. One that lies ahead may not: the clock was set back since. */
function mayKeep(decidedAtUs: number, nowUs: number): boolean {
  return decidedAtUs <= nowUs && decidedAtUs > nowUs - DECIDED_AT_STEP_US;
}
