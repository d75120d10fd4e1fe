// Rows of SQLite to the core's words and back. Integers come as bigint: ids, versions, tickets and tokens stay so,
// times and counts are exact as numbers. Text is kept as its bytes in UTF-8.

import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import type { Claim } from "../core/claim.ts";
import type { LimitRule } from "../core/limit.ts";
import type { Lock } from "../core/lock.ts";
import { END_REASON_CODES, END_REASONS, MODE_CODES, MODES, STATE_CODES, STATES } from "./codes.ts";

export type Row = Record<string, SQLOutputValue>;

export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, "utf8");
}

export function lockOf(row: Row): Lock {
  return {
    id: row.id as bigint,
    name: text(row.name),
    limit: numberOrNull(row.limit_value),
    limitVersion: row.limit_version as bigint,
    limitReason: text(row.limit_reason),
    nextTicket: row.next_ticket as bigint,
    lastToken: row.last_token as bigint,
    heldPermits: Number(row.held_permits),
    sharedHolders: Number(row.shared_holders),
    exclusiveHolders: Number(row.exclusive_holders),
    holders: Number(row.holders),
    waiting: Number(row.waiting),
    waitingPermits: Number(row.waiting_permits),
    revision: row.revision as bigint,
  };
}

/** Values for all columns of a guard row but id and name, then `decided_at`, then the id. */
export function lockValues(lock: Lock, decidedAtUs: number): SQLInputValue[] {
  return [
    lock.limit,
    lock.limitVersion,
    bytesOf(lock.limitReason),
    lock.nextTicket,
    lock.lastToken,
    lock.heldPermits,
    lock.sharedHolders,
    lock.exclusiveHolders,
    lock.holders,
    lock.waiting,
    lock.waitingPermits,
    lock.revision,
    decidedAtUs,
    lock.id,
  ];
}

export function claimOf(row: Row): Claim {
  return {
    lockId: row.lock_id as bigint,
    ticketNumber: row.ticket_number as bigint,
    secret: text(row.secret),
    requestId: text(row.request_id),
    mode: word(MODES, row.mode),
    permits: Number(row.permits),
    owner: text(row.owner),
    labels: JSON.parse(text(row.labels)),
    requestedAtUs: Number(row.requested_at),
    waitUntilUs: numberOrNull(row.wait_until),
    state: word(STATES, row.state),
    ttlUs: numberOrNull(row.ttl),
    deadlineUs: numberOrNull(row.deadline),
    replica: row.replica as bigint | null,
    provisional: row.provisional !== 0n,
    fencingToken: row.fencing_token as bigint,
    grantedAtUs: numberOrNull(row.granted_at),
    endedAtUs: numberOrNull(row.ended_at),
    endReason: row.end_reason === null ? null : word(END_REASONS, row.end_reason),
    endNote: text(row.end_note),
  };
}

/** Values for CLAIM_FIXED_COLUMNS. */
export function fixedClaimValues(claim: Claim): SQLInputValue[] {
  return [
    claim.lockId,
    claim.ticketNumber,
    bytesOf(claim.secret),
    bytesOf(claim.requestId),
    MODE_CODES[claim.mode],
    claim.permits,
    bytesOf(claim.owner),
    bytesOf(JSON.stringify(claim.labels)),
    claim.requestedAtUs,
    claim.waitUntilUs,
  ];
}

/** Values for CLAIM_CHANGING_COLUMNS. */
export function changingClaimValues(claim: Claim): SQLInputValue[] {
  return [
    STATE_CODES[claim.state],
    claim.ttlUs,
    claim.deadlineUs,
    claim.replica,
    claim.provisional ? 1 : 0,
    claim.fencingToken,
    claim.grantedAtUs,
    claim.endedAtUs,
    claim.endReason === null ? null : END_REASON_CODES[claim.endReason],
    bytesOf(claim.endNote),
  ];
}

export function limitRuleOf(row: Row): LimitRule {
  return {
    prefix: text(row.prefix),
    limit: numberOrNull(row.limit_value),
    version: row.version as bigint,
    reason: text(row.reason),
  };
}

export function numberOrNull(value: SQLOutputValue | undefined): number | null {
  return value === null ? null : Number(value);
}

function text(value: SQLOutputValue | undefined): string {
  const bytes = value as Uint8Array;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
}

function word<Word extends string>(words: readonly Word[], code: SQLOutputValue | undefined): Word {
  const found = words[Number(code)];
  if (found === undefined) throw new Error(`A row holds the code ${code}, which this server does not know.`);
  return found;
}
