// Columns and SQL that MySQL, MariaDB and SQLite interpret alike. SQL that locks, limits or writes rows is in each
// store.

/**
 * What nearly every decision changes in a guard row, apart from its holder. A counter that changes in many rows of a
 * batch changes by the same amount in most of them.
 */
export const LOCK_COUNTED_COLUMNS = [
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

/** The columns of a guard row that a decision may change, apart from its holder. The store itself sets `decided_at`. */
export const LOCK_WRITTEN_COLUMNS = [
  "limit_value",
  "limit_version",
  "limit_reason",
  ...LOCK_COUNTED_COLUMNS,
  "has_record",
  "change_mark",
  "record_floor",
  "rate_permits",
  "rate_per",
  "rate_burst",
  "rate_until",
  "wakes_at",
  "entering",
  "entering_permits",
  "counting",
  "queue_rules",
  "shared_by",
  "order_key",
] as const;

/** The others of these. */
export const LOCK_SELDOM_COLUMNS = LOCK_WRITTEN_COLUMNS.filter(
  (column) => !(LOCK_COUNTED_COLUMNS as readonly string[]).includes(column),
);

/** The claim in the columns `holder_` of a guard row `l` holds the lock. */
export const HAS_HOLDER = "l.holder_state = 2";

/** What is read of a guard row `l`. */
export const LOCK_LIST = [
  ...["id", "name", ...LOCK_WRITTEN_COLUMNS].map((column) => `l.${column}`),
  `CASE WHEN ${HAS_HOLDER} THEN l.holder_ticket_number END`,
].join(", ");

/** The columns of a claim that never change after it was added. */
const CLAIM_FIXED_COLUMNS = [
  "ticket_number",
  "secret",
  "request_id",
  "mode",
  "permits",
  "owner",
  "principal",
  "labels",
  "terms",
] as const;

/** The columns of a live claim that a decision may change. */
export const CLAIM_CHANGING_COLUMNS = [
  "requested_at",
  "wait_until",
  "state",
  "ttl",
  "deadline",
  "replica",
  "provisional",
  "fencing_token",
  "granted_at",
  "levels",
  "members",
] as const;

const CLAIM_OWN_COLUMNS = [...CLAIM_FIXED_COLUMNS, ...CLAIM_CHANGING_COLUMNS] as const;
const END_COLUMNS = ["ended_at", "end_reason", "end_note", "ended_by"] as const;

/** Where a claim stands in queues: in the one of its lock, and in that of its group there or of the pool at which it waits. */
const PLACE_COLUMNS = ["place", "pool_id", "pool_rank", "turn"] as const;
export const CLAIM_COLUMNS = ["lock_id", ...PLACE_COLUMNS, ...CLAIM_OWN_COLUMNS] as const;
/** The columns of rowlock_claim that a decision may change. */
export const CLAIM_WRITTEN_COLUMNS = [...PLACE_COLUMNS, ...CLAIM_CHANGING_COLUMNS] as const;
/** What is read of a claim. Its places follow from its state and its levels. */
const CLAIM_READ_COLUMNS = ["lock_id", ...CLAIM_OWN_COLUMNS] as const;

/** The columns of a guard row that contain its first holder. */
export const HOLDER_COLUMNS = CLAIM_OWN_COLUMNS.map((column) => `holder_${column}`);

export const HISTORY_COLUMNS = [
  ...CLAIM_READ_COLUMNS.filter((column) => !["state", "deadline", "levels"].includes(column)),
  ...END_COLUMNS,
  "kept_for",
] as const;

// A claim is read as the same list of columns, wherever it is.

const NO_END = END_COLUMNS.map(() => "NULL");

/** What is read of a claim `c` in rowlock_claim. */
export const CLAIM_LIST = [...CLAIM_READ_COLUMNS.map((column) => `c.${column}`), ...NO_END, "c.turn"].join(
  ", ",
);

/** What is read of the holder in a guard row `l`. */
export const HOLDER_LIST = ["l.id", ...HOLDER_COLUMNS.map((column) => `l.${column}`), ...NO_END, "NULL"].join(
  ", ",
);

/** Until when an ended claim `h` is kept. `kept_for` is in seconds. */
const KEPT_UNTIL = "h.ended_at + h.kept_for * 1000000";
const HISTORY_VALUES: Readonly<Record<string, string>> = { state: "3", deadline: KEPT_UNTIL, levels: "NULL" };

/** What is read of an ended claim `h`. */
export const HISTORY_LIST = [
  ...CLAIM_READ_COLUMNS.map((column) => HISTORY_VALUES[column] ?? `h.${column}`),
  ...END_COLUMNS.map((column) => `h.${column}`),
  "NULL",
].join(", ");

/** The number of values in each of these three lists. */
export const CLAIM_ROW_LENGTH = CLAIM_READ_COLUMNS.length + END_COLUMNS.length + 1;

/** What is read of a claim `c` that waits at a pool. */
export const POOL_WAITER_LIST = `c.lock_id, c.ticket_number, c.pool_rank, c.permits, c.ttl,
  CASE WHEN c.members IS NOT NULL THEN c.levels END`;

/** What a decision reads of a guard row `l`: the lock, its bound of deadlines, and its holder. */
export const GUARD_LIST = `${LOCK_LIST}, l.next_deadline, ${HOLDER_LIST}`;

/** Where a row of HOLDER_LIST begins in one of GUARD_LIST. */
export const HOLDER_PART = LOCK_WRITTEN_COLUMNS.length + 4;

/** The `next_deadline` of a lock whose claims never end: the latest time that is exact as a number. */
export const NEVER_DUE_US = Number.MAX_SAFE_INTEGER;

/** When lock `l` has to be looked at for its first waiter; NEVER_DUE_US if it need not be. */
const WAKES_AT = `COALESCE(l.wakes_at, ${NEVER_DUE_US})`;

/**
 * The earliest time at which something of lock `l` is due, as committed: the deadlines of its live claims, and `wakes_at`.
 * NEVER_DUE_US if nothing ever is. `least`: the database's function for the least of its arguments.
 */
export function earliestDueBy(least: string): string {
  return `${least}(${WAKES_AT}, CASE WHEN ${HAS_HOLDER} THEN COALESCE(l.holder_deadline, ${NEVER_DUE_US}) ELSE ${NEVER_DUE_US} END,
    COALESCE((SELECT MIN(c.deadline) FROM rowlock_claim c WHERE c.lock_id = l.id), ${NEVER_DUE_US}))`;
}

/** The value of `next_deadline` that is exact for lock `l`. */
export function exactBoundBy(least: string): string {
  return `CASE WHEN l.holders = 0 AND l.waiting = 0 THEN NULL ELSE ${earliestDueBy(least)} END`;
}

/** The columns of a record that a decision may change. */
export const RECORD_CHANGING_COLUMNS = [
  "status",
  "due_at",
  "not_before",
  "attempts_left",
  "version",
  "run_owner",
  "run_token",
  "run_granted_at",
  "run_ended_at",
  "run_end",
  "run_status",
  "attempts_since",
  // Changes only if a transaction deletes a record and makes another.
  "principal",
  "failures",
  "success_owner",
  "success_token",
  "success_granted_at",
  "success_ended_at",
  "success_status",
] as const;

export const RECORD_COLUMNS = ["lock_id", "folder", "name", ...RECORD_CHANGING_COLUMNS] as const;

/** What is read of a record. The other columns only serve to find it. */
export const RECORD_LIST = [
  "lock_id",
  ...RECORD_CHANGING_COLUMNS.filter((column) => column !== "due_at"),
].join(", ");

export const RULE_COLUMNS = [
  "prefix",
  "limit_value",
  "rate_permits",
  "rate_per",
  "rate_burst",
  "version",
  "reason",
  "change_mark",
  "pool_id",
  "queue_rules",
] as const;

export const RULE_LIST = RULE_COLUMNS.join(", ");

export const LEVEL_MIN_LIST = "level_min, level_min_by";

/**
 * The condition for guard rows that may be removed, apart from their age, and from `rate_until`, which must be as old: no
 * claim, live or ended, no record, and settings that were never set. If it was set and removed, the row stays, because its version must keep rising for a
 * compare-and-set to work. A guard row that `resolve` creates has the present time as `decided_at`, so that it is not
 * removed before its first use.
 */
export const IDLE_LOCK_CONDITION = `(
  l.limit_value IS NULL AND l.limit_version = 0 AND l.has_record = 0 AND l.holder_state = 0
  AND NOT EXISTS (SELECT 1 FROM rowlock_claim c WHERE c.lock_id = l.id)
  AND NOT EXISTS (SELECT 1 FROM rowlock_history h WHERE h.lock_id = l.id))`;

/**
 * The epoch after a fail-over: higher than the present one, at least `lowest`, and at least the tens of seconds since
 * 2026. So rows that were restored from an old backup do not reach an epoch that was used after the backup: not even if
 * the same backup is restored twice, as nothing is granted until the pause is over. The 27 bits of an epoch last until
 * 2068. `greatest`: the database's function for the greatest of its arguments. `nowUs`: the clock.
 */
export function newEpochBy(greatest: string, lowest: string, nowUs: string): string {
  return `${greatest}(epoch + 1, ${lowest}, ROUND((${nowUs} - 1767225600000000) / 10000000))`;
}
