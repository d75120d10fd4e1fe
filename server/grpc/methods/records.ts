// UpdateLock and DeleteLock: the methods about a lock's record.

import type { DeleteLockRequest, UpdateLockRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import type { AnyCall } from "../handler.ts";
import { lockInUse, recordVersionMismatch } from "../messages/call-error.ts";
import { recordMessage } from "../messages/records.ts";
import { checkDeleteLock, checkUpdateLock } from "../validate/records.ts";
import type { MethodContext } from "./method.ts";

/** Throws BAD_REQUEST, or VERSION_MISMATCH if the record does not have the expected version. */
export async function updateLock({ engine }: MethodContext, message: UpdateLockRequest, call: AnyCall) {
  // The engine may not have read the database's clock yet, so the local clock stands in: this time only bounds
  // not_before, to catch mistakes in a unit.
  const nowUs = Math.max(engine.nowUs(), Date.now() * 1_000);
  const { outcome } = await engine.updateLock(checkUpdateLock(message, nowUs), call);
  if (outcome.kind === "version_mismatch") throw recordVersionMismatch(outcome.version);
  return { record: recordMessage(outcome.record) };
}

/**
 * Answers whether this call deleted the record. Throws LOCK_IN_USE, or VERSION_MISMATCH if the record does not have the
 * expected version.
 */
export async function deleteLock({ engine }: MethodContext, message: DeleteLockRequest, call: AnyCall) {
  const { name, expectedVersion } = checkDeleteLock(message);
  const answer = await engine.deleteLock(name, expectedVersion, call);
  if (!answer) {
    if (expectedVersion) throw recordVersionMismatch(0n);
    return { deleted: false };
  }
  const { outcome } = answer;
  switch (outcome.kind) {
    case "deleted":
      return { deleted: outcome.byThisCall };
    case "in_use":
      throw lockInUse(name);
    case "version_mismatch":
      throw recordVersionMismatch(outcome.version);
  }
}
