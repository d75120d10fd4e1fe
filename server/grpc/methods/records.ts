// UpdateRecord and DeleteRecord: the methods about a lock's record.

import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { DeleteRecordRequest, UpdateRecordRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { DELAY_US_MAX } from "../../core/bounds.ts";
import type { DeleteRecord, UpdateRecord } from "../../core/command.ts";
import type { LockEngine } from "../../engine/engine.ts";
import { admitted } from "../admission.ts";
import { shownRecord } from "../authorize.ts";
import type { Call, MethodContext } from "../call.ts";
import { lockInUse, recordVersionMismatch } from "../messages/call-error.ts";
import { recordMessage } from "../messages/messages.ts";
import {
  checkAttempts,
  checkDuration,
  checkName,
  checkReason,
  checkStatus,
  DELAY,
  NANOS_MAX,
  type Violations,
} from "./fields.ts";

/**
 * Throws VERSION_MISMATCH if the record does not have the expected version, and OVERLOADED if there is none and its
 * caller has as many records as its quota allows.
 */
export async function updateRecord({ engine }: MethodContext, update: CheckedUpdateRecord, call: Call) {
  const { admission, identity, usage } = call.client;
  const room = usage.roomForRecord(identity);
  const mayMakeRecord = room.refusal === null;
  try {
    const { outcome } = await admitted(admission, call, () =>
      engine.ask({ verb: "update_record", ...update, mayMakeRecord, caller: call }),
    );
    if (outcome.kind === "version_mismatch") throw recordVersionMismatch(outcome.version);
    if (outcome.kind === "no_record") throw room.refusal;
    return { record: recordMessage(shownRecord(call, outcome.record, update.name)) };
  } finally {
    room.done();
  }
}

/**
 * Answers whether this call deleted the record. Throws LOCK_IN_USE, or VERSION_MISMATCH if the record does not have the
 * expected version.
 */
export async function deleteRecord(
  { engine }: MethodContext,
  { name, expectedVersion, reason }: CheckedDeleteRecord,
  call: Call,
) {
  const { outcome } = await admitted(call.client.admission, call, () =>
    engine.ask({ verb: "delete_record", name, expectedVersion, reason, caller: call }),
  );
  switch (outcome.kind) {
    case "unknown_lock":
      if (expectedVersion) throw recordVersionMismatch(0n);
      return { deleted: false };
    case "deleted":
      return { deleted: outcome.byThisCall };
    case "in_use":
      throw lockInUse(name);
    case "version_mismatch":
      throw recordVersionMismatch(outcome.version);
  }
}

type CheckedUpdateRecord = Omit<UpdateRecord, "verb" | "caller" | "mayMakeRecord">;
type CheckedDeleteRecord = Required<Pick<DeleteRecord, "name" | "expectedVersion" | "reason">>;

export function checkUpdateRecord(
  message: UpdateRecordRequest,
  violations: Violations,
  { engine }: { readonly engine: Pick<LockEngine, "nowUs"> },
): CheckedUpdateRecord {
  // The engine may not have read the database's clock yet, so the local clock stands in: this time only bounds
  // not_before, to catch mistakes in a unit.
  const nowUs = Math.max(engine.nowUs(), Date.now() * 1_000);
  const update = {
    name: checkName(message.name, "name", violations),
    notBefore: checkNotBefore(message, nowUs, violations),
    attemptsLeft: checkNewAttempts(message, violations),
    status: checkStatus(message.status, "status", violations),
    expectedVersion: message.expectedVersion,
    reason: checkReason(message.reason, false, violations),
  };
  const { notBefore, attemptsLeft, status } = update;
  if (notBefore === undefined && attemptsLeft === undefined && status === undefined) {
    violations.add(
      "status",
      "or another field must be set: not_before, not_before_in, unset_not_before, attempts_left, unset_attempts_left",
    );
  }
  return update;
}

function checkNotBefore(
  { newNotBefore }: UpdateRecordRequest,
  nowUs: number,
  violations: Violations,
): UpdateRecord["notBefore"] {
  switch (newNotBefore.case) {
    case "notBefore":
      return { atUs: checkInstant(newNotBefore.value, nowUs, violations) };
    case "notBeforeIn":
      return { inUs: checkDuration(newNotBefore.value, DELAY, "not_before_in", violations) ?? 0 };
    case "unsetNotBefore":
      return null;
    case undefined:
      return undefined;
  }
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
  { newAttemptsLeft }: UpdateRecordRequest,
  violations: Violations,
): number | null | undefined {
  if (newAttemptsLeft.case === "unsetAttemptsLeft") return null;
  return checkAttempts(newAttemptsLeft.value, violations);
}

export function checkDeleteRecord(
  { name, expectedVersion, reason }: DeleteRecordRequest,
  violations: Violations,
): CheckedDeleteRecord {
  return {
    name: checkName(name, "name", violations),
    expectedVersion,
    reason: checkReason(reason, false, violations),
  };
}
