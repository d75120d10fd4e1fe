// Converts rows of SQLite to the core's types; storage/rows/values.ts converts in the other direction. Integers arrive
// as bigint: ids, versions, tickets and tokens stay bigint; times and counts are exact as numbers. Text is stored as
// UTF-8 bytes.

import type { SQLOutputValue } from "node:sqlite";
import type { Claim } from "../../core/claim.ts";
import type { LimitRule } from "../../core/limit.ts";
import type { Counters, GuardRow } from "../../core/lock.ts";
import type { LockRecord, RunEnd } from "../../core/record.ts";
import { END_REASONS, MODES, STATES, wordOf } from "../rows/values.ts";

export type Row = Record<string, SQLOutputValue>;

export function guardFromRow(row: Row): GuardRow {
  return { ...countersFromRow(row), hasRecord: hasRecord(row) };
}

export function countersFromRow(row: Row): Counters {
  return {
    id: row.id as bigint,
    name: textOf(row.name),
    limit: numberOrNull(row.limit_value),
    limitVersion: row.limit_version as bigint,
    limitReason: textOf(row.limit_reason),
    nextTicket: row.next_ticket as bigint,
    lastToken: row.last_token as bigint,
    heldPermits: Number(row.held_permits),
    sharedHolders: Number(row.shared_holders),
    exclusiveHolders: Number(row.exclusive_holders),
    holders: Number(row.holders),
    waiting: Number(row.waiting),
    waitingPermits: Number(row.waiting_permits),
    revision: row.revision as bigint,
    changeMark: row.change_mark as bigint,
    recordFloor: row.record_floor as bigint,
  };
}

/** Whether the guard row says that the lock has a record. */
export function hasRecord(row: Row): boolean {
  return row.has_record !== 0n;
}

export function recordFromRow(row: Row): LockRecord {
  return {
    status: textOf(row.status),
    notBeforeUs: numberOrNull(row.not_before),
    attemptsLeft: numberOrNull(row.attempts_left),
    version: row.version as bigint,
    wakesAtUs: numberOrNull(row.wakes_at),
    attemptsSince: row.attempts_since as bigint,
    lastRun:
      row.run_end === null
        ? null
        : {
            owner: textOf(row.run_owner),
            fencingToken: row.run_token as bigint,
            grantedAtUs: Number(row.run_granted_at),
            endedAtUs: Number(row.run_ended_at),
            end: wordOf(END_REASONS, row.run_end) as RunEnd,
            status: textOf(row.run_status),
          },
  };
}

export function claimFromRow(row: Row): Claim {
  return {
    lockId: row.lock_id as bigint,
    ticketNumber: row.ticket_number as bigint,
    secret: textOf(row.secret),
    requestId: textOf(row.request_id),
    mode: wordOf(MODES, row.mode),
    permits: Number(row.permits),
    owner: textOf(row.owner),
    labels: JSON.parse(textOf(row.labels)),
    requestedAtUs: Number(row.requested_at),
    waitUntilUs: numberOrNull(row.wait_until),
    state: wordOf(STATES, row.state),
    ttlUs: numberOrNull(row.ttl),
    deadlineUs: numberOrNull(row.deadline),
    // 0 means absent; older rows store NULL (NOTHING in storage/rows/values.ts).
    replica: (row.replica as bigint | null) || null,
    provisional: row.provisional !== 0n,
    fencingToken: row.fencing_token as bigint,
    grantedAtUs: Number(row.granted_at) || null,
    endedAtUs: Number(row.ended_at) || null,
    endReason: row.end_reason ? wordOf(END_REASONS, row.end_reason) : null,
    endNote: textOf(row.end_note),
    terms: row.terms === null ? null : JSON.parse(textOf(row.terms)),
  };
}

export function limitRuleFromRow(row: Row): LimitRule {
  return {
    prefix: textOf(row.prefix),
    limit: numberOrNull(row.limit_value),
    version: row.version as bigint,
    reason: textOf(row.reason),
    changeMark: row.change_mark as bigint,
  };
}

export function numberOrNull(value: SQLOutputValue | undefined): number | null {
  return value === null ? null : Number(value);
}

export function textOf(value: SQLOutputValue | undefined): string {
  const bytes = value as Uint8Array;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}
