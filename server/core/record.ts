// What a lock remembers beyond its claims: from when on it may be granted again, how many more times, a status of the
// users' own, and how its last lease went. Most locks remember nothing and have no record. The transaction of a grant
// or an end also decides the record. A record is replaced and never mutated, so copies may share it.

import type { Claim, EndReason, Terms } from "./claim.ts";
import type { Clock } from "./database-clock.ts";
import { type FailOver, nextNumber } from "./fail-over.ts";

export interface LockRecord {
  /** Nothing is granted before this time; null: grants are possible at any time. */
  readonly notBeforeUs: number | null;
  /** Grants left; null: any number. */
  readonly attemptsLeft: number | null;
  /** The lock's last token when the attempts were set. A grant with a higher token took its attempt from these. */
  readonly attemptsSince: bigint;
  readonly status: string;
  readonly lastRun: LastRun | null;
  /**
   * Rises with each change, and is never 0. After a deletion a new record continues the count, see
   * `Lock.recordFloor`. After a fail-over it begins anew above all earlier versions, like tokens: the rows may lack
   * changes whose versions callers know, and such a version must not stand for another state.
   */
  readonly version: bigint;
  /** When the server has to look at the lock, because its waiters may be granted from then on; null: never. */
  readonly wakesAtUs: number | null;
  /** Whose call made it: the principal of an UpdateRecord, or of the claim whose end made it. Empty if it is unknown. */
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
export type RunEnd = Extract<EndReason, "released" | "expired" | "force_released">;

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

/**
 * The record with changes, as its next version.
 *
 * @param failOver the last one.
 * @param maker the principal that it belongs to if it is made now.
 */
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
  wakesAtUs: null,
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

/**
 * The record after the end of a lease. A record is created only if the claim's terms or its Release ask for
 * something.
 */
export function afterLease(
  lock: Counting & { readonly lastToken: bigint },
  ended: Claim,
  result: RunResult | null,
  failOver: FailOver,
): LockRecord | null {
  const { record, lastToken } = lock;
  const { terms, endedAtUs, grantedAtUs } = ended;
  if (record === null && terms === null && result === null) return null;
  if (endedAtUs === null || grantedAtUs === null) return record;
  const end = runEndOf(ended);
  if (end === null) return ended.endReason === "cancelled" ? withAttemptBack(lock, ended, failOver) : record;
  const isLost = end !== "released";
  const status = (isLost ? terms?.statusIfLost : result?.status) ?? statusOf({ record });
  const setAttempts = isLost ? undefined : result?.attemptsLeft;
  const isSet = setAttempts !== undefined;
  const attemptsLeft = setAttempts ?? record?.attemptsLeft ?? null;
  const notBeforeUs = latest(
    record?.notBeforeUs ?? null,
    isLost ? lostUntil(terms, endedAtUs) : releasedUntil(terms, result, grantedAtUs, endedAtUs),
  );
  const { owner, principal, fencingToken } = ended;
  const lastRun = { owner, fencingToken, grantedAtUs, endedAtUs, end, status };
  const attemptsSince = isSet ? lastToken : (record?.attemptsSince ?? 0n);
  return nextRecord(lock, { notBeforeUs, attemptsLeft, attemptsSince, status, lastRun }, failOver, principal);
}

/**
 * Gives the attempt back, as if the lease had never been granted: nobody heard of it, and nobody ever will. Somebody
 * may have heard of a lease that lapses, so its attempt stays taken. Attempts that were set after the grant stay as
 * they are.
 */
function withAttemptBack(lock: Counting, { fencingToken }: Claim, failOver: FailOver): LockRecord | null {
  const { record } = lock;
  if (record === null || record.attemptsLeft === null || fencingToken <= record.attemptsSince) return record;
  return nextRecord(lock, { attemptsLeft: record.attemptsLeft + 1 }, failOver, record.principal);
}

/**
 * The record with the time at which the server has to look at it, given who waits; the same object if that has not
 * changed.
 */
export function withWake(lock: Queueing, clock: Clock): LockRecord | null {
  const { record } = lock;
  if (!record) return null;
  const wakesAtUs = lock.waiting > 0 && !isDueNow(lock, clock) ? record.notBeforeUs : null;
  return wakesAtUs === record.wakesAtUs ? record : { ...record, wakesAtUs };
}

/** Since when a free lock is due, 0 if it always was; null: it has no record, is not free, or is exhausted. */
export function freeSinceUs({ record, holders, waiting }: Queueing & { readonly holders: number }) {
  if (!record || holders > 0 || waiting > 0 || isExhausted({ record })) return null;
  return record.notBeforeUs ?? 0;
}

/** null: nobody used the lease. Nobody relies on a provisional lease; a caller that releases one has come for it. */
function runEndOf({ provisional, endReason }: Claim): RunEnd | null {
  if (endReason === "released") return endReason;
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
): number | null {
  if (result?.coolDownUs !== undefined) return result.coolDownUs > 0 ? endedAtUs + result.coolDownUs : null;
  return terms?.minIntervalUs ? grantedAtUs + terms.minIntervalUs : null;
}

/** The later time wins. */
function latest(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}
