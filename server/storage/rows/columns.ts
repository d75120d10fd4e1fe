// SQL and rules about rows that hold on every database. Only text that MySQL, MariaDB and SQLite read the same way
// belongs here; what locks, limits or writes rows is each store's own.

/** The columns of a guard row that count; one that moves in many rows of a batch moves by the same in most of them. */
export const LOCK_COUNTER_COLUMNS = [
  "next_ticket",
  "last_token",
  "held_permits",
  "shared_holders",
  "exclusive_holders",
  "holders",
  "waiting",
  "waiting_permits",
  "revision",
] as const;

/** The columns of a guard row that a decision may change. `decided_at` is the store's own. */
export const LOCK_WRITTEN_COLUMNS = [
  "limit_value",
  "limit_version",
  "limit_reason",
  ...LOCK_COUNTER_COLUMNS,
  "has_record",
  "change_mark",
  "record_floor",
] as const;

/** The columns of a guard row, in the order in which stores read them. */
export const LOCK_COLUMNS = ["id", "name", ...LOCK_WRITTEN_COLUMNS] as const;

/** The columns of a claim that never change once it is there. */
export const CLAIM_FIXED_COLUMNS = [
  "lock_id",
  "ticket_number",
  "secret",
  "request_id",
  "mode",
  "permits",
  "owner",
  "labels",
  "requested_at",
  "wait_until",
] as const;

/** The columns of a claim that a decision may change. */
export const CLAIM_CHANGING_COLUMNS = [
  "state",
  "ttl",
  "deadline",
  "replica",
  "provisional",
  "fencing_token",
  "granted_at",
  "ended_at",
  "end_reason",
  "end_note",
] as const;

/** The columns of every claim, which an INSERT of claims without terms names. */
export const CLAIM_PLAIN_COLUMNS = [...CLAIM_FIXED_COLUMNS, ...CLAIM_CHANGING_COLUMNS] as const;

/** All columns of a claim. Its terms never change. */
export const CLAIM_COLUMNS = [...CLAIM_PLAIN_COLUMNS, "terms"] as const;

/** The columns of a record that a decision may change. */
export const RECORD_CHANGING_COLUMNS = [
  "status",
  "due_at",
  "not_before",
  "attempts_left",
  "version",
  "wakes_at",
  "run_owner",
  "run_token",
  "run_granted_at",
  "run_ended_at",
  "run_end",
  "run_status",
  "attempts_since",
] as const;

/** All columns of a record. */
export const RECORD_COLUMNS = ["lock_id", "folder", "name", ...RECORD_CHANGING_COLUMNS] as const;

/** The columns of a record that are read: the others are for looking it up. */
export const RECORD_READ_COLUMNS = [
  "lock_id",
  ...RECORD_CHANGING_COLUMNS.filter((column) => column !== "due_at"),
] as const;

/**
 * Guard rows that may be cleaned away, apart from their age: no claim, no record, and a limit that was never set. Where it
 * was set and taken away the row stays, because its version must keep rising for a compare-and-set to mean anything.
 *
 * A guard row that `resolve` makes has the present time as `decided_at`: with 0 it could be cleaned away again before
 * it is first used.
 */
export const IDLE_LOCK_CONDITION = `(
  l.limit_value IS NULL AND l.limit_version = 0 AND l.has_record = 0
  AND NOT EXISTS (SELECT 1 FROM rowlock_claim c WHERE c.lock_id = l.id))`;

/**
 * What is read of a busy lock: its guard row `l`, and since when its oldest waiter waits.
 *
 * @param queueIndex a hint to find the oldest waiter through rowlock_claim_queue, where a database needs one.
 * @param inQueueIndex what is true of every row in that index, where not all are.
 */
export function busyLockColumnsBy(queueIndex: string, inQueueIndex: string): string {
  return `${LOCK_COLUMNS.map((column) => `l.${column}`).join(", ")},
    (SELECT w.requested_at FROM rowlock_claim w ${queueIndex}
      WHERE ${inQueueIndex} AND w.lock_id = l.id AND w.state = 1 ORDER BY w.ticket_number LIMIT 1) AS oldest_waiter_since`;
}

export const BUSY_LOCK_COLUMNS = busyLockColumnsBy("FORCE INDEX (rowlock_claim_queue)", "TRUE");

/**
 * Locks that are waited for, with names in a range. Begins at the claims that wait, as most guard rows may be idle. Takes the
 * lowest name, the name above all, and the highest number of rows.
 *
 * @param waitingIndex a hint to find the claims that wait through rowlock_claim_due, which has all that is asked of them.
 */
export function waitedLocksBy(waitingIndex: string, order: "longest_wait" | "most_waiters"): string {
  return `
  SELECT l.id, l.holders, l.waiting
  FROM (SELECT lock_id, MIN(ticket_number) AS ticket_number FROM rowlock_claim ${waitingIndex}
    WHERE state = 1 GROUP BY lock_id) f
  JOIN rowlock_lock l ON l.id = f.lock_id
  JOIN rowlock_claim w ON w.lock_id = f.lock_id AND w.ticket_number = f.ticket_number
  WHERE l.name >= ? AND l.name < ?
  ORDER BY ${order === "longest_wait" ? "w.requested_at" : "l.waiting DESC"}, l.id
  LIMIT ?`;
}

/**
 * The epoch after a fail-over: higher than the present one, and no lower than the hours since 2026, so that rows which
 * were restored from an old backup do not come to an epoch that there has been since.
 *
 * @param greatest the function of that name.
 * @param lowest which it has to be at least.
 * @param nowUs the clock in microseconds.
 */
export function newEpochBy(greatest: string, lowest: string, nowUs: string): string {
  return `${greatest}(epoch + 1, ${lowest}, ROUND((${nowUs} - 1767225600000000) / 3600000000))`;
}
