// UpdateLock and DeleteLock: the changes that schedulers and operators make to a lock's record.

import { grantWaiters } from "./advance.ts";
import type { DeleteLock, OutcomeOf, UpdateLock } from "./command.ts";
import type { Draft } from "./draft.ts";
import { type LockRecord, nextRecord } from "./record.ts";

/** Sets what the command names, and grants what that makes room for. */
export function updateLock(draft: Draft, command: UpdateLock): OutcomeOf<"update_lock"> {
  const { lock, nowUs } = draft;
  const { record: before } = lock;
  const version = before?.version ?? 0n;
  const { expectedVersion = version } = command;
  if (expectedVersion !== version) return { kind: "version_mismatch", version };
  const set = nextRecord(lock, changesOf(command, lock.lastToken, nowUs));
  lock.record = set;
  draft.events.push({
    kind: "record_changed",
    change: "set",
    lockId: lock.id,
    record: set,
    caller: command.caller,
  });
  grantWaiters(draft);
  return { kind: "record", lockId: lock.id, record: lock.record, setVersion: set.version };
}

/** Refused while anybody holds the lock or waits for it: they rely on its record. */
export function deleteLock(draft: Draft, command: DeleteLock): OutcomeOf<"delete_lock"> {
  const { lock } = draft;
  const { record } = lock;
  if (lock.holders > 0 || lock.waiting > 0) return { kind: "in_use" };
  const version = record?.version ?? 0n;
  const { expectedVersion = version } = command;
  if (expectedVersion !== version) return { kind: "version_mismatch", version };
  if (!record) return { kind: "deleted", lockId: lock.id, byThisCall: false, version };
  draft.events.push({
    kind: "record_changed",
    change: "deleted",
    lockId: lock.id,
    record,
    caller: command.caller,
  });
  lock.record = null;
  lock.recordFloor = record.version;
  return { kind: "deleted", lockId: lock.id, byThisCall: true, version };
}

function changesOf(
  { notBefore, attemptsLeft, status }: UpdateLock,
  lastToken: bigint,
  nowUs: number,
): Partial<Omit<LockRecord, "version">> {
  return {
    ...(notBefore !== undefined && { notBeforeUs: instantOf(notBefore, nowUs) }),
    ...(attemptsLeft !== undefined && { attemptsLeft, attemptsSince: lastToken }),
    ...(status !== undefined && { status }),
  };
}

function instantOf(notBefore: NonNullable<UpdateLock["notBefore"]> | null, nowUs: number): number | null {
  if (notBefore === null) return null;
  return "atUs" in notBefore ? notBefore.atUs : nowUs + notBefore.inUs;
}
