// Ended claims and changes: reads for display. Each goes along an index and reads about as many rows as it returns.
//
// The primary key of rowlock_history has ended claims by the time for which they are kept (`kept_for`, in seconds) and then
// by their ends. So what may be deleted is one range for each of these times, and a read of all of them, newest first, merges
// one range for each. There are only a few: one for each class of names.

import { CLAIM_ROW_LENGTH, HISTORY_LIST } from "../rows/columns.ts";
import { bigintOf, claimFromRow, type Row, textOf } from "../rows/from-rows.ts";
import { CHANGE_COLUMNS, changeFromRow } from "../rows/kept-changes.ts";
import { bytesOf } from "../rows/values.ts";
import type { ChangePosition, EndedClaim, EndedPosition, Store } from "../store.ts";
import { type Query, type Runner, rowsOf, type Steps } from "./steps.ts";

export const BY_END = "rowlock_history h FORCE INDEX (PRIMARY)";

/** Above all numbers of claims and changes. */
export const HIGHEST = 2n ** 63n - 1n;

// One step along the index: for a number as the bound, the database reads a single entry. MariaDB takes `> -1` for `> 0`.
const NEXT_CLASS = `SELECT MIN(h.kept_for) FROM ${BY_END} WHERE h.kept_for >= :from`;

export function byEnd(a: EndedPosition, b: EndedPosition): number {
  if (a.endedAtUs !== b.endedAtUs) return a.endedAtUs - b.endedAtUs;
  if (a.lockId !== b.lockId) return a.lockId < b.lockId ? -1 : 1;
  return a.ticketNumber < b.ticketNumber ? -1 : 1;
}

/** The times for which ended claims are kept, as far as there are any. */
export class Classes {
  #seen: readonly number[] = [];

  /** Reads the next one after each that was there last time. If these are the same, there are no others. */
  *read(): Steps<readonly number[]> {
    for (;;) {
      const queries = [-1, ...this.#seen].map((keptForS): Query => [NEXT_CLASS, { from: keptForS + 1 }]);
      const rows = yield* rowsOf("history_classes", ...queries);
      const next = new Set(rows.flatMap(([keptFor = null]) => (keptFor === null ? [] : [Number(keptFor)])));
      const isSame = next.size === this.#seen.length && this.#seen.every((keptForS) => next.has(keptForS));
      if (isSame) return this.#seen;
      this.#seen = [...next].sort((a, b) => a - b);
    }
  }

  *rows(name: string, queryOf: (keptForS: number) => Query): Steps<readonly Row[]> {
    return yield* rowsOf(name, ...(yield* this.read()).map(queryOf));
  }
}

const NEWEST: EndedPosition = { endedAtUs: Number.MAX_SAFE_INTEGER, lockId: HIGHEST, ticketNumber: HIGHEST };
const NEWEST_CHANGE: ChangePosition = { atUs: Number.MAX_SAFE_INTEGER, id: HIGHEST };

const ENDED_BEFORE = `SELECT ${HISTORY_LIST}, l.name
  FROM ${BY_END} STRAIGHT_JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = h.lock_id
  WHERE h.kept_for = :keptForS AND (h.ended_at, h.lock_id, h.ticket_number) < (:endedAtUs, :lockId, :ticketNumber)
  ORDER BY h.ended_at DESC, h.lock_id DESC, h.ticket_number DESC LIMIT :max`;
const OF_LOCK = "FROM rowlock_history h FORCE INDEX (rowlock_history_claim) WHERE h.lock_id = :lockId";
const ENDED_OF_LOCK = `SELECT ${HISTORY_LIST} ${OF_LOCK} AND h.ticket_number < :below
  ORDER BY h.ticket_number DESC LIMIT :max`;
const REQUESTED_LAST = `SELECT h.ticket_number, h.requested_at ${OF_LOCK} ORDER BY h.ticket_number DESC LIMIT 1`;
const REQUESTED_FROM = `SELECT h.ticket_number, h.requested_at ${OF_LOCK} AND h.ticket_number >= :from
  ORDER BY h.ticket_number LIMIT 1`;
const BEFORE = "(changed_at, id) < (:atUs, :id) ORDER BY changed_at DESC, id DESC LIMIT :max";
const CHANGES = `SELECT ${CHANGE_COLUMNS} FROM rowlock_change FORCE INDEX (PRIMARY) WHERE ${BEFORE}`;
const CHANGES_OF_TARGET = `SELECT ${CHANGE_COLUMNS} FROM rowlock_change FORCE INDEX (rowlock_change_target)
  WHERE target = :target AND ${BEFORE}`;

/** Tickets are in the order of the requests, but servers know the clock only within bounds: their times may differ so much. */
const OUT_OF_ORDER_US = 1_000_000;

export function history(on: Runner) {
  const classes = new Classes();
  return {
    async endedClaims(from, max) {
      const { endedAtUs, lockId, ticketNumber } = from ?? NEWEST;
      const ofClass = (keptForS: number): Query => [
        ENDED_BEFORE,
        { keptForS, endedAtUs, lockId, ticketNumber, max },
      ];
      const rows = await on.read(classes.rows("ended_claims", ofClass));
      const ended = rows.map((row) => ({
        claim: claimFromRow(row),
        lockName: textOf(row[CLAIM_ROW_LENGTH]),
      }));
      return ended.sort((a, b) => byEnd(positionOf(b), positionOf(a))).slice(0, max);
    },

    async endedClaimsOf(lockId, belowTicket, max) {
      const values = { lockId, below: belowTicket ?? HIGHEST, max };
      return (await on.read(rowsOf("ended_of_lock", [ENDED_OF_LOCK, values]))).map(claimFromRow);
    },

    ticketAfter: (lockId, atUs) => on.read(ticketAfter(lockId, atUs + OUT_OF_ORDER_US)),

    async changes(targets, before, max) {
      const { atUs, id } = before ?? NEWEST_CHANGE;
      const position = { atUs, id, max };
      const ofTarget = (name: string): Query => [CHANGES_OF_TARGET, { target: bytesOf(name), ...position }];
      const queries = targets ? [...new Set(targets)].map(ofTarget) : [[CHANGES, position] as const];
      const changes = (await on.read(rowsOf("changes", ...queries))).map(changeFromRow);
      return changes.sort((a, b) => b.atUs - a.atUs || (a.id < b.id ? 1 : -1)).slice(0, max);
    },
  } satisfies Partial<Store>;
}

function positionOf({ claim }: EndedClaim): EndedPosition {
  return { ...claim, endedAtUs: claim.endedAtUs as number };
}

/** Halves the range of ticket numbers until it has found the first claim that was requested after `atUs`. */
function* ticketAfter(lockId: bigint, atUs: number): Steps<bigint> {
  const [last] = yield* rowsOf("search_ticket", [REQUESTED_LAST, { lockId }]);
  if (!last) return 0n;
  // No claim below `low` was requested later, and each one from `high` on was.
  let low = 0n;
  let high = bigintOf(last[0]);
  if (Number(last[1]) <= atUs) return high + 1n;
  while (low < high) {
    const from = (low + high) / 2n;
    const [found] = yield* rowsOf("search_ticket", [REQUESTED_FROM, { lockId, from }]);
    if (!found || bigintOf(found[0]) >= high || Number(found[1]) > atUs) high = from;
    else low = bigintOf(found[0]) + 1n;
  }
  return low;
}
