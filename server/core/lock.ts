// A lock: the counters of its guard row, and its record. Every decider holds the guard row exclusively and writes it. A
// decision reads the counters instead of all holders and waiters; tests and `rowlock doctor` compare them with the claim
// rows. The record is what a lock remembers beyond its claims: from when on it may be granted again, how many more times, a
// status of the users' own, and how its last lease went. Most locks have none. Also knows the numbers that must never repeat,
// whatever a fail-over loses: fencing tokens of locks, and versions of records.

import { type Backoff, type Claim, type EndReason, isGivenBack, roomOf, type Terms } from "./claim.ts";
import type { Clock } from "./database-clock.ts";
import type { QueueRules } from "./queue-rules.ts";
import type { Rate } from "./rate.ts";

export interface Lock {
  readonly id: bigint;
  readonly name: string;
  /** Limit set for exactly this name; null: patterns and the default apply. */
  limit: number | null;
  /** Rate set for exactly this name; null: patterns apply. */
  rate: Rate | null;
  /** Queue rules set for exactly this name; null: patterns apply. */
  queueRules: QueueRules | null;
  /**
   * The order of its present waiters: by what they share it, as in QueueRules, or HEAD_STARTS. null or empty: that of arrival; empty:
   * it was not that of all before them.
   */
  sharedBy: string | null;
  /** With head starts, what the claim that came last was given for its order: it rises with each arrival. */
  orderKeyUs: number;
  /** Of the limit, the rate and the queue rules. 0: never set. Rises by one with every change, also when a setting is removed. */
  limitVersion: bigint;
  limitReason: string;
  /** When all permits that were taken of its rate will be back: see rate.ts. */
  rateUntilUs: number;
  /** When the server has to look at the lock, because its first waiter may be granted from then on; null: never. */
  wakesAtUs: number | null;
  /** The number of the next claim; starts at 1. */
  nextTicket: bigint;
  /** The fencing token given last. */
  lastToken: bigint;
  /** Sum of the permits of holders in mode permit. */
  heldPermits: number;
  sharedHolders: number;
  exclusiveHolders: number;
  /** Holders of any mode. */
  holders: number;
  waiting: number;
  /** Sum of the permits that waiters ask for, readers and writers counted as 1. */
  waitingPermits: number;
  /** Of the holders, those that enter: they have this lock, and wait at a pool. They are not held yet. */
  entering: number;
  /** Sum of the permits that these have, readers and writers counted as 1. */
  enteringPermits: number;
  /** Of a pool: which walk counts those who held before the pool was made; null: all are counted. */
  counting: bigint | null;
  /** The mark of the attempt that made the last change, see `Marks`; 0: there was none. Random, so it is unique. */
  changeMark: bigint;
  /** Version of the record that was deleted last; 0: none was. A new record continues from it. */
  recordFloor: bigint;
  /** The ticket number of the holder whose claim is in the guard row; null: none is. The store sets it. */
  firstHolder: bigint | null;
  /** What the lock remembers beyond its claims; null for most. */
  record: LockRecord | null;
  /** Raised by a random step with every decision: shows whether the lock was written since. */
  revision: bigint;
}

/** What the guard row alone contains. */
export type Counters = Omit<Lock, "record">;

/** The guard row, and whether there is a record to read. */
export interface GuardRow extends Counters {
  readonly hasRecord: boolean;
}

export type Held = Pick<Counters, "holders" | "heldPermits" | "sharedHolders" | "exclusiveHolders">;

/** Permits held, readers and writers counted as 1: for display. */
export function totalHeld(lock: Counters): number {
  return lock.heldPermits + lock.sharedHolders + lock.exclusiveHolders - lock.enteringPermits;
}

/** Claims that wait, for the lock or for a pool: for display. */
export function waiterCount({ waiting, entering }: Pick<Counters, "waiting" | "entering">): number {
  return waiting + entering;
}

/** Counts a claim that is now held, or (-1) that is no longer held. */
export function countHolder(
  lock: Held,
  claim: Pick<Claim, "mode" | "permits"> & Partial<Pick<Claim, "ttlUs">>,
  by: 1 | -1 = 1,
): void {
  const { mode } = claim;
  lock.holders += by;
  if (mode === "permit") lock.heldPermits += by * roomOf(claim);
  else if (mode === "shared") lock.sharedHolders += by;
  else lock.exclusiveHolders += by;
}

/** What these holders have together. */
export function heldBy(claims: Iterable<Claim>): Held {
  const held: Held = { holders: 0, heldPermits: 0, sharedHolders: 0, exclusiveHolders: 0 };
  for (const claim of claims) countHolder(held, claim);
  return held;
}

/** Counts a holder that now enters, or (-1) that no longer does. */
export function countEntering(lock: Lock, claim: Claim, by: 1 | -1 = 1): void {
  lock.entering += by;
  lock.enteringPermits += by * roomOf(claim);
}

/** Counts a claim that now waits, or (-1) that no longer waits. */
export function countWaiter(lock: Lock, { permits }: Claim, by: 1 | -1 = 1): void {
  lock.waiting += by;
  lock.waitingPermits += by * permits;
}

/** Whether more is held than the limit allows, because it was lowered. For readers and a writer only 0 is too low. */
export function isDraining(lock: Counters, limit: number): boolean {
  return lock.heldPermits > limit || (limit === 0 && lock.holders > 0);
}

/** Begins the names of the servers' own locks. No client can name one, and no listing without a prefix shows one. */
export const OWN_NAMES_PREFIX = "\0";

export function isOwnName(name: string): boolean {
  return name.startsWith(OWN_NAMES_PREFIX);
}

/** The lock by which a replica proves that decisions get through. Each has its own, so that none waits for another. */
export function probeName(replica: bigint): string {
  return `${OWN_NAMES_PREFIX}ready/${replica}`;
}

/** What the database records of its last fail-over. */
export interface FailOver {
  /** Rises with each fail-over; 0: there was none. It makes the high bits of these numbers. */
  readonly epoch: bigint;
  /** When it was noticed, by the database's clock; 0: never. */
  readonly atUs: number;
  /** Nothing is granted before. */
  readonly grantsFromUs: number;
}

export const NO_FAIL_OVER: FailOver = { epoch: 0n, atUs: 0, grantsFromUs: 0 };

/** Bits for the numbers of one epoch: enough for more than two years of a thousand grants a second of one lock. */
const NUMBER_BITS = 36n;

/**
 * The next token of a lock, or the next version of a record. After a fail-over the rows may lack the last numbers that
 * clients know, so they begin anew above all that were ever given.
 */
export function nextNumber(last: bigint, failOver: FailOver): bigint {
  const first = firstNumber(failOver);
  return last >= first ? last + 1n : first;
}

/** The lowest one since the fail-over. */
export function firstNumber({ epoch }: FailOver): bigint {
  return (epoch << NUMBER_BITS) + 1n;
}

/** Is replaced and never mutated, so copies may share it. */
export interface LockRecord {
  /** Nothing is granted before this time; null: grants are possible at any time. */
  readonly notBeforeUs: number | null;
  /** Grants left; null: any number. */
  readonly attemptsLeft: number | null;
  /** The lock's last token when the attempts were set. A grant with a higher token took its attempt from these. */
  readonly attemptsSince: bigint;
  readonly status: string;
  readonly lastRun: LastRun | null;
  /** The last run that was released; null: none was. */
  readonly lastSuccess: LastRun | null;
  /** Runs in a row, up to the last one, that failed or were lost. */
  readonly failures: number;
  /**
   * Rises with each change, and is never 0. After a deletion a new record continues the count, see `Lock.recordFloor`. A
   * version must not stand for two states, so a fail-over raises it like a token.
   */
  readonly version: bigint;
  /** Whose call made it: the principal of an UpdateRecord, or of the claim whose end made it; empty: unknown. */
  readonly principal: string;
}

/** The outcome of the lease that ended last. */
export interface LastRun {
  readonly owner: string;
  readonly fencingToken: bigint;
  readonly grantedAtUs: number;
  readonly endedAtUs: number;
  readonly end: RunEnd;
  /** The lock's status after the lease. */
  readonly status: string;
}

/** The ends of a lease that was used. A lease that nobody fetched is no run, whichever way it ends: see `runEndOf`. */
export type RunEnd = Extract<EndReason, "released" | "failed" | "expired" | "force_released">;

/** What a Release says about the record; what is left out stays unchanged. */
export interface RunResult {
  /** Time to the next grant, instead of the interval of the terms. */
  readonly coolDownUs?: number;
  readonly status?: string;
  readonly attemptsLeft?: number;
}

/** The status of a lock without a record. */
const STATUS_AT_FIRST = "";

// The parts of a `Lock` that matter to its record.
interface Remembering {
  readonly record: LockRecord | null;
}
interface Counting extends Remembering {
  readonly recordFloor: bigint;
}
interface Queueing extends Remembering {
  readonly waiting: number;
}

/** What a change of a record may set. */
export type RecordChange = Partial<Omit<LockRecord, "version" | "principal">>;

/** The record with changes, as its next version. `maker`: the principal that it belongs to if it is made now. */
export function nextRecord(
  { record, recordFloor }: Counting,
  changes: RecordChange,
  failOver: FailOver,
  maker: string,
): LockRecord {
  const version = nextNumber(record?.version ?? recordFloor, failOver);
  return { ...(record ?? { ...NOTHING, principal: maker }), ...changes, version };
}

const NOTHING: Omit<LockRecord, "version" | "principal"> = {
  notBeforeUs: null,
  attemptsLeft: null,
  attemptsSince: 0n,
  status: STATUS_AT_FIRST,
  lastRun: null,
  lastSuccess: null,
  failures: 0,
};

/** Whether the time from which on the lock may be granted has certainly come. */
export function isDueNow({ record }: Remembering, { atLeastUs }: Clock): boolean {
  return record === null || record.notBeforeUs === null || record.notBeforeUs <= atLeastUs;
}

export function isExhausted({ record }: Remembering): boolean {
  return record?.attemptsLeft === 0;
}

export function statusOf({ record }: Remembering): string {
  return record?.status ?? STATUS_AT_FIRST;
}

/** Whether the lock's status is one that these terms want. */
export function isInWantedStatus(lock: Remembering, terms: Terms | null): boolean {
  return terms === null || terms.ifStatus.length === 0 || terms.ifStatus.includes(statusOf(lock));
}

/** The record after a grant, which takes an attempt if attempts are counted. */
export function afterGrant(lock: Counting, failOver: FailOver): LockRecord | null {
  const { record } = lock;
  if (record === null || record.attemptsLeft === null) return record;
  return nextRecord(lock, { attemptsLeft: record.attemptsLeft - 1 }, failOver, record.principal);
}

/** The record after the end of a lease. One is made only if the claim's terms or its Release ask for something. */
export function afterLease(
  lock: Counting & { readonly lastToken: bigint },
  ended: Claim,
  result: RunResult | null,
  failOver: FailOver,
): LockRecord | null {
  const { record, lastToken } = lock;
  const { terms, endedAtUs, grantedAtUs, owner, principal, fencingToken } = ended;
  if (record === null && terms === null && result === null) return null;
  if (endedAtUs === null || grantedAtUs === null) return record;
  const end = runEndOf(ended);
  if (end === null) return ended.endReason === "cancelled" ? withAttemptBack(lock, ended, failOver) : record;
  const isLost = !isGivenBack(end);
  const failures = end === "released" ? 0 : (record?.failures ?? 0) + 1;
  const backsOffUntilUs =
    failures > 0 && terms?.backoff ? endedAtUs + backoffUs(terms.backoff, failures) : null;
  const status = (isLost ? terms?.statusIfLost : result?.status) ?? statusOf({ record });
  const setAttempts = isLost ? undefined : result?.attemptsLeft;
  const attemptsLeft = setAttempts ?? record?.attemptsLeft ?? null;
  const notBeforeUs = latest(
    record?.notBeforeUs ?? null,
    isLost
      ? latest(lostUntil(terms, endedAtUs), backsOffUntilUs)
      : releasedUntil(terms, result, grantedAtUs, endedAtUs, backsOffUntilUs),
  );
  const lastRun = { owner, fencingToken, grantedAtUs, endedAtUs, end, status };
  const lastSuccess = end === "released" ? lastRun : (record?.lastSuccess ?? null);
  const attemptsSince = setAttempts !== undefined ? lastToken : (record?.attemptsSince ?? 0n);
  const changes = { notBeforeUs, attemptsLeft, attemptsSince, status, lastRun, lastSuccess, failures };
  return nextRecord(lock, changes, failOver, principal);
}

/**
 * Gives the attempt of a cancelled lease back, unless attempts were set since its grant: no client heard of the lease, and none
 * will. A client may have heard of a lease that lapses, so that attempt stays taken.
 */
function withAttemptBack(lock: Counting, { fencingToken }: Claim, failOver: FailOver): LockRecord | null {
  const { record } = lock;
  if (record === null || record.attemptsLeft === null || fencingToken <= record.attemptsSince) return record;
  return nextRecord(lock, { attemptsLeft: record.attemptsLeft + 1 }, failOver, record.principal);
}

/** Since when a free lock is due, 0 if it always was; null: it has no record, is not free, or is exhausted. */
export function freeSinceUs({ record, holders, waiting }: Queueing & { readonly holders: number }) {
  if (!record || holders > 0 || waiting > 0 || isExhausted({ record })) return null;
  return record.notBeforeUs ?? 0;
}

/**
 * null: nobody used the lease, or it was a spend. Nobody relies on a provisional lease; a caller that releases one has come
 * for it.
 */
function runEndOf({ provisional, endReason }: Claim): RunEnd | null {
  if (isGivenBack(endReason)) return endReason;
  return !provisional && (endReason === "expired" || endReason === "force_released") ? endReason : null;
}

function lostUntil(terms: Terms | null, endedAtUs: number): number | null {
  return terms?.lockDelayUs ? endedAtUs + terms.lockDelayUs : null;
}

/** A time of 0 sets nothing, so that the next grant may come in the same transaction. */
function releasedUntil(
  terms: Terms | null,
  result: RunResult | null,
  grantedAtUs: number,
  endedAtUs: number,
  backsOffUntilUs: number | null,
): number | null {
  if (result?.coolDownUs !== undefined) return result.coolDownUs > 0 ? endedAtUs + result.coolDownUs : null;
  if (backsOffUntilUs !== null) return backsOffUntilUs;
  return terms?.minIntervalUs ? grantedAtUs + terms.minIntervalUs : null;
}

/** Exact for any number of failures: doubling stops at the longest time. */
function backoffUs({ firstUs, maxUs }: Backoff, failures: number): number {
  return Math.min(maxUs, firstUs * 2 ** Math.min(failures - 1, 62));
}

/** The later time wins. */
function latest(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}
