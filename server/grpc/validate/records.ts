// Checks what requests say about a lock's record: the terms of requests for leases, UpdateLock and DeleteLock. Pure.

import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import type { DeleteLockRequest, UpdateLockRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { ATTEMPTS_MAX, DELAY_US_MAX, STATUS_BYTES_MAX, STATUSES_MAX } from "../../core/bounds.ts";
import type { Terms } from "../../core/record.ts";
import type { RecordUpdate } from "../../engine/lock-engine.ts";
import { checkDuration, checkName, checkText, Violations } from "./fields.ts";

const DELAY = { minUs: 0, maxUs: DELAY_US_MAX };
const NANOS_MAX = 999_999_999;

/** The record fields of a request for leases. */
interface TermsRequest {
  readonly minInterval?: Duration | undefined;
  readonly lockDelay?: Duration | undefined;
  readonly statusIfLost?: string | undefined;
  readonly ifStatus: readonly string[];
}

interface CheckedDeleteLock {
  readonly name: string;
  readonly expectedVersion: bigint | undefined;
}

/** null: the request says nothing about records. */
export function checkTerms(message: TermsRequest, violations: Violations): Terms | null {
  const { minInterval, lockDelay, statusIfLost, ifStatus } = message;
  const terms = {
    minIntervalUs: minInterval ? checkDuration(minInterval, DELAY, "min_interval", violations) : null,
    lockDelayUs: lockDelay ? checkDuration(lockDelay, DELAY, "lock_delay", violations) : null,
    statusIfLost: checkStatus(statusIfLost, "status_if_lost", violations) ?? null,
    ifStatus: checkStatuses(ifStatus, violations),
  };
  const says = terms.minIntervalUs || terms.lockDelayUs || terms.statusIfLost !== null || ifStatus.length > 0;
  return says ? terms : null;
}

function checkStatuses(statuses: readonly string[], violations: Violations): readonly string[] {
  if (statuses.length > STATUSES_MAX)
    violations.add("if_status", `has ${statuses.length} entries; use at most ${STATUSES_MAX}`);
  return statuses.slice(0, STATUSES_MAX).map((status, index) => {
    return checkText(status, STATUS_BYTES_MAX, `if_status[${index}]`, violations);
  });
}

/** undefined: the request gives none. */
export function checkStatus(
  status: string | undefined,
  field: string,
  violations: Violations,
): string | undefined {
  return status === undefined ? undefined : checkText(status, STATUS_BYTES_MAX, field, violations);
}

/** Microseconds from now to the next grant; undefined: the request gives none. */
export function checkDelay(
  delay: Duration | undefined,
  field: string,
  violations: Violations,
): number | undefined {
  return delay && checkDuration(delay, DELAY, field, violations);
}

/** undefined: the request gives none. */
export function checkAttempts(attemptsLeft: number | undefined, violations: Violations): number | undefined {
  if (attemptsLeft !== undefined && attemptsLeft > ATTEMPTS_MAX)
    violations.add("attempts_left", `is ${attemptsLeft}; use 0 to ${ATTEMPTS_MAX}`);
  return attemptsLeft;
}

/** `nowUs`: the current time, from which the bound on not_before counts. Throws a CallError with all violations. */
export function checkUpdateLock(message: UpdateLockRequest, nowUs: number): RecordUpdate {
  const violations = new Violations();
  const update = {
    name: checkName(message.name, "name", violations),
    notBefore: checkNotBefore(message, nowUs, violations),
    attemptsLeft: checkNewAttempts(message, violations),
    status: checkStatus(message.status, "status", violations),
    expectedVersion: message.expectedVersion,
  };
  const { notBefore, attemptsLeft, status } = update;
  if (notBefore === undefined && attemptsLeft === undefined && status === undefined) {
    violations.add(
      "status",
      "or another field must be set: not_before, not_before_in, unset_not_before, attempts_left, unset_attempts_left",
    );
  }
  return violations.checked(update);
}

function checkNotBefore(
  { notBefore, notBeforeIn, unsetNotBefore }: UpdateLockRequest,
  nowUs: number,
  violations: Violations,
): RecordUpdate["notBefore"] {
  const atUs = notBefore && checkInstant(notBefore, nowUs, violations);
  const inUs = checkDelay(notBeforeIn, "not_before_in", violations);
  if (notBefore && notBeforeIn) violations.add("not_before_in", "contradicts not_before: set one of them");
  if (unsetNotBefore && (notBefore || notBeforeIn)) {
    violations.add(
      "unset_not_before",
      `contradicts ${notBefore ? "not_before" : "not_before_in"}: set one of them`,
    );
  }
  if (atUs !== undefined) return { atUs };
  if (inUs !== undefined) return { inUs };
  return unsetNotBefore ? null : undefined;
}

/**
 * Returns an instant in microseconds since 1970. Rounds parts of a microsecond up, so that nothing is granted before
 * it.
 */
function checkInstant(instant: Timestamp, nowUs: number, violations: Violations): number {
  const { seconds, nanos } = instant;
  if (nanos < 0 || nanos > NANOS_MAX) {
    violations.add("not_before", "is not a valid Timestamp: nanos are 0 to 999,999,999");
    return 0;
  }
  // Rounded before the sum, because a sum with parts of a microsecond would not be exact.
  const us = Number(seconds) * 1e6 + Math.ceil(nanos / 1_000);
  if (seconds < 0n || us > nowUs + DELAY_US_MAX)
    violations.add("not_before", "is out of range; use an instant from 1970 to at most 10 years ahead");
  return us;
}

function checkNewAttempts(
  { attemptsLeft, unsetAttemptsLeft }: UpdateLockRequest,
  violations: Violations,
): number | null | undefined {
  const checked = checkAttempts(attemptsLeft, violations);
  if (unsetAttemptsLeft && attemptsLeft !== undefined)
    violations.add("unset_attempts_left", "contradicts attempts_left: set one of them");
  return checked ?? (unsetAttemptsLeft ? null : undefined);
}

export function checkDeleteLock({ name, expectedVersion }: DeleteLockRequest): CheckedDeleteLock {
  const violations = new Violations();
  return violations.checked({ name: checkName(name, "name", violations), expectedVersion });
}
