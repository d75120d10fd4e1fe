// What a lock remembers beyond its claims: from when on it may be granted again, how many more times, a status of the
// users' own, and how its last lease went. Most locks remember nothing and have no record. Decided in the same
// transaction as the grant or the end that changes it. A record is replaced and never changed, so copies may share it.

import type { Claim, EndReason } from "./claim.ts";
import type { Lock } from "./lock.ts";
import type { Clock } from "./rows.ts";

export interface LockRecord {
  /** Nothing is granted before; null: at any time. */
  readonly notBeforeUs: number | null;
  /** Grants that are left; null: any number. */
  readonly attemptsLeft: number | null;
  /** The lock's last token when they were set: a grant with a higher one has taken its attempt from these. */
  readonly attemptsSince: bigint;
  readonly status: string;
  readonly lastRun: LastRun | null;
  /** Higher with each change, and never 0. A lock that had a record before goes on counting, see `Lock.recordFloor`. */
  readonly version: bigint;
  /** When somebody has to look at the lock, as waiters stand there that may be granted from then on; null: never. */
  readonly wakesAtUs: number | null;
}

/** How the lease that ended last went. */
export interface LastRun {
  readonly owner: string;
  readonly fencingToken: bigint;
  readonly grantedAtUs: number;
  readonly endedAtUs: number;
  readonly end: RunEnd;
  /** When it had ended. */
  readonly status: string;
}

/** The ends of a lease that was used. One that was never fetched is no run, whichever way it ends: see `runEndOf`. */
export type RunEnd = Extract<EndReason, "released" | "expired" | "force_released">;

/** What an Acquire wants of the lock's record, kept with its claim. */
export interface Terms {
  /** From the grant to the next one, where the lease is released; null: none. */
  readonly minIntervalUs: number | null;
  /** From the end of the lease to the next grant, where it is lost; null: none. */
  readonly lockDelayUs: number | null;
  /** null: it stays as it is. */
  readonly statusIfLost: string | null;
  /** Granted only in one of these; empty: in any. */
  readonly ifStatus: readonly string[];
}

/** What a Release says of the record; what is left out stays as it is. */
export interface RunResult {
  /** To the next grant, in place of the interval of the terms. */
  readonly coolDownUs?: number;
  readonly status?: string;
  readonly attemptsLeft?: number;
}

/** The status of a lock without a record. */
const STATUS_AT_FIRST = "";

type Remembering = Pick<Lock, "record">;
type Counting = Pick<Lock, "record" | "recordFloor">;

/** The record with changes, as its next version. */
export function nextRecord(
  { record, recordFloor }: Counting,
  changes: Partial<Omit<LockRecord, "version">>,
): LockRecord {
  return { ...(record ?? NOTHING), ...changes, version: (record?.version ?? recordFloor) + 1n };
}

const NOTHING: Omit<LockRecord, "version"> = {
  notBeforeUs: null,
  attemptsLeft: null,
  attemptsSince: 0n,
  status: STATUS_AT_FIRST,
  lastRun: null,
  wakesAtUs: null,
};

/** Whether the time has come for sure from which on the lock may be granted. */
export function isDueNow({ record }: Remembering, { atLeastUs }: Clock): boolean {
  return record === null || record.notBeforeUs === null || record.notBeforeUs <= atLeastUs;
}

export function isExhausted({ record }: Remembering): boolean {
  return record?.attemptsLeft === 0;
}

export function statusOf({ record }: Remembering): string {
  return record?.status ?? STATUS_AT_FIRST;
}

/** Whether the lock is in a status in which these terms want it. */
export function isInWantedStatus(lock: Remembering, terms: Terms | null): boolean {
  return terms === null || terms.ifStatus.length === 0 || terms.ifStatus.includes(statusOf(lock));
}

/** A grant takes an attempt, where they are counted. */
export function afterGrant(lock: Counting): LockRecord | null {
  const { record } = lock;
  if (record === null || record.attemptsLeft === null) return record;
  return nextRecord(lock, { attemptsLeft: record.attemptsLeft - 1 });
}

/** What the end of a lease leaves behind. A record is made only for those who ask for anything of it. */
export function afterLease(
  lock: Counting & Pick<Lock, "lastToken">,
  ended: Claim,
  result: RunResult | null,
): LockRecord | null {
  const { record, lastToken } = lock;
  const { terms, endedAtUs, grantedAtUs } = ended;
  if (record === null && terms === null && result === null) return null;
  if (endedAtUs === null || grantedAtUs === null) return record;
  const end = runEndOf(ended);
  if (end === null) return ended.endReason === "cancelled" ? withAttemptBack(lock, ended) : record;
  const isLost = end !== "released";
  const status = (isLost ? terms?.statusIfLost : result?.status) ?? statusOf({ record });
  const setAttempts = isLost ? undefined : result?.attemptsLeft;
  const isSet = setAttempts !== undefined;
  const attemptsLeft = setAttempts ?? record?.attemptsLeft ?? null;
  const notBeforeUs = latest(
    record?.notBeforeUs ?? null,
    isLost ? lostUntil(terms, endedAtUs) : releasedUntil(terms, result, grantedAtUs, endedAtUs),
  );
  const { owner, fencingToken } = ended;
  const lastRun = { owner, fencingToken, grantedAtUs, endedAtUs, end, status };
  const attemptsSince = isSet ? lastToken : (record?.attemptsSince ?? 0n);
  return nextRecord(lock, { notBeforeUs, attemptsLeft, attemptsSince, status, lastRun });
}

/**
 * As if the lease had never been granted: nobody was told of it, and nobody ever will be. Of one that lapses somebody may have
 * heard, so its attempt stays taken. Attempts that were set after the grant stay as they are.
 */
function withAttemptBack(lock: Counting, { fencingToken }: Claim): LockRecord | null {
  const { record } = lock;
  if (record === null || record.attemptsLeft === null || fencingToken <= record.attemptsSince) return record;
  return nextRecord(lock, { attemptsLeft: record.attemptsLeft + 1 });
}

/** The record with the time at which somebody has to look, given who waits; the same one if that has not changed. */
export function withWake(lock: Pick<Lock, "record" | "waiting">, clock: Clock): LockRecord | null {
  const { record } = lock;
  if (!record) return null;
  const wakesAtUs = lock.waiting > 0 && !isDueNow(lock, clock) ? record.notBeforeUs : null;
  return wakesAtUs === record.wakesAtUs ? record : { ...record, wakesAtUs };
}

/** When a lock is due for those who look for free ones, 0 where it always was; null: it is not free, or exhausted. */
export function freeSinceUs({ record, holders, waiting }: Pick<Lock, "record" | "holders" | "waiting">) {
  if (!record || holders > 0 || waiting > 0 || isExhausted({ record })) return null;
  return record.notBeforeUs ?? 0;
}

/** null: nobody has used the lease. Nobody relies on a provisional one; whoever releases it has come for it. */
function runEndOf({ provisional, endReason }: Claim): RunEnd | null {
  if (endReason === "released") return endReason;
  return !provisional && (endReason === "expired" || endReason === "force_released") ? endReason : null;
}

function lostUntil(terms: Terms | null, endedAtUs: number): number | null {
  return terms?.lockDelayUs ? endedAtUs + terms.lockDelayUs : null;
}

/** A time of 0 sets nothing: the next grant may come in the same transaction. */
function releasedUntil(
  terms: Terms | null,
  result: RunResult | null,
  grantedAtUs: number,
  endedAtUs: number,
): number | null {
  if (result?.coolDownUs !== undefined) return result.coolDownUs > 0 ? endedAtUs + result.coolDownUs : null;
  return terms?.minIntervalUs ? grantedAtUs + terms.minIntervalUs : null;
}

/** Neither of two brings the other forward. */
function latest(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}
