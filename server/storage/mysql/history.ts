// Ended claims: reads for display, and cleaning. Each read goes along an index and reads about as many rows as it
// returns. No statement compares rows of values, because MySQL does not turn such a comparison into a range.

import { partsOf } from "../../core/bounds.ts";
import { ROLLED_BACK, retry } from "../retry.ts";
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
import { BRANCHES_MAX, NAMES_MAX } from "../storage-bounds.ts";
import type { EndedPosition, Store } from "../store.ts";
import { type Connection, query, type Row, Trip } from "./connection/connection.ts";
import { rowsOf } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";
import type { SqlValue } from "./connection/sql-text.ts";
import { type Branch, NOW_US } from "./statements.ts";

const BY_END = "rowlock_history h FORCE INDEX (PRIMARY)";
const BY_CLAIM = "rowlock_history h FORCE INDEX (rowlock_history_claim)";
const OF_LOCK = `SELECT ${HISTORY_LIST} FROM ${BY_CLAIM} WHERE h.lock_id = ?`;
const NEWEST_FIRST = "ORDER BY h.ticket_number DESC LIMIT";
const REQUESTED = `SELECT h.ticket_number, h.requested_at FROM ${BY_CLAIM} WHERE h.lock_id = ?`;

// One step along the index: for a number as the bound, the database reads a single entry. MariaDB takes `> -1` for `> 0`.
const NEXT_CLASS = `(SELECT MIN(h.kept_for) FROM ${BY_END} WHERE h.kept_for >= ?)`;
const KEYS = `SELECT ${ENDED_KEY_LIST} FROM ${BY_END} WHERE h.kept_for = ?`;
const LATEST = `ORDER BY ended_at DESC, lock_id DESC, ticket_number DESC LIMIT ?`;
const OLDEST = `ORDER BY ended_at, lock_id, ticket_number LIMIT ?`;
const BEFORE = `AND (h.ended_at < ? OR (h.ended_at = ? AND h.lock_id < ?)
  OR (h.ended_at = ? AND h.lock_id = ? AND h.ticket_number < ?))`;
const WITH_NAMES = `STRAIGHT_JOIN ${BY_END} ON h.kept_for = k.kept_for AND h.ended_at = k.ended_at
    AND h.lock_id = k.lock_id AND h.ticket_number = k.ticket_number
  STRAIGHT_JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = k.lock_id`;
const OVERDUE = `(${KEYS} AND h.ended_at <= LEAST(?, ${NOW_US}) - ? ${OLDEST})`;
const OLD = `(${KEYS} AND h.ended_at < ? ${OLDEST})`;
const FIRST = `(${KEYS} ${OLDEST})`;
const ENDED_FROM = `(${KEYS} AND h.ended_at >= ? AND h.ended_at <= ? ${OLDEST})`;
const REQUESTS_OF = `SELECT h.request_id, h.lock_id, h.ticket_number FROM ${BY_END} WHERE h.kept_for = ?`;
const REQUESTS_BETWEEN = `${REQUESTS_OF} AND h.ended_at BETWEEN ? AND ?`;
// A later claim may have the request id by now.
const FORGET = `DELETE r FROM rowlock_request r FORCE INDEX (PRIMARY)
  WHERE r.request_key IN (?) AND (r.lock_id, r.ticket_number) IN (?)`;
const KEPT_BY = "SELECT kept_by FROM rowlock_meta WHERE id = 1";
const NOTE_KEPT_BY = `UPDATE rowlock_meta SET kept_by = ?, claims_from = GREATEST(claims_from, ${NOW_US}),
  changes_from = GREATEST(changes_from, ${NOW_US}) WHERE id = 1`;
const HISTORY_FROM = `SELECT GREATEST(claims_from, failed_over_at), GREATEST(changes_from, failed_over_at)
  FROM rowlock_meta WHERE id = 1`;
const RAISE_CLAIMS_FROM = "UPDATE rowlock_meta SET claims_from = GREATEST(claims_from, ?) WHERE id = 1";
// One range of the primary key, to which no server adds.
const UP_TO = `(h.ended_at < ? OR (h.ended_at = ? AND h.lock_id < ?)
    OR (h.ended_at = ? AND h.lock_id = ? AND h.ticket_number <= ?))`;
const REQUESTS_UP_TO = `${REQUESTS_OF} AND ${UP_TO}`;
// The join finds nothing, as no secret is a key. Without a second table MySQL (9.7) reads the whole index for a DELETE, and
// waits for rows that others are adding far behind the range.
const REMOVE = `DELETE h FROM ${BY_END}
  LEFT JOIN rowlock_request r FORCE INDEX (PRIMARY) ON r.request_key = h.secret AND r.lock_id = h.lock_id
  WHERE h.kept_for = ? AND ${UP_TO}`;

// MySQL would report numbers that are up to a day old.
const FRESH_ESTIMATES = "SET SESSION wait_timeout = 8 /*!80000 , information_schema_stats_expiry = 0 */";
const ESTIMATE = `SELECT COALESCE(MAX(TABLE_ROWS), 0) FROM information_schema.TABLES
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = `;

export type EstimatedTable = "rowlock_history" | "rowlock_change";

/** Adds a read of about how many rows the table has; returns the index of its result. */
export function addEstimate(trip: Trip, table: EstimatedTable): number {
  trip.add(FRESH_ESTIMATES);
  return trip.add(`${ESTIMATE} '${table}'`);
}

export function history(pool: MysqlPool) {
  const classes = new Classes(pool);

  /** Deletes the oldest of the claims that the branches find; returns how many. */
  const removeOldest = async (
    branchOf: (keptForS: number) => Branch,
    max: number,
    beforeRemoving: (lastUs: number) => Promise<void> = async () => {},
  ): Promise<number> => {
    const keys = (await readAll(pool, "ended_keys", (await classes.read()).map(branchOf))).map(
      endedKeyFromRow,
    );
    const oldest = oldestByClass(keys, max);
    const ends = [...oldest.values()].map((ofClass) => (ofClass.at(-1) as EndedKey).endedAtUs);
    if (ends.length > 0) await beforeRemoving(Math.max(...ends));
    let removed = 0;
    for (const ofClass of oldest.values()) {
      const upTo = keyValues(ofClass.at(-1) as EndedKey);
      await forgetRequests(pool, REQUESTS_UP_TO, upTo);
      await retry(ROLLED_BACK, () =>
        pool.write((connection) => query(connection, "purge_claims", REMOVE, ...upTo)),
      );
      removed += ofClass.length;
    }
    return removed;
  };

  return {
    async endedClaimsOf(lockId, belowTicket, max) {
      const rows = await pool.use((connection) =>
        belowTicket === null
          ? query(connection, "ended_of_lock", `${OF_LOCK} ${NEWEST_FIRST} ?`, lockId, max)
          : query(
              connection,
              "ended_of_lock",
              `${OF_LOCK} AND h.ticket_number < ? ${NEWEST_FIRST} ?`,
              ...[lockId, belowTicket, max],
            ),
      );
      return rows.map(claimFromRow);
    },

    async ticketAfter(lockId, atUs) {
      return await pool.use(async (connection) => {
        const one = async (sql: string, ...values: readonly SqlValue[]) => {
          const [row] = await query(connection, "search_ticket", sql, lockId, ...values);
          return row ? requestedFromRow(row) : null;
        };
        const last = await one(`${REQUESTED} ${NEWEST_FIRST} 1`);
        const from = `${REQUESTED} AND h.ticket_number >= ? ORDER BY h.ticket_number LIMIT 1`;
        return await searchTicket(last, (ticketNumber) => one(from, ticketNumber), atUs);
      });
    },

    async endedClaims(from, max) {
      const ranges = (await classes.read()).map(
        (keptForS): Branch =>
          from
            ? [`(${KEYS} ${BEFORE} ${LATEST})`, keptForS, ...beforeValues(from), max]
            : [`(${KEYS} ${LATEST})`, keptForS, max],
      );
      const found = [];
      for (const part of partsOf(ranges, BRANCHES_MAX)) {
        const keys = part.map(([sql]) => sql).join(" UNION ALL ");
        const sql = `SELECT ${HISTORY_LIST}, l.name FROM (SELECT * FROM (${keys}) u ${LATEST}) k ${WITH_NAMES}`;
        const values = part.flatMap(([, ...own]) => own);
        const rows = await pool.use((connection) => query(connection, "ended_claims", sql, ...values, max));
        found.push(...rows.map(endedClaimFromRow));
      }
      return newestEnded(found, max);
    },

    async historyStats() {
      const oldest = (await classes.read()).map((keptForS): Branch => [FIRST, keptForS, 1]);
      const keys = (await readAll(pool, "oldest_ended", oldest)).map(endedKeyFromRow);
      const trip = new Trip("history_stats");
      const rowsAt = addEstimate(trip, "rowlock_history");
      const clockAt = trip.add(`SELECT ${NOW_US}`);
      const results = await pool.use((connection) => connection.run(trip));
      const nowUs = Number(rowsOf(results[clockAt])[0]?.[0]);
      const overdueUs = keys.map(({ endedAtUs, keptForS }) => endedUntil(nowUs, keptForS) - endedAtUs);
      return { rows: Number(rowsOf(results[rowsAt])[0]?.[0]), overdueUs: Math.max(0, ...overdueUs) };
    },

    purgeClaims: (untilUs, max) =>
      removeOldest((keptForS) => [OVERDUE, keptForS, untilUs, endedUntil(0, -keptForS), max], max),

    async forgetRequests(fromUs, untilUs, max) {
      const ranges = (await classes.read()).map(
        (keptForS): Branch => [ENDED_FROM, keptForS, fromUs, untilUs, max],
      );
      const keys = (await readAll(pool, "ended_keys", ranges)).map(endedKeyFromRow);
      const step = forgetStep(keys, fromUs, max);
      if (!step) return null;
      for (const keptForS of step.keptForS)
        await forgetRequests(pool, REQUESTS_BETWEEN, [keptForS, fromUs, step.toUs]);
      return step.nextUs;
    },

    async noteKeptBy(settings) {
      const wanted = bytesOf(settings);
      await retry(ROLLED_BACK, () =>
        pool.write(async (connection) => {
          // Nearly always so, and then the row of the facts, which decisions read, is not locked.
          const [row] = await query(connection, "kept_by", KEPT_BY);
          if (wanted.equals(row?.[0] as Buffer)) return;
          await query(connection, "note_kept_by", NOTE_KEPT_BY, wanted);
        }),
      );
    },

    async historyFrom() {
      const [row = []] = await pool.use((connection) => query(connection, "history_from", HISTORY_FROM));
      return historyFromRow(row);
    },

    trimHistory: (untilUs, max) =>
      removeOldest(
        (keptForS) => [OLD, keptForS, untilUs, max],
        max,
        // First, so that a server that dies between the two has not promised what is gone.
        async (lastUs) => {
          await retry(ROLLED_BACK, () =>
            pool.write((connection) => query(connection, "raise_claims_from", RAISE_CLAIMS_FROM, lastUs + 1)),
          );
        },
      ),
  } satisfies Partial<Store>;
}

/** The times for which ended claims are kept, as far as there are any. */
class Classes {
  readonly #pool: MysqlPool;
  #seen: readonly number[] = [];

  constructor(pool: MysqlPool) {
    this.#pool = pool;
  }

  /**
   * Reads the next one after each that was there last time. If these are the same, there are no others; otherwise reads
   * once more.
   */
  async read(): Promise<readonly number[]> {
    for (;;) {
      const steps = [-1, ...this.#seen].map((keptForS): Branch => [NEXT_CLASS, keptForS + 1]);
      const rows = await readAll(this.#pool, "history_classes", steps);
      const next = new Set(rows.flatMap(([keptFor]) => (keptFor === null ? [] : [Number(keptFor)])));
      const isSame = next.size === this.#seen.length && this.#seen.every((keptForS) => next.has(keptForS));
      if (isSame) return this.#seen;
      this.#seen = [...next].sort((a, b) => a - b);
    }
  }
}

/** Returns the rows of all branches, in as few statements as possible. */
async function readAll(pool: MysqlPool, name: string, branches: readonly Branch[]): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const part of partsOf(branches, BRANCHES_MAX)) {
    const sql = part.map(([text]) => text).join(" UNION ALL ");
    const values = part.flatMap(([, ...own]) => own);
    rows.push(...(await pool.use((connection: Connection) => query(connection, name, sql, ...values))));
  }
  return rows;
}

/** Forgets the request ids of the ended claims that `sql` selects. A server that dies meanwhile has lost nothing. */
async function forgetRequests(pool: MysqlPool, sql: string, values: readonly SqlValue[]): Promise<void> {
  const rows = await pool.use((connection) => query(connection, "ended_requests", sql, ...values));
  for (const part of partsOf(requestsOfClients(rows), NAMES_MAX)) {
    const keys = part.map(({ key }) => key);
    const claims = part.map(({ lockId, ticketNumber }) => [lockId, ticketNumber]);
    await retry(ROLLED_BACK, () =>
      pool.write((connection) => query(connection, "forget_requests", FORGET, keys, claims)),
    );
  }
}

/** Values for BEFORE. */
function beforeValues({ endedAtUs, lockId, ticketNumber }: EndedPosition): SqlValue[] {
  return [endedAtUs, endedAtUs, lockId, endedAtUs, lockId, ticketNumber];
}

/** Values for REMOVE. */
function keyValues({ keptForS, ...position }: EndedKey): SqlValue[] {
  return [keptForS, ...beforeValues(position)];
}
