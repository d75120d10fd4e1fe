// What the statements of MySQL share: the clocks, the read of records, and the conditions that select claims by their
// keys, in the form that the optimizers turn into look-ups by primary key.

import type { ClaimKey, ClaimRef } from "../../core/claim.ts";
import { RECORD_LIST } from "../rows/columns.ts";
import { bytesOf } from "../rows/values.ts";
import type { SqlValue } from "./connection/connection.ts";

/** Value: the ids of locks that have records. */
export const RECORDS = `SELECT ${RECORD_LIST} FROM rowlock_record FORCE INDEX (PRIMARY) WHERE lock_id IN (?)`;

/** The database's clock in microseconds, at the start of the statement that contains it. */
export const NOW_US = "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)";

/** The process's monotonic clock in microseconds. Readings of the database's clock are compared with it. */
export function monotonicUs(): number {
  return performance.now() * 1_000;
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
    values: [...values, claims.map(({ secret }) => bytesOf(secret))],
  };
}
