// What the statements of MySQL share: the clocks, the read of records, and the conditions that select claims by their
// keys, in the form that the optimizers turn into look-ups by primary key.

import type { ClaimKey, ClaimRef } from "../../core/claim.ts";
import { HAS_HOLDER, RECORD_LIST } from "../rows/columns.ts";
import type { SqlValue } from "./connection/sql-text.ts";

/** Value: the ids of locks that have records. */
export const RECORDS = `SELECT ${RECORD_LIST} FROM rowlock_record FORCE INDEX (PRIMARY) WHERE lock_id IN (?)`;

/** The database's clock in microseconds, at the start of the statement that contains it. */
export const NOW_US = "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)";

/** The process's monotonic clock in microseconds. Readings of the database's clock are compared with it. */
export function monotonicUs(): number {
  return performance.now() * 1_000;
}

/** The ticket number from which a queue begins. Value: the id of the lock. */
export const QUEUE_FROM = "(SELECT q.queue_from FROM rowlock_lock q FORCE INDEX (PRIMARY) WHERE q.id = ?)";

/** What to select of claims, by the table that they are in. */
export interface ClaimLists {
  readonly holder: string;
  readonly claim: string;
  readonly history: string;
}

export type Branch = readonly [sql: string, ...values: SqlValue[]];

const HISTORY = "rowlock_history h FORCE INDEX (rowlock_history_claim)";

/**
 * Selects claims by key: a branch for each table, that of the guard rows first. They must be branches of one statement,
 * unless the guard rows are locked: otherwise a claim that moves is seen in no table or in two.
 */
export function claimsByKey(lists: ClaimLists, keys: readonly ClaimKey[]): Branch[] {
  if (keys.length === 0) return [];
  const { sql, values } = hasKey(keys);
  const inGuardRows = `l.id IN (?) AND ${sql.replace("lock_id", "l.id").replace("ticket_number", "l.holder_ticket_number")}`;
  return [
    [
      `(SELECT ${lists.holder} FROM rowlock_lock l FORCE INDEX (PRIMARY) WHERE ${HAS_HOLDER} AND ${inGuardRows})`,
      keys.map(({ lockId }) => lockId),
      ...values,
    ],
    [`(SELECT ${lists.claim} FROM rowlock_claim c FORCE INDEX (PRIMARY) WHERE ${sql})`, ...values],
    [`(SELECT ${lists.history} FROM ${HISTORY} WHERE ${sql})`, ...values],
  ];
}

/** Selects claims by the request ids of clients, as `claimsByKey` does. */
export function claimsByRequest(lists: ClaimLists, requestIds: readonly string[]): Branch[] {
  if (requestIds.length === 0) return [];
  const from = "FROM rowlock_request r FORCE INDEX (PRIMARY)";
  return [
    [
      `(SELECT ${lists.holder} ${from} STRAIGHT_JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = r.lock_id
        WHERE r.request_id IN (?) AND ${HAS_HOLDER} AND l.holder_ticket_number = r.ticket_number)`,
      requestIds,
    ],
    [
      `(SELECT ${lists.claim} ${from} STRAIGHT_JOIN rowlock_claim c FORCE INDEX (PRIMARY)
        ON c.lock_id = r.lock_id AND c.ticket_number = r.ticket_number WHERE r.request_id IN (?))`,
      requestIds,
    ],
    [
      `(SELECT ${lists.history} ${from} STRAIGHT_JOIN ${HISTORY}
        ON h.lock_id = r.lock_id AND h.ticket_number = r.ticket_number WHERE r.request_id IN (?))`,
      requestIds,
    ],
  ];
}

export interface KeyCondition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/**
 * Matches the claims with these keys, at least one. A list of pairs is read much faster than AND and OR. But for a list
 * with a single pair, MariaDB reads the whole table, and an UPDATE locks all of it.
 */
export function hasKey(keys: readonly ClaimKey[]): KeyCondition {
  const [first] = keys;
  if (first && keys.length === 1) {
    return { sql: "(lock_id = ? AND ticket_number = ?)", values: [first.lockId, first.ticketNumber] };
  }
  const pairs = keys.map(({ lockId, ticketNumber }) => [lockId, ticketNumber]);
  return { sql: "(lock_id, ticket_number) IN (?)", values: [pairs] };
}

/**
 * Matches exactly these claims, and not others that have received the same ticket numbers. Secrets are random, so it is
 * enough that the row has one of them.
 */
export function hasSecret(claims: readonly ClaimRef[]): KeyCondition {
  const { sql, values } = hasKey(claims);
  return {
    sql: `${sql} AND secret IN (?)`,
    values: [...values, claims.map(({ secret }) => secret)],
  };
}

/** Clauses that end a SELECT which locks rows. */
export const NOWAIT = "NOWAIT";
export const SHARED_NOWAIT = "/*!80000 FOR SHARE NOWAIT */ /*M!100304 LOCK IN SHARE MODE NOWAIT */";
