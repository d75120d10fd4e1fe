// Columns and SQL that are valid on every database. Only text that MySQL, MariaDB and SQLite interpret alike belongs
// here; SQL that locks, limits or writes rows is in each store.

/**
 * The counters of a guard row. A counter that changes in many rows of a batch changes by the same amount in most of
 * them.
 */
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

/** The columns of a guard row that a decision may change. The store itself sets `decided_at`. */
export const LOCK_WRITTEN_COLUMNS = [
  "limit_value",
  "limit_version",
  "limit_reason",
  ...LOCK_COUNTER_COLUMNS,
  "has_record",
  "change_mark",
  "record_floor",
] as const;

/** What is read of a guard row `l`. */
export const LOCK_LIST = ["id", "name", ...LOCK_WRITTEN_COLUMNS].map((column) => `l.${column}`).join(", ");

/** The columns of a claim that never change after it was added. */
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

/** The columns in which an INSERT writes claims without terms. */
export const CLAIM_PLAIN_COLUMNS = [...CLAIM_FIXED_COLUMNS, ...CLAIM_CHANGING_COLUMNS] as const;

/** All columns of a claim. Its terms never change. */
export const CLAIM_COLUMNS = [...CLAIM_PLAIN_COLUMNS, "terms"] as const;

/** What is read of a claim. */
export const CLAIM_LIST = CLAIM_COLUMNS.join(", ");

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

/** What is read of a record. The other columns only serve to find it. */
export const RECORD_LIST = [
  "lock_id",
  ...RECORD_CHANGING_COLUMNS.filter((column) => column !== "due_at"),
].join(", ");

/** What is read of a limit rule. */
export const RULE_LIST = "prefix, limit_value, version, reason, change_mark";

/** The register of replicas; the store adds the maximum number of rows. */
export const REPLICAS = `SELECT id, address, version, secret, started_at, rules_revision, deadline
  FROM rowlock_replica ORDER BY started_at, id LIMIT`;

/** What is read of a lock by its name: its guard row `l`, and its record `r`. */
export const NAMED_LOCK_LIST =
  "l.id, l.name, l.limit_value, l.holders, l.waiting, l.has_record, r.due_at, r.status";

/**
 * The condition for guard rows that may be removed, apart from their age: no claim, no record, and a limit that was
 * never set. If the limit was set and removed, the row stays, because its version must keep rising for a
 * compare-and-set to work.
 *
 * A guard row that `resolve` creates has the present time as `decided_at`: with 0, it could be removed again before its
 * first use.
 */
export const IDLE_LOCK_CONDITION = `(
  l.limit_value IS NULL AND l.limit_version = 0 AND l.has_record = 0
  AND NOT EXISTS (SELECT 1 FROM rowlock_claim c WHERE c.lock_id = l.id))`;

/**
 * What is read of a busy lock: its guard row `l`, and the time since which its oldest waiter waits.
 *
 * @param queueIndex a hint to find the oldest waiter through rowlock_claim_queue, if the database needs one.
 * @param inQueueIndex a condition that holds for every row in that index; TRUE if the index is not partial.
 */
export function busyLockColumnsBy(queueIndex: string, inQueueIndex: string): string {
  return `${LOCK_LIST},
    (SELECT w.requested_at FROM rowlock_claim w ${queueIndex}
      WHERE ${inQueueIndex} AND w.lock_id = l.id AND w.state = 1 ORDER BY w.ticket_number LIMIT 1) AS oldest_waiter_since`;
}

/**
 * Locks with waiters and with names in a range. Starts from the waiting claims, because most guard rows may be idle.
 * Values: the lowest name, the name above the range, and the maximum number of rows.
 *
 * @param waitingIndex a hint to find the waiting claims through rowlock_claim_due, which contains every column needed.
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
 * The epoch after a fail-over: higher than the present one, and at least the hours since 2026. So rows that were
 * restored from an old backup do not reach an epoch that was used after the backup.
 *
 * @param greatest the database's function for the greatest of its arguments.
 * @param lowest the minimum of the new epoch.
 * @param nowUs the clock in microseconds.
 */
export function newEpochBy(greatest: string, lowest: string, nowUs: string): string {
  return `${greatest}(epoch + 1, ${lowest}, ROUND((${nowUs} - 1767225600000000) / 3600000000))`;
}
