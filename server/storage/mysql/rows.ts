// Converts rows of MySQL to the core's types; storage/rows/values.ts converts in the other direction. Rows are arrays
// in the order of LOCK_COLUMNS and CLAIM_COLUMNS. BIGINT arrives as decimal text: ids, versions, tickets and tokens
// become bigint; times and sums are exact as numbers. Also has the conditions that select claims by their keys, in the
// form that the optimizers turn into look-ups by primary key.

import type { Claim, ClaimKey, ClaimRef } from "../../core/claim.ts";
import type { LimitRule } from "../../core/limit.ts";
import type { Counters, GuardRow } from "../../core/lock.ts";
import type { LockRecord, RunEnd } from "../../core/record.ts";
import { CLAIM_COLUMNS, LOCK_COLUMNS, RECORD_READ_COLUMNS } from "../rows/columns.ts";
import { bytesOf, END_REASONS, MODES, STATES, wordOf } from "../rows/values.ts";
import type { Row } from "./connection/connection.ts";
import type { SqlValue } from "./connection/trip.ts";

type Column = Row[number] | undefined;

export const LOCK_LIST = LOCK_COLUMNS.map((column) => `l.${column}`).join(", ");
export const CLAIM_LIST = CLAIM_COLUMNS.join(", ");
/** Value: the ids of locks that have records. */
export const RECORDS = `SELECT ${RECORD_READ_COLUMNS.join(", ")} FROM rowlock_record FORCE INDEX (PRIMARY)
  WHERE lock_id IN (?)`;

/** The database's clock in microseconds, at the start of the statement that contains it. */
export const NOW_US = "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)";

/** The process's monotonic clock in microseconds. Readings of the database's clock are compared with it. */
export function monotonicUs(): number {
  return performance.now() * 1_000;
}

export function guardFromRow(row: Row): GuardRow {
  return { ...countersFromRow(row), hasRecord: hasRecord(row) };
}

export function countersFromRow(row: Row): Counters {
  return {
    id: bigintOf(row[0]),
    name: textOf(row[1]),
    limit: numberOrNull(row[2]),
    limitVersion: bigintOf(row[3]),
    limitReason: textOf(row[4]),
    nextTicket: bigintOf(row[5]),
    lastToken: bigintOf(row[6]),
    heldPermits: Number(row[7]),
    sharedHolders: Number(row[8]),
    exclusiveHolders: Number(row[9]),
    holders: Number(row[10]),
    waiting: Number(row[11]),
    waitingPermits: Number(row[12]),
    revision: bigintOf(row[13]),
    changeMark: bigintOf(row[15]),
    recordFloor: bigintOf(row[16]),
  };
}

/** Whether the guard row says that the lock has a record. */
export function hasRecord(row: Row): boolean {
  return row[14] !== 0;
}

export function recordFromRow(row: Row): { readonly lockId: bigint; readonly record: LockRecord } {
  const record = {
    status: textOf(row[1]),
    notBeforeUs: numberOrNull(row[2]),
    attemptsLeft: numberOrNull(row[3]),
    version: bigintOf(row[4]),
    wakesAtUs: numberOrNull(row[5]),
    attemptsSince: bigintOf(row[12]),
    lastRun:
      row[10] === null
        ? null
        : {
            owner: textOf(row[6]),
            fencingToken: bigintOf(row[7]),
            grantedAtUs: Number(row[8]),
            endedAtUs: Number(row[9]),
            end: wordOf(END_REASONS, row[10]) as RunEnd,
            status: textOf(row[11]),
          },
  };
  return { lockId: bigintOf(row[0]), record };
}

export function claimFromRow(row: Row): Claim {
  return {
    lockId: bigintOf(row[0]),
    ticketNumber: bigintOf(row[1]),
    secret: textOf(row[2]),
    requestId: textOf(row[3]),
    mode: wordOf(MODES, row[4]),
    permits: Number(row[5]),
    owner: textOf(row[6]),
    labels: JSON.parse(textOf(row[7])),
    requestedAtUs: Number(row[8]),
    waitUntilUs: numberOrNull(row[9]),
    state: wordOf(STATES, row[10]),
    ttlUs: numberOrNull(row[11]),
    deadlineUs: numberOrNull(row[12]),
    // 0 means absent; older rows store NULL (NOTHING in storage/rows/values.ts).
    replica: bigintOf(row[13] ?? 0) || null,
    provisional: row[14] !== 0,
    fencingToken: bigintOf(row[15]),
    grantedAtUs: Number(row[16]) || null,
    endedAtUs: Number(row[17]) || null,
    endReason: row[18] ? wordOf(END_REASONS, row[18]) : null,
    endNote: textOf(row[19]),
    terms: row[20] === null ? null : JSON.parse(textOf(row[20])),
  };
}

/** A row of prefix, limit_value, version, reason, change_mark. */
export function limitRuleFromRow(row: Row): LimitRule {
  return {
    prefix: textOf(row[0]),
    limit: numberOrNull(row[1]),
    version: bigintOf(row[2]),
    reason: textOf(row[3]),
    changeMark: bigintOf(row[4]),
  };
}

export function bigintOf(value: Column): bigint {
  return BigInt(value as string | number);
}

export function numberOrNull(value: Column): number | null {
  return value === null ? null : Number(value);
}

export function textOf(value: Column): string {
  return (value as Buffer).toString("utf8");
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
