// Ended claims: reads for display, and cleaning. Each read goes along an index and reads about as many rows as it
// returns.

import { setImmediate as otherWork } from "node:timers/promises";
import { partsOf } from "../../core/bounds.ts";
import { HISTORY_LIST } from "../rows/columns.ts";
import {
  ENDED_KEY_LIST,
  type EndedKey,
  endedKeyFromRow,
  endedUntil,
  forgetStep,
  historyFromRow,
  newestEnded,
  oldestByClass,
  requestedFromRow,
  requestsOfClients,
  searchTicket,
} from "../rows/ended-order.ts";
import { claimFromRow, endedClaimFromRow } from "../rows/from-rows.ts";
import { bytesOf } from "../rows/values.ts";
import { NAMES_MAX } from "../storage-bounds.ts";
import type { EndedPosition, Store } from "../store.ts";
import { type Query, type Runner, rowsOf, type Steps, timed, written } from "./steps.ts";

/** Above all numbers of claims, and after all times. */
export const HIGHEST = 2n ** 63n - 1n;
const NEWEST: EndedPosition = { endedAtUs: Number.MAX_SAFE_INTEGER, lockId: HIGHEST, ticketNumber: HIGHEST };

const BY_END = "rowlock_history h FORCE INDEX (PRIMARY)";
const BY_CLAIM = "rowlock_history h FORCE INDEX (rowlock_history_claim)";
const OF_LOCK = `SELECT ${HISTORY_LIST} FROM ${BY_CLAIM} WHERE h.lock_id = :lockId AND h.ticket_number < :below
  ORDER BY h.ticket_number DESC LIMIT :max`;
const REQUESTED = `SELECT h.ticket_number, h.requested_at FROM ${BY_CLAIM} WHERE h.lock_id = :lockId`;
const REQUESTED_LAST = `${REQUESTED} ORDER BY h.ticket_number DESC LIMIT 1`;
const REQUESTED_FROM = `${REQUESTED} AND h.ticket_number >= :from ORDER BY h.ticket_number LIMIT 1`;

// One step along the index: for a number as the bound, the database reads a single entry. MariaDB takes `> -1` for `> 0`.
const NEXT_CLASS = `SELECT MIN(h.kept_for) FROM ${BY_END} WHERE h.kept_for >= :from`;
const KEYS = `SELECT ${ENDED_KEY_LIST} FROM ${BY_END} WHERE h.kept_for = :keptForS`;
const OLDEST = "ORDER BY ended_at, lock_id, ticket_number LIMIT :max";
const OVERDUE = `${KEYS} AND h.ended_at <= LEAST(:untilUs, :now) - :keptForUs ${OLDEST}`;
const OLD = `${KEYS} AND h.ended_at < :untilUs ${OLDEST}`;
const FIRST = `${KEYS} ${OLDEST}`;
const ENDED_FROM = `${KEYS} AND h.ended_at >= :fromUs AND h.ended_at <= :untilUs ${OLDEST}`;
const ENDED_BEFORE = `SELECT ${HISTORY_LIST}, l.name
  FROM ${BY_END} STRAIGHT_JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = h.lock_id
  WHERE h.kept_for = :keptForS AND (h.ended_at, h.lock_id, h.ticket_number) < (:endedAtUs, :lockId, :ticketNumber)
  ORDER BY h.ended_at DESC, h.lock_id DESC, h.ticket_number DESC LIMIT :max`;
const REQUESTS_OF = `SELECT h.request_id, h.lock_id, h.ticket_number FROM ${BY_END} WHERE h.kept_for = :keptForS`;
const REQUESTS_BETWEEN = `${REQUESTS_OF} AND h.ended_at BETWEEN :fromUs AND :untilUs`;
// A later claim may have the request id by now.
const FORGET = `DELETE r FROM rowlock_request r FORCE INDEX (PRIMARY)
  WHERE r.request_key IN (:keys) AND (r.lock_id, r.ticket_number) IN (:claims)`;
const KEPT_BY = "SELECT kept_by FROM rowlock_meta WHERE id = 1";
const NOTE_KEPT_BY = `UPDATE rowlock_meta SET kept_by = :settings, claims_from = GREATEST(claims_from, :now),
  changes_from = GREATEST(changes_from, :now) WHERE id = 1`;
const HISTORY_FROM = `SELECT GREATEST(claims_from, failed_over_at), GREATEST(changes_from, failed_over_at)
  FROM rowlock_meta WHERE id = 1`;
const RAISE_CLAIMS_FROM = "UPDATE rowlock_meta SET claims_from = GREATEST(claims_from, :fromUs) WHERE id = 1";
// One range of the primary key, to which no server adds.
const UP_TO = "(h.ended_at, h.lock_id, h.ticket_number) <= (:endedAtUs, :lockId, :ticketNumber)";
const REQUESTS_UP_TO = `${REQUESTS_OF} AND ${UP_TO}`;
// The join finds nothing, as no secret is a key. Without a second table MySQL (9.7) reads the whole index for a DELETE, and
// waits for rows that others are adding far behind the range.
const REMOVE = `DELETE h FROM ${BY_END}
  LEFT JOIN rowlock_request r FORCE INDEX (PRIMARY) ON r.request_key = h.secret AND r.lock_id = h.lock_id
  WHERE h.kept_for = :keptForS AND ${UP_TO}`;

export function history(on: Runner) {
  const classes = new Classes();

  function* ofEachClass(name: string, queryOf: (keptForS: number) => Query) {
    return yield* rowsOf(name, ...(yield* classes.read()).map(queryOf));
  }

  /** Deletes the oldest of the claims that the queries find; returns how many. */
  async function removeOldest(
    queryOf: (keptForS: number, max: number) => Query,
    max: number,
    raisesFrom = false,
  ): Promise<number> {
    for (let removed = 0; ; await otherWork()) {
      const slice = Math.min(max - removed, on.sliceMax);
      const removedNow = await on.write(
        removeSlice((keptForS) => queryOf(keptForS, slice), slice, raisesFrom),
      );
      on.removedEnded(removedNow);
      removed += removedNow;
      if (removedNow < slice || removed === max) return removed;
    }
  }

  function* removeSlice(
    queryOf: (keptForS: number) => Query,
    max: number,
    raisesFrom: boolean,
  ): Steps<number> {
    const keys = (yield* ofEachClass("ended_keys", queryOf)).map(endedKeyFromRow);
    const lasts = [...oldestByClass(keys, max).values()].map((ofClass) => ofClass.at(-1) as EndedKey);
    // First, so that a server that dies between the two has not promised what is gone.
    if (raisesFrom && lasts.length > 0) {
      const fromUs = Math.max(...lasts.map(({ endedAtUs }) => endedAtUs)) + 1;
      yield* written("raise_claims_from", RAISE_CLAIMS_FROM, { fromUs });
    }
    for (const { keptForS, endedAtUs, lockId, ticketNumber } of lasts) {
      const upTo = { keptForS, endedAtUs, lockId, ticketNumber };
      yield* forget([REQUESTS_UP_TO, upTo]);
      yield* written("purge_claims", REMOVE, upTo);
    }
    return Math.min(keys.length, max);
  }

  return {
    async endedClaimsOf(lockId, belowTicket, max) {
      const values = { lockId, below: belowTicket ?? HIGHEST, max };
      return (await on.read(rowsOf("ended_of_lock", [OF_LOCK, values]))).map(claimFromRow);
    },

    async ticketAfter(lockId, atUs) {
      const one = async (sql: string, values: Query[1]) => {
        const [row] = await on.read(rowsOf("search_ticket", [sql, { lockId, ...values }]));
        return row ? requestedFromRow(row) : null;
      };
      return await searchTicket(await one(REQUESTED_LAST, {}), (from) => one(REQUESTED_FROM, { from }), atUs);
    },

    async endedClaims(from, max) {
      const { endedAtUs, lockId, ticketNumber } = from ?? NEWEST;
      const values = { endedAtUs, lockId, ticketNumber, max };
      const queryOf = (keptForS: number): Query => [ENDED_BEFORE, { keptForS, ...values }];
      const rows = await on.read(ofEachClass("ended_claims", queryOf));
      return newestEnded(rows.map(endedClaimFromRow), max);
    },

    async historyStats() {
      const queries = (await on.read(classes.read())).map((keptForS): Query => [FIRST, { keptForS, max: 1 }]);
      const { nowUs, rows } = await on.read(timed("oldest_ended", ...queries));
      const overdueUs = rows
        .map(endedKeyFromRow)
        .map(({ endedAtUs, keptForS }) => endedUntil(nowUs, keptForS) - endedAtUs);
      return { rows: await on.count("rowlock_history"), overdueUs: Math.max(0, ...overdueUs) };
    },

    purgeClaims: (untilUs, max) =>
      removeOldest(
        (keptForS, max) => [OVERDUE, { keptForS, untilUs, keptForUs: endedUntil(0, -keptForS), max }],
        max,
      ),

    trimHistory: (untilUs, max) =>
      removeOldest((keptForS, max) => [OLD, { keptForS, untilUs, max }], max, true),

    forgetRequests(fromUs, untilUs, atMost) {
      // Fewer than are asked for, if this process does nothing else meanwhile.
      const max = Math.min(atMost, on.sliceMax);
      function* forgetOldest(): Steps<number | null> {
        const rows = yield* ofEachClass("ended_keys", (keptForS) => [
          ENDED_FROM,
          { keptForS, fromUs, untilUs, max },
        ]);
        const step = forgetStep(rows.map(endedKeyFromRow), fromUs, max);
        if (!step) return null;
        for (const keptForS of step.keptForS)
          yield* forget([REQUESTS_BETWEEN, { keptForS, fromUs, untilUs: step.toUs }]);
        return step.nextUs;
      }
      return on.write(forgetOldest());
    },

    async noteKeptBy(settings) {
      const wanted = bytesOf(settings);
      function* note(): Steps<void> {
        // Nearly always so, and then the row of the facts, which decisions read, is not locked.
        const [row] = yield* rowsOf("kept_by", [KEPT_BY]);
        if (!wanted.equals(row?.[0] as Uint8Array))
          yield* written("note_kept_by", NOTE_KEPT_BY, { settings: wanted });
      }
      await on.write(note());
    },

    async historyFrom() {
      const [row = []] = await on.read(rowsOf("history_from", [HISTORY_FROM]));
      return historyFromRow(row);
    },
  } satisfies Partial<Store>;
}

/** The times for which ended claims are kept, as far as there are any. */
class Classes {
  #seen: readonly number[] = [];

  /**
   * Reads the next one after each that was there last time. If these are the same, there are no others; otherwise reads
   * once more.
   */
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
}

/** Forgets the request ids of the ended claims that the query finds. A server that dies meanwhile has lost nothing. */
function* forget(ended: Query): Steps<void> {
  const requests = requestsOfClients(yield* rowsOf("ended_requests", ended));
  for (const part of partsOf(requests, NAMES_MAX)) {
    const keys = part.map(({ key }) => key);
    const claims = part.map(({ lockId, ticketNumber }) => [lockId, ticketNumber]);
    yield* written("forget_requests", FORGET, { keys, claims });
  }
}
