// A claim: one request for one lock, one row from arrival to end.
//
//                  fits, queue empty
//   (request) ───────────────────────────────► HELD ──► ENDED   released, failed, expired, force_released,
//       │                                       ▲                lapsed, cancelled (both: granted, and nobody came)
//       │ does not fit, may wait                │ fits, first in the queue (a spend goes on to ENDED at once: spent)
//       └────────────────────────► WAITING ─────┘
//                                     └────────────────► ENDED   cancelled, timed_out, lapsed, never_fits, force_released,
//                                                                exhausted, status_mismatch, superseded
//
// A claim whose name is under a pool enters between WAITING and HELD: it has its own lock, and waits at a pool. See pools.ts.
//
// ENDED is final: a claim is never revived. Its row stays for as long as its name's history is kept, at least for the
// retention time, so that the server answers its request id and its id as ended. Then the row is deleted.
//
// `deadlineUs` is when the present state runs out: the lease ends (HELD), the place lapses or the wait is over
// (WAITING), the row may be deleted (ENDED).

import { CLAIM_ID_CHARS_MAX } from "./bounds.ts";

export type Mode = "permit" | "shared" | "exclusive";
export type ClaimState = "waiting" | "held" | "ended";

/** How a claim ended. */
export type EndReason =
  | "released"
  | "failed"
  | "expired"
  | "force_released"
  | "cancelled"
  | "lapsed"
  | "timed_out"
  | "never_fits"
  | "exhausted"
  | "status_mismatch"
  | "spent"
  | "superseded";

/** Whether the holder gave the lease back, with its work done or failed. */
export function isGivenBack(reason: EndReason | null): reason is "released" | "failed" {
  return reason === "released" || reason === "failed";
}

/** Identifies a claim publicly, as listings do. */
export interface ClaimKey {
  readonly lockId: bigint;
  readonly ticketNumber: bigint;
}

/** For maps and sets. */
export function keyText({ lockId, ticketNumber }: ClaimKey): string {
  return `${lockId}.${ticketNumber}`;
}

/** The place of holders. Waiters have higher ones. */
export const HELD_PLACE = 0n;

/**
 * The place in the lock's own queue: the lowest goes first, of equal ones the lowest ticket number. Every queue is by arrival. A
 * claim that enters has the place of holders, because it has its own lock.
 */
export function placeOf(claim: Pick<Claim, "state" | "ticketNumber" | "levels">): bigint {
  return claim.state === "waiting" && !isEntering(claim) ? claim.ticketNumber : HELD_PLACE;
}

/** Sorts by lock, and by ticket number, which is the order of requests. */
export function inOrder(claims: Claim[]): Claim[] {
  const isBefore = (a: Claim, b: Claim) =>
    a.lockId === b.lockId ? a.ticketNumber < b.ticketNumber : a.lockId < b.lockId;
  return claims.sort((a, b) => (isBefore(a, b) ? -1 : 1));
}

export function addByLock(byLock: Map<bigint, Claim[]>, claims: Iterable<Claim>): void {
  for (const claim of claims) {
    const ofLock = byLock.get(claim.lockId);
    if (ofLock) ofLock.push(claim);
    else byLock.set(claim.lockId, [claim]);
  }
}

/** Identifies a claim and proves the right to act on it: the content of a ticket or lease id. */
export interface ClaimRef extends ClaimKey {
  readonly secret: string;
}

/** What an Acquire wants of the lock's record, kept with its claim. */
export interface Terms {
  /** Time from the grant to the next one, if the lease is released; null: none. */
  readonly minIntervalUs: number | null;
  /** Time from the end of the lease to the next grant, if the lease is lost; null: none. */
  readonly lockDelayUs: number | null;
  /** Status that a lost lease leaves; null: it stays unchanged. */
  readonly statusIfLost: string | null;
  /** The claim is granted only in one of these; empty: in any. */
  readonly ifStatus: readonly string[];
  /** Time from the end of the lease to the next grant, if it fails or is lost. Unset: none. */
  readonly backoff?: Backoff;
}

/** The first time, which doubles with each further failure in a row, up to the longest. */
export interface Backoff {
  readonly firstUs: number;
  readonly maxUs: number;
}

/** A level of a claim beside its own lock: a pool that it has reached. */
export interface Level {
  readonly poolId: bigint;
  /** Its rank in the pool's queue, which it keeps when it comes back. */
  readonly rank: bigint;
  /** Of a claim for several locks: the sum of the permits of those under the pool. Unset: those of the claim. */
  readonly permits?: number;
  /** It has its permits there; waits there; or has given them back, or does not wait there any more. */
  readonly state: "has" | "waits" | "left";
}

/** What somebody wants of a lock. */
export interface WantedLock {
  readonly name: string;
  readonly mode: Mode;
  readonly permits: number;
}

/** One of the locks of a claim for several: see sets.ts. */
export interface Member extends ClaimKey, WantedLock {
  /** 0 until granted. */
  readonly fencingToken: bigint;
}

export interface Claim {
  readonly lockId: bigint;
  readonly ticketNumber: bigint;
  /** 128 random bits, 22 characters of base64url. */
  readonly secret: string;
  /** See keptRequestId; or made by the server, and then beginning with a NUL. Unique over all locks. */
  readonly requestId: string;
  readonly mode: Mode;
  /** 1 for shared and exclusive. */
  readonly permits: number;
  /** What the caller says of itself. */
  readonly owner: string;
  /** Who the caller is, as the server has verified; empty if it asks nobody. */
  readonly principal: string;
  readonly labels: Readonly<Record<string, string>>;
  requestedAtUs: number;
  /** When the wait is over at the latest; null: it lasts while there are signs of life. */
  waitUntilUs: number | null;
  /** What the claim wants of the lock's record; null for most. */
  readonly terms: Terms | null;
  state: ClaimState;
  /** Where shares are fair: the turn of the first waiter of each group, see shares.ts; null: it is none. */
  turn: bigint | null;
  /** The group in whose queue it waits, where shares are fair; otherwise null. Follows from the claim: see `groupAt`. */
  group: string | null;
  /** The pools that it has reached. Is replaced and never mutated, so copies may share it. null for most. */
  levels: readonly Level[] | null;
  /**
   * All locks of a claim for several: the same in each of its rows, the lead first. Is replaced and never mutated. null for most.
   */
  members: readonly Member[] | null;
  /** Time to live as last requested; null: without end; SPENDS: none. */
  ttlUs: number | null;
  /** When the present state runs out; null only for a lease without end, and for a waiter's row that is not the lead. */
  deadlineUs: number | null;
  /** The replica whose stream or blocked call gave the waiter's last sign of life; null: none. */
  replica: bigint | null;
  /**
   * Granted, and nobody has come for the lease yet. After a wait, such a lease ends with the grace period at the latest. A
   * lease without end that was granted at once stays, and its row shows that perhaps no client knows of it.
   */
  provisional: boolean;
  /** 0 until granted. */
  fencingToken: bigint;
  grantedAtUs: number | null;
  endedAtUs: number | null;
  endReason: EndReason | null;
  /**
   * The operator's reason for ending the claim; or the lock's status, if it was none of those wanted, or after a run if the lock has
   * a record. Otherwise empty.
   */
  endNote: string;
  /**
   * Who force-released or superseded it: the principal, or the address if the server asks nobody. Of a claim for several locks that ended because
   * of one of them, that lock's name. Otherwise empty.
   */
  endedBy: string;
}

/** The time to live of a claim that only takes permits of the lock's rate, and ends with its grant. */
export const SPENDS = 0;

export function isSpend({ ttlUs }: Pick<Claim, "ttlUs">): boolean {
  return ttlUs === SPENDS;
}

/** Whether it has its own lock, and waits at a pool: it is not held yet. */
export function isEntering({ state, levels }: Pick<Claim, "state" | "levels">): boolean {
  return levels !== null && state === "waiting" && levels.some((level) => level.state === "waits");
}

/** Permits that the claim takes of its lock and of each pool. A spend only takes rates. */
export function roomOf({ permits, ttlUs }: Pick<Claim, "permits"> & Partial<Pick<Claim, "ttlUs">>): number {
  return ttlUs === SPENDS ? 0 : permits;
}

/** Whether it is the row by whose key a claim for several locks is known, or the only row of a claim for one. */
export function isLead({ members, lockId }: Pick<Claim, "members" | "lockId">): boolean {
  return members === null || members[0]?.lockId === lockId;
}

/** Prefix of request ids that the server makes. Callers' ids must not begin with it. */
export const SERVER_MADE_PREFIX = "\0";
/** Prefix of request ids that the server derives from a caller's. */
const DERIVED_PREFIX = "\0\0";
const SEPARATOR = "\0";

/** Whether the server made the request id, each one once, so that no other request can have it. */
export function isServerMade(requestId: string): boolean {
  return requestId.startsWith(SERVER_MADE_PREFIX) && !requestId.startsWith(DERIVED_PREFIX);
}

/** The request id of a row of a claim for several locks that is not the lead: nobody asks by it. */
export function memberRequestId(secret: string, index: number): string {
  return `${SERVER_MADE_PREFIX}${secret}.${index}`;
}

/**
 * The request id under which a claim is kept, so that two principals may use the same one. `mark`: stands for the principal;
 * empty if the server asks nobody. `index`: of the lease of a Capture. A caller's id may contain a NUL, the mark and the
 * index do not.
 */
export function keptRequestId(mark: string, requestId: string, index: number | "" = ""): string {
  if (mark === "" && index === "") return requestId;
  return `${DERIVED_PREFIX}${mark}${SEPARATOR}${requestId}${SEPARATOR}${index}`;
}

/** Empty if the caller gave none. */
export function callersRequestId({ requestId }: Pick<Claim, "requestId">): string {
  if (isServerMade(requestId)) return "";
  if (!requestId.startsWith(DERIVED_PREFIX)) return requestId;
  const begins = requestId.indexOf(SEPARATOR, DERIVED_PREFIX.length) + 1;
  return requestId.slice(begins, requestId.lastIndexOf(SEPARATOR));
}

/** Compares secrets in a time that does not depend on where they differ. */
export function sameSecret(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}

/** Numbers start at 1 and have no leading zeros, so that each claim has one spelling. */
const ID_FORM = /^([1-9a-z][0-9a-z]{0,12})\.([1-9a-z][0-9a-z]{0,12})\.([A-Za-z0-9_-]{22})$/;
/** A Number holds this many base-36 digits without loss, and is parsed several times as fast as a bigint. */
const SAFE_DIGITS = 10;
const BIGINT_MAX = 2n ** 63n - 1n;

/**
 * The ticket id or lease id, which are one string, because a claim keeps its id when it is granted: `lock.ticket.secret`, the
 * numbers in base 36. The numbers find the row by its primary key, and the secret proves the right to act on the claim.
 */
export function formatClaimId(ref: ClaimRef): string {
  return `${ref.lockId.toString(36)}.${ref.ticketNumber.toString(36)}.${ref.secret}`;
}

export function secretOf(id: string): string {
  return id.slice(id.lastIndexOf(".") + 1);
}

/** null: the text cannot be an id. Does not say whether the claim exists. */
export function parseClaimId(id: string): ClaimRef | null {
  if (id.length > CLAIM_ID_CHARS_MAX) return null;
  const parts = ID_FORM.exec(id);
  if (!parts) return null;
  const lockId = fromBase36(parts[1] as string);
  const ticketNumber = fromBase36(parts[2] as string);
  if (lockId > BIGINT_MAX || ticketNumber > BIGINT_MAX) return null;
  return { lockId, ticketNumber, secret: parts[3] as string };
}

export function fromBase36(digits: string): bigint {
  if (digits.length <= SAFE_DIGITS) return BigInt(Number.parseInt(digits, 36));
  let value = 0n;
  for (const digit of digits) value = value * 36n + BigInt(Number.parseInt(digit, 36));
  return value;
}
