// Every statement of the SQLite store, by the name that is its metric label, and the methods that run them: each is
// prepared once and timed on each run. Lists are JSON arrays of integers, so that one prepared statement serves every
// length.

import type { DatabaseSync, SQLInputValue, StatementResultingChanges, StatementSync } from "node:sqlite";
import type { Lock } from "../../core/lock.ts";
import {
  busyLockColumnsBy,
  CLAIM_CHANGING_COLUMNS,
  CLAIM_COLUMNS,
  CLAIM_LIST,
  IDLE_LOCK_CONDITION,
  LOCK_LIST,
  LOCK_WRITTEN_COLUMNS,
  NAMED_LOCK_LIST,
  newEpochBy,
  RECORD_CHANGING_COLUMNS,
  RECORD_COLUMNS,
  RECORD_LIST,
  REPLICAS,
  RULE_LIST,
  waitedLocksBy,
} from "../rows/columns.ts";
import { DECIDED_LIST } from "../rows/decided-order.ts";
import { countersFromRow, hasRecord, type Row, recordFromRow } from "../rows/from-rows.ts";
import { IDLE_SCAN_MAX } from "../storage-bounds.ts";
import type { StoreObserver } from "../store.ts";
import { StoreError } from "../store.ts";
import { sqliteError } from "./errors.ts";

const WRITTEN_LOCK = [...LOCK_WRITTEN_COLUMNS, "decided_at"];
// Without this, the planner would read along the primary key, which gives the same order but passes all ended claims.
const QUEUE_INDEX = "INDEXED BY rowlock_claim_queue";
/** The condition of the partial queue index, word for word: SQLite uses the index only for queries that repeat it. */
const IN_QUEUE_INDEX = "state <> 3";
const DUE_INDEX = "INDEXED BY rowlock_claim_due";
const UNDER_PREFIX = `SELECT ${LOCK_LIST} FROM rowlock_lock l WHERE l.name >= ? AND l.name < ?`;
const DUE_RECORDS = "rowlock_record INDEXED BY rowlock_record_due";
const GROUP = `SELECT folder, status FROM ${DUE_RECORDS}`;
const FREE = `SELECT r.lock_id, r.name, r.due_at, l.limit_value
    FROM rowlock_record r INDEXED BY rowlock_record_due CROSS JOIN rowlock_lock l ON l.id = r.lock_id
    WHERE r.folder = ? AND r.status = ?`;
const DECIDED = `SELECT ${DECIDED_LIST} FROM rowlock_lock INDEXED BY rowlock_lock_idle`;
/**
 * Live claims past their deadline. The index is named because the planner does not know that few claims are ever
 * overdue.
 */
const DUE = "rowlock_claim INDEXED BY rowlock_claim_due WHERE state IN (1, 2) AND deadline <= ?";
const DUE_BY = DUE.replace("?", "?3");
/**
 * Claims of one lock, in one state, in order. Without the hint, the planner reads along the primary key, past all ended
 * claims.
 */
const OF_LOCK = `rowlock_claim ${QUEUE_INDEX} WHERE ${IN_QUEUE_INDEX} AND lock_id = ?`;
const NEXT_BUSY = `SELECT lock_id FROM rowlock_claim ${QUEUE_INDEX} WHERE ${IN_QUEUE_INDEX} AND lock_id >`;
/** A maximum number of rows. SQLite recompiles a statement for each value of a bare parameter in LIMIT. */
const GIVEN = "(? + 0)";

const SQL = {
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  rollback: "ROLLBACK",

  lock_id: "SELECT id FROM rowlock_lock WHERE name = ?",
  add_lock: `INSERT INTO rowlock_lock (name, last_token, record_floor, decided_at)
    SELECT ?, token_floor, token_floor, ? FROM rowlock_meta WHERE id = 1 RETURNING id`,
  lock: `SELECT ${LOCK_LIST} FROM rowlock_lock l WHERE l.id = ?`,
  locks_under_prefix: `SELECT ${LOCK_LIST} FROM rowlock_lock l
    WHERE l.name >= ? AND l.name < ? AND l.waiting > 0 AND l.id > ? ORDER BY l.id LIMIT ${GIVEN}`,
  write_lock: `UPDATE rowlock_lock SET ${WRITTEN_LOCK.map((column) => `${column} = ?`).join(", ")} WHERE id = ?`,

  fail_over: `UPDATE rowlock_meta SET epoch = ${newEpochBy("max", "?2", "?1")}, failed_over_at = ?1,
    grants_from = max(grants_from, ?1 + min(?4, max(?3,
      coalesce((SELECT max(ttl) FROM rowlock_claim INDEXED BY rowlock_claim_due WHERE state = 2), 0))))
    WHERE id = 1 AND epoch = ?5`,
  meta: "SELECT rules_revision, epoch, failed_over_at, grants_from FROM rowlock_meta WHERE id = 1",
  rules: `SELECT ${RULE_LIST} FROM rowlock_limit_rule ORDER BY prefix`,
  write_rule: `INSERT INTO rowlock_limit_rule (${RULE_LIST}) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (prefix) DO UPDATE
    SET limit_value = excluded.limit_value, version = excluded.version, reason = excluded.reason,
      change_mark = excluded.change_mark`,
  raise_rules_revision: "UPDATE rowlock_meta SET rules_revision = rules_revision + 1 WHERE id = 1",

  claim: `SELECT ${CLAIM_LIST} FROM rowlock_claim WHERE lock_id = ? AND ticket_number = ?`,
  claim_by_request: `SELECT ${CLAIM_LIST} FROM rowlock_claim WHERE request_id = ?`,
  claims_in_state: `SELECT ${CLAIM_LIST} FROM ${OF_LOCK} AND state = ? ORDER BY ticket_number LIMIT ${GIVEN}`,
  anything_due: `SELECT 1 FROM ${DUE} LIMIT 1`,
  due_claims: `SELECT ${CLAIM_LIST} FROM ${DUE} AND lock_id IN (SELECT value FROM json_each(?))
    ORDER BY state DESC LIMIT ${GIVEN}`,
  record: `SELECT ${RECORD_LIST} FROM rowlock_record WHERE lock_id = ?`,
  write_record: `INSERT INTO rowlock_record (${RECORD_COLUMNS.join(", ")})
    VALUES (${RECORD_COLUMNS.map(() => "?").join(", ")}) ON CONFLICT (lock_id) DO UPDATE
    SET ${RECORD_CHANGING_COLUMNS.map((column) => `${column} = excluded.${column}`).join(", ")}`,
  remove_record: "DELETE FROM rowlock_record WHERE lock_id = ?",
  add_claim: `INSERT INTO rowlock_claim (${CLAIM_LIST})
    VALUES (${CLAIM_COLUMNS.map(() => "?").join(", ")})`,
  write_claim: `UPDATE rowlock_claim SET ${CLAIM_CHANGING_COLUMNS.map((column) => `${column} = ?`).join(", ")}
    WHERE lock_id = ? AND ticket_number = ? AND secret = ?`,

  heartbeat: `UPDATE rowlock_claim SET replica = ?1, deadline = min(?2, coalesce(wait_until, ?2))
    WHERE lock_id = ?3 AND ticket_number = ?4 AND secret = ?5 AND state = 1`,
  register: `INSERT INTO rowlock_replica (id, address, version, secret, started_at, rules_revision, deadline)
    VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET address = excluded.address, version = excluded.version,
    rules_revision = excluded.rules_revision, deadline = excluded.deadline`,
  forget_replicas: "DELETE FROM rowlock_replica WHERE deadline <= ?",
  replicas: `${REPLICAS} ${GIVEN}`,
  retire: "DELETE FROM rowlock_replica WHERE id = ?",
  mark: `INSERT INTO rowlock_witness (id, mark, written_at)
    SELECT ?1, ?2, ?3 WHERE ?4 IS NULL OR EXISTS (SELECT 1 FROM rowlock_witness WHERE id = ?1)
    ON CONFLICT (id) DO UPDATE SET mark = excluded.mark, written_at = excluded.written_at
    WHERE ?4 IS NULL OR mark = excluded.mark OR mark IN (SELECT value FROM json_each(?4))`,
  forget_marks: "DELETE FROM rowlock_witness WHERE written_at <= ?",
  unmark: "DELETE FROM rowlock_witness WHERE id = ?",

  watch: `SELECT l.id, l.revision, iif(m.grants_from > 0 AND m.grants_from <= ?1 AND l.decided_at < m.grants_from
      AND l.waiting > 0, 0, min(coalesce(d.deadline, r.wakes_at), coalesce(r.wakes_at, d.deadline)) - ?1) AS due_in
    FROM rowlock_lock l JOIN rowlock_meta m ON m.id = 1
    LEFT JOIN (SELECT lock_id, min(deadline) AS deadline FROM ${DUE_BY} GROUP BY lock_id) d ON d.lock_id = l.id
    LEFT JOIN rowlock_record r ON l.has_record = 1 AND r.lock_id = l.id AND r.wakes_at <= ?3
    WHERE l.id IN (SELECT value FROM json_each(?2))`,
  due_locks: `SELECT lock_id FROM ${DUE.replace("?", "?1")} AND lock_id > ?2
    UNION SELECT lock_id FROM rowlock_record INDEXED BY rowlock_record_wake WHERE wakes_at <= ?1 AND lock_id > ?2
    ORDER BY lock_id LIMIT (?3 + 0)`,
  purge_claims: `DELETE FROM rowlock_claim WHERE (lock_id, ticket_number) IN
    (SELECT lock_id, ticket_number FROM rowlock_claim WHERE state = 3 AND deadline <= ? ORDER BY deadline LIMIT ${GIVEN})`,
  old_locks: `SELECT l.id, l.decided_at, ${IDLE_LOCK_CONDITION}, l.last_token, l.record_floor
    FROM rowlock_lock l INDEXED BY rowlock_lock_idle
    WHERE l.decided_at >= ?1 AND (l.decided_at > ?1 OR l.id > ?2) AND l.decided_at < ?3
    ORDER BY l.decided_at, l.id LIMIT ${IDLE_SCAN_MAX}`,
  raise_token_floor: "UPDATE rowlock_meta SET token_floor = max(token_floor, ?, ?) WHERE id = 1",
  remove_lock: "DELETE FROM rowlock_lock WHERE id = ?",

  queue: `SELECT ticket_number, permits FROM rowlock_claim ${QUEUE_INDEX}
    WHERE ${IN_QUEUE_INDEX} AND lock_id = ? AND state = 1 ORDER BY ticket_number`,
  group_in_folder: `${GROUP} WHERE folder = ? ORDER BY status LIMIT ${GIVEN}`,
  group_in_folder_above: `${GROUP} WHERE folder = ? AND status > ? ORDER BY status LIMIT ${GIVEN}`,
  group_in_folders: `${GROUP} WHERE folder >= ? AND folder < ? ORDER BY folder, status LIMIT ${GIVEN}`,
  group_in_folders_above: `${GROUP} WHERE folder > ? AND folder < ? ORDER BY folder, status LIMIT ${GIVEN}`,
  free_locks_at: `${FREE} AND r.due_at = ? AND r.name > ? ORDER BY r.name LIMIT ${GIVEN}`,
  free_locks: `${FREE} AND r.due_at > ? AND r.due_at <= ? ORDER BY r.due_at, r.name LIMIT ${GIVEN}`,
  next_due: `SELECT due_at FROM ${DUE_RECORDS} WHERE folder = ? AND status = ? AND due_at > ?
    ORDER BY due_at LIMIT 1`,
  named_lock: `SELECT ${NAMED_LOCK_LIST}
    FROM rowlock_lock l LEFT JOIN rowlock_record r ON r.lock_id = l.id WHERE l.name = ?`,
  decided_at: `${DECIDED} WHERE decided_at = ? AND id > ? ORDER BY id LIMIT ${GIVEN}`,
  decided_after: `${DECIDED} WHERE decided_at > ? AND decided_at <= ? ORDER BY decided_at, id LIMIT ${GIVEN}`,
  list: `${UNDER_PREFIX} ORDER BY l.name LIMIT ${GIVEN}`,
  list_busy: `${UNDER_PREFIX} AND (l.holders > 0 OR l.waiting > 0) ORDER BY l.name LIMIT ${GIVEN}`,
  list_limited: `${UNDER_PREFIX} AND l.limit_value IS NOT NULL ORDER BY l.name LIMIT ${GIVEN}`,
  list_last: "SELECT name FROM rowlock_lock WHERE name >= ? AND name < ? ORDER BY name LIMIT 1 OFFSET ?",
  longest_wait: waitedLocksBy(DUE_INDEX, "longest_wait"),
  most_waiters: waitedLocksBy(DUE_INDEX, "most_waiters"),
  lock_by_name: `SELECT ${LOCK_LIST} FROM rowlock_lock l WHERE l.name = ?`,
  // Skips from one lock to the next, however many claims are between them.
  busy_locks: `WITH RECURSIVE busy (id) AS (
      SELECT (${NEXT_BUSY} ?1 ORDER BY lock_id LIMIT 1)
      UNION ALL SELECT (${NEXT_BUSY} busy.id ORDER BY lock_id LIMIT 1) FROM busy WHERE busy.id IS NOT NULL LIMIT (?2 + 0))
    SELECT ${busyLockColumnsBy(QUEUE_INDEX, IN_QUEUE_INDEX)}
    FROM busy CROSS JOIN rowlock_lock l ON l.id = busy.id`,
} as const;

export type StatementName = keyof typeof SQL;

export class SqliteStatements {
  readonly #database: DatabaseSync;
  readonly #file: string;
  readonly #observer: StoreObserver | undefined;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(database: DatabaseSync, file: string, observer: StoreObserver | undefined) {
    this.#database = database;
    this.#file = file;
    this.#observer = observer;
  }

  all(name: StatementName, ...values: SQLInputValue[]): Row[] {
    return this.#perform("all", name, SQL[name], values) as Row[];
  }

  get(name: StatementName, ...values: SQLInputValue[]): Row | undefined {
    return this.#perform("get", name, SQL[name], values) as Row | undefined;
  }

  /** Runs a statement; returns how many rows it changed. */
  run(name: StatementName, ...values: SQLInputValue[]): number {
    return Number((this.#perform("run", name, SQL[name], values) as StatementResultingChanges).changes);
  }

  /** Runs a statement that is not one of the store's own. */
  read(name: string, sql: string, values: readonly SQLInputValue[]): Row[] {
    return this.#perform("all", name, sql, values) as Row[];
  }

  /** Throws a StoreError if the store is closed, and for SQLite's errors that are not bugs. */
  #perform(
    method: "all" | "get" | "run",
    name: string,
    sql: string,
    values: readonly SQLInputValue[],
  ): unknown {
    const startedMs = performance.now();
    try {
      return this.#statement(sql)[method](...values);
    } catch (error) {
      if (!this.#database.isOpen) throw new StoreError("unavailable", "closed", "The store is closed.");
      throw sqliteError(error, this.#file, sql === SQL.commit);
    } finally {
      this.#observer?.statement(name, (performance.now() - startedMs) / 1000);
    }
  }

  #statement(sql: string): StatementSync {
    const prepared = this.#prepared.get(sql);
    if (prepared) return prepared;
    const statement = this.#database.prepare(sql);
    statement.setReturnArrays(true);
    this.#prepared.set(sql, statement);
    return statement;
  }
}

/** Formats integers as the JSON array that statements with lists take. */
export function listOf(ids: Iterable<bigint>): string {
  return `[${[...ids].join(",")}]`;
}

/** Returns the lock of a guard row. Reads its record if the guard row says that there is one. */
export function lockFromRow(statements: SqliteStatements, row: Row): Lock {
  const guard = countersFromRow(row);
  if (!hasRecord(row)) return { ...guard, record: null };
  const record = statements.get("record", guard.id);
  if (!record)
    throw new Error(`Lock ${guard.id} has no record, although its guard row says that it has one.`);
  return { ...guard, record: recordFromRow(record).record };
}
