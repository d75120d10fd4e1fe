// Records of locks in a transaction: read if the guard row says that there is one; written if a record was added,
// changed or removed. A transaction that decides about a lock holds its guard row, so no other one reads or writes its
// record meanwhile.

import { partsOf } from "../../../core/bounds.ts";
import type { Lock } from "../../../core/lock.ts";
import type { LockRecord } from "../../../core/record.ts";
import type { Before } from "../../known-locks/live-claims.ts";
import { RECORD_CHANGING_COLUMNS, RECORD_COLUMNS } from "../../rows/columns.ts";
import { recordFromRow } from "../../rows/from-rows.ts";
import { changingRecordValues, recordValues } from "../../rows/values.ts";
import { UPDATE_ROWS_MAX } from "../../storage-bounds.ts";
import type { Row } from "../connection/connection.ts";
import { type Arm, assignments } from "./assignments.ts";
import type { WriteChain } from "./write-chain.ts";

const ADD = `INSERT INTO rowlock_record (${RECORD_COLUMNS.join(", ")})`;
const REMOVE = "DELETE r FROM rowlock_record r FORCE INDEX (PRIMARY) WHERE r.lock_id IN (?)";

/** Locks, by what happens to their records. */
export interface RecordChanges {
  readonly added: readonly Lock[];
  readonly changed: readonly Lock[];
  readonly removed: readonly Lock[];
}

/** Returns what to write; null if none of the locks has or had a record. */
export function recordChanges(locks: readonly Lock[], before: Before): RecordChanges | null {
  let changes: { added: Lock[]; changed: Lock[]; removed: Lock[] } | null = null;
  for (const lock of locks) {
    const old = before.lock(lock.id)?.record ?? null;
    if (!lock.record && !old) continue;
    changes ??= { added: [], changed: [], removed: [] };
    if (!old) changes.added.push(lock);
    else if (!lock.record) changes.removed.push(lock);
    else if (hasChanged(lock, before)) changes.changed.push(lock);
  }
  return changes;
}

/** Becoming free or taken also changes the record, because `due_at` depends on it. */
function hasChanged(lock: Lock, before: Before): boolean {
  const old = before.lock(lock.id) as Lock;
  if (lock.record !== old.record) return true;
  return (lock.holders === 0 && lock.waiting === 0) !== (old.holders === 0 && old.waiting === 0);
}

export function addRecordWrites(writes: WriteChain, changes: RecordChanges, before: Before): void {
  const { added, changed, removed } = changes;
  if (added.length > 0) writes.insert(ADD, added.map(recordValues));
  for (const part of partsOf(changed, UPDATE_ROWS_MAX)) addUpdate(writes, part, before);
  if (removed.length > 0) writes.update(removed.length, REMOVE, removed.map(idOf));
}

function addUpdate(writes: WriteChain, locks: readonly Lock[], before: Before): void {
  const rows = locks.map((lock) => ({
    before: changingRecordValues(before.lock(lock.id) as Lock),
    after: changingRecordValues(lock),
  }));
  const arm = (index: number): Arm => ["WHEN ?", (locks[index] as Lock).id];
  const { sets, values } = assignments(RECORD_CHANGING_COLUMNS, rows, arm, "CASE lock_id");
  if (sets.length === 0) return;
  writes.update(
    locks.length,
    `UPDATE rowlock_record FORCE INDEX (PRIMARY) SET ${sets.join(", ")} WHERE lock_id IN (?)`,
    ...values,
    locks.map(idOf),
  );
}

function idOf({ id }: Lock): bigint {
  return id;
}

/** Returns records by lock id. Throws if one of the locks has none, because its guard row says that it has one. */
export function recordsOf(lockIds: readonly bigint[], rows: readonly Row[]): Map<bigint, LockRecord> {
  const records = new Map(
    rows.map((row) => {
      const { lockId, record } = recordFromRow(row);
      return [lockId, record];
    }),
  );
  const missing = lockIds.find((id) => !records.has(id));
  if (missing !== undefined)
    throw new Error(`Lock ${missing} has no record, although its guard row says that it has one.`);
  return records;
}
