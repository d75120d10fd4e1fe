// What a lock remembers beyond its claims, as plain objects; and how a request says what it shall remember.

import type { LastRun, LockRecord } from "#proto/rowlock/v1/lock_pb.js";
import { RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import { dateOf, durationOf, timestampOf } from "./times.ts";

/** What a lease asks of the lock's record. */
export interface RecordOptions {
  /** When it is released, nothing is granted until so many milliseconds after its grant. One that is lost does not set it. */
  readonly minInterval?: number;
  /** When it is lost, nothing is granted for so many milliseconds after it. */
  readonly lockDelay?: number;
  /** The lock's status when it is lost. */
  readonly statusIfLost?: string;
  /** Granted only where the lock has one of these; "" is that of a lock without a record, too. */
  readonly ifStatus?: string | readonly string[];
}

/** What the lock remembers when a lease is given back. */
export interface ReleaseOptions {
  readonly status?: string;
  /** Nothing is granted for so many milliseconds from now on, instead of until the `minInterval` is over; 0: at once. */
  readonly coolDown?: number;
  /** How many more times it may be granted. */
  readonly attemptsLeft?: number;
}

/** What to set; what is not named stays as it is. */
export interface LockChanges {
  /** Nothing is granted before this instant of the database's clock; null: at any time. */
  readonly notBefore?: Date | null;
  /** The same in milliseconds from now. */
  readonly notBeforeIn?: number;
  /** How many more times it may be granted; null: any number of times. */
  readonly attemptsLeft?: number | null;
  readonly status?: string;
  /** Change only if the record has this version; 0: only if the lock has none. Otherwise VERSION_MISMATCH. */
  readonly ifVersion?: bigint | number;
}

/** How the last lease of a lock went. */
export interface LastRunView {
  readonly owner: string;
  readonly token: bigint;
  readonly grantedAt?: Date;
  readonly endedAt?: Date;
  readonly endReason: "RELEASED" | "EXPIRED" | "FORCE_RELEASED";
  /** The lock's status when it had ended. */
  readonly status: string;
}

export interface RecordView {
  /** Nothing is granted before; unset: at any time. */
  readonly notBefore?: Date;
  /** Unset: any number of times. */
  readonly attemptsLeft?: number;
  readonly status: string;
  /** Unset: none has ended since there is a record. */
  readonly lastRun?: LastRunView;
  /** For the `ifVersion` of the next change. */
  readonly version: bigint;
}

export function recordView({ notBefore, attemptsLeft, status, lastRun, version }: LockRecord): RecordView {
  return {
    ...(notBefore && { notBefore: dateOf(notBefore) }),
    ...(attemptsLeft !== undefined && { attemptsLeft }),
    status,
    ...(lastRun && { lastRun: lastRunView(lastRun) }),
    version,
  };
}

function lastRunView({ owner, fencingToken, grantedAt, endedAt, endReason, status }: LastRun): LastRunView {
  return {
    owner,
    token: fencingToken,
    ...(grantedAt && { grantedAt: dateOf(grantedAt) }),
    ...(endedAt && { endedAt: dateOf(endedAt) }),
    endReason: RefusalReason[endReason] as LastRunView["endReason"],
    status,
  };
}

/** The fields of an AcquireRequest, and of a CaptureRequest. */
export function termsOf({ minInterval, lockDelay, statusIfLost, ifStatus = [] }: RecordOptions) {
  return {
    ...(minInterval !== undefined && { minInterval: durationOf(minInterval) }),
    ...(lockDelay !== undefined && { lockDelay: durationOf(lockDelay) }),
    ...(statusIfLost !== undefined && { statusIfLost }),
    ifStatus: [ifStatus].flat(),
  };
}

/** Whether the end of a lease leaves a mark in the lock's record, if the lease was confirmed before. */
export function hasTerms({ minInterval, lockDelay, statusIfLost, ifStatus }: RecordOptions): boolean {
  return [minInterval, lockDelay, statusIfLost, ifStatus].some((each) => each !== undefined);
}

/** The fields of a ReleaseRequest. */
export function lastWordsOf({ status, coolDown, attemptsLeft }: ReleaseOptions) {
  return {
    ...(status !== undefined && { status }),
    ...(coolDown !== undefined && { coolDown: durationOf(coolDown) }),
    ...(attemptsLeft !== undefined && { attemptsLeft }),
  };
}

/** The fields of an UpdateLockRequest. */
export function changesOf({ notBefore, notBeforeIn, attemptsLeft, status, ifVersion }: LockChanges) {
  return {
    ...(notBefore && { notBefore: timestampOf(notBefore) }),
    ...(notBeforeIn !== undefined && { notBeforeIn: durationOf(notBeforeIn) }),
    unsetNotBefore: notBefore === null,
    ...(attemptsLeft !== undefined && attemptsLeft !== null && { attemptsLeft }),
    unsetAttemptsLeft: attemptsLeft === null,
    ...(status !== undefined && { status }),
    ...versionOf(ifVersion),
  };
}

/** The version that a change wants to find. */
export function versionOf(ifVersion: bigint | number | undefined) {
  return ifVersion === undefined ? {} : { expectedVersion: BigInt(ifVersion) };
}
