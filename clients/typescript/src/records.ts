// What a lock remembers beyond its claims, and the options that change it. All times are milliseconds.

import type { LastRun, LockRecord } from "#proto/rowlock/v1/lock_pb.js";
import { endName } from "./claim-end.ts";
import type { RowlockError } from "./rowlock-error.ts";
import { dateOf, durationOf, timestampOf } from "./times.ts";

/** The terms of a lease for the lock's record. */
export interface RecordOptions {
  /** After a release, the server grants nothing until this long after the lease's grant. A loss does not set it. */
  readonly minInterval?: number;
  /** After a loss, the server grants nothing for this long. */
  readonly lockDelay?: number;
  /** The lock's new status if the lease is lost. */
  readonly statusIfLost?: string;
  /** Grant only if the lock has this status, or one of these. A lock without a record has the status "". */
  readonly ifStatus?: string | readonly string[];
  /** After a run that failed (see `ReleaseOptions.failed`) or a loss, the server grants nothing for a time that grows. */
  readonly backoff?: Backoff;
}

/** How long a lock rests after a failure, in milliseconds. */
export interface Backoff {
  /** After the first failure. */
  readonly first: number;
  /** Each further failure in a row doubles the time, up to this. Unset: it is the same each time. */
  readonly max?: number;
}

/** What the lock remembers after a release. Unset fields change nothing. */
export interface ReleaseOptions {
  /** The lock's new status. */
  readonly status?: string;
  /** The server grants nothing for this long after the release; it replaces the `minInterval`. 0: due at once. */
  readonly coolDown?: number;
  /** How many more times the server may grant the lock. */
  readonly attemptsLeft?: number;
  /** The work has failed: the lease ends as FAILED, and the `backoff` applies, unless there is a `coolDown`. */
  readonly failed?: boolean;
}

/** Changes to what a lock remembers. Unset fields change nothing. */
export interface RecordChanges {
  /** The server grants nothing before this instant of the database's clock; null: no bound. */
  readonly notBefore?: Date | null;
  /** The same, in milliseconds from now. Excludes `notBefore`. */
  readonly notBeforeIn?: number;
  /** How many more times the server may grant the lock; null: no bound. */
  readonly attemptsLeft?: number | null;
  /** A short word of your own, at most 63 bytes. */
  readonly status?: string;
  /** Change only if the record has this version; 0: only if the lock has no record. Otherwise VERSION_MISMATCH. */
  readonly ifVersion?: bigint | number;
  /** For people; at most 255 bytes. `listChanges` shows it. */
  readonly reason?: string;
}

/** The last lease of a lock that ended. */
export interface LastRunView {
  readonly owner: string;
  readonly token: bigint;
  readonly grantedAt?: Date;
  readonly endedAt?: Date;
  readonly endReason: "RELEASED" | "FAILED" | "EXPIRED" | "FORCE_RELEASED";
  /** The lock's status after its end. */
  readonly status: string;
}

/** What a lock remembers. */
export interface RecordView {
  /** The server grants nothing before this instant of the database's clock; unset: no bound. */
  readonly notBefore?: Date;
  /** How many more times the server may grant the lock; unset: no bound. */
  readonly attemptsLeft?: number;
  readonly status: string;
  /** Unset: no lease has ended since the record exists. */
  readonly lastRun?: LastRunView;
  /** The last run that was RELEASED; unset: none was since the record exists. */
  readonly lastSuccess?: LastRunView;
  /** How many runs in a row, up to the last one, have failed or were lost. */
  readonly failures: number;
  /** For the `ifVersion` of the next change. */
  readonly version: bigint;
}

export function recordView(record: LockRecord): RecordView {
  const { notBefore, attemptsLeft, status, lastRun, lastSuccess, failures, version } = record;
  return {
    ...(notBefore && { notBefore: dateOf(notBefore) }),
    ...(attemptsLeft !== undefined && { attemptsLeft }),
    status,
    ...(lastRun && { lastRun: lastRunView(lastRun) }),
    ...(lastSuccess && { lastSuccess: lastRunView(lastSuccess) }),
    failures,
    version,
  };
}

function lastRunView({ owner, fencingToken, grantedAt, endedAt, endReason, status }: LastRun): LastRunView {
  return {
    owner,
    token: fencingToken,
    ...(grantedAt && { grantedAt: dateOf(grantedAt) }),
    ...(endedAt && { endedAt: dateOf(endedAt) }),
    endReason: endName(endReason) as LastRunView["endReason"],
    status,
  };
}

/** Whether the end of the lease leaves a mark in the lock's record, provided that the lease was confirmed. */
export function hasTerms({ ifStatus, ...terms }: RecordOptions): boolean {
  const { minInterval, lockDelay, statusIfLost, backoff } = terms;
  return (
    [minInterval, lockDelay, statusIfLost, backoff].some((each) => each !== undefined) ||
    [ifStatus ?? []].flat().length > 0
  );
}

/** Returns the fields of a ReleaseRequest. */
export function lastWordsOf({ status, coolDown, attemptsLeft, failed }: ReleaseOptions) {
  return {
    ...(failed && { failed }),
    ...(status !== undefined && { status }),
    ...(coolDown !== undefined && { coolDown: durationOf(coolDown) }),
    ...(attemptsLeft !== undefined && { attemptsLeft }),
  };
}

/** The options of a release by the fields of its request. */
const RELEASE_FIELDS: Readonly<Record<string, keyof ReleaseOptions>> = {
  status: "status",
  cool_down: "coolDown",
  attempts_left: "attemptsLeft",
};

/** Returns the options without those that the server has refused; undefined if it refused something else. */
export function withoutRefused(
  options: ReleaseOptions,
  { reason, violations }: RowlockError,
): ReleaseOptions | undefined {
  const refused = violations.map(({ field }) => RELEASE_FIELDS[field]);
  if (reason !== "BAD_REQUEST" || refused.length === 0 || refused.includes(undefined)) return undefined;
  return Object.fromEntries(
    Object.entries(options).filter(([option]) => !refused.includes(option as keyof ReleaseOptions)),
  );
}

/** Returns the fields of an UpdateRecordRequest. */
export function changesOf(changes: RecordChanges) {
  const { attemptsLeft, status, reason = "", ifVersion } = changes;
  return {
    ...newNotBeforeOf(changes),
    ...(attemptsLeft !== undefined && {
      newAttemptsLeft:
        attemptsLeft === null
          ? ({ case: "unsetAttemptsLeft", value: {} } as const)
          : ({ case: "attemptsLeft", value: attemptsLeft } as const),
    }),
    ...(status !== undefined && { status }),
    ...versionOf(ifVersion),
    reason,
  };
}

function newNotBeforeOf({ notBefore, notBeforeIn }: RecordChanges) {
  if (notBeforeIn !== undefined)
    return { newNotBefore: { case: "notBeforeIn", value: durationOf(notBeforeIn) } } as const;
  if (notBefore === undefined) return {};
  return notBefore === null
    ? ({ newNotBefore: { case: "unsetNotBefore", value: {} } } as const)
    : ({ newNotBefore: { case: "notBefore", value: timestampOf(notBefore) } } as const);
}

/** Returns the field for the version that a change expects. */
export function versionOf(ifVersion: bigint | number | undefined) {
  return ifVersion === undefined ? {} : { expectedVersion: BigInt(ifVersion) };
}
