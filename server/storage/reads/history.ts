// Ended claims and changes: reads for display. Each goes along an index and reads about as many rows as it returns.

import { CLAIM_ROW_LENGTH, HISTORY_LIST } from "../rows/columns.ts";
import { bigintOf, claimFromRow, textOf } from "../rows/from-rows.ts";
import { CHANGE_COLUMNS, changeFromRow } from "../rows/kept-changes.ts";
import { bytesOf } from "../rows/values.ts";
import type { ChangePosition, EndedClaim, EndedPosition, Store } from "../store.ts";
import { BY_END, byEnd, Classes, HIGHEST } from "./ended-order.ts";
import { type Query, type Runner, rowsOf, type Steps } from "./steps.ts";

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

/**
 * Tickets are numbered in the order of the requests, but servers know the clock only within bounds, so the times of
 * neighbours may be this much out of order.
 */
const OUT_OF_ORDER_US = 1_000_000;

export function history(on: Runner) {
  const classes = new Classes();
  return {
    async endedClaims(from, max) {
      const { endedAtUs, lockId, ticketNumber } = from ?? NEWEST;
      const values = { endedAtUs, lockId, ticketNumber, max };
      const rows = await on.read(
        classes.rows("ended_claims", (keptForS) => [ENDED_BEFORE, { keptForS, ...values }]),
      );
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
      const queries = targets
        ? [...new Set(targets)].map(
            (name): Query => [CHANGES_OF_TARGET, { target: bytesOf(name), ...position }],
          )
        : [[CHANGES, position] as const];
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
