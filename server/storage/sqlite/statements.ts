// Every statement of the SQLite store, by the name that is its metric label, and the methods that run them: each is
// prepared once and timed on each run. Lists are JSON arrays of integers, so that one prepared statement serves every
// length.

import type { DatabaseSync, SQLInputValue, StatementResultingChanges, StatementSync } from "node:sqlite";
import type { Claim } from "../../core/claim.ts";
import type { Span } from "../../core/span.ts";
import * as columns from "../rows/columns.ts";
import { claimFromRow, type Row } from "../rows/from-rows.ts";
import { CHANGE_COLUMNS } from "../rows/kept-changes.ts";
import { HOLDERS_IN_ORDER, placesIn, WAITERS_IN_ORDER } from "../rows/placement.ts";
import { requestKeyOf } from "../rows/values.ts";
import { beginStatement } from "../statement-span.ts";
import { CLOCK_COARSE_US, IDLE_SCAN_MAX } from "../storage-bounds.ts";
import { StoreError, type StoreObserver } from "../store.ts";
import { sqliteError } from "./errors.ts";

const TEXT_COLUMNS: ReadonlySet<string> = new Set([
  "secret",
  "request_id",
  "owner",
  "principal",
  "labels",
  "terms",
  "end_note",
  "ended_by",
]);

const TEXT = "CAST(? AS BLOB)";

const placeOf = (column: string) => (TEXT_COLUMNS.has(column.replace(/^holder_/, "")) ? TEXT : "?");

export const textSetsOf = (columns: readonly string[]): string[] =>
  columns.map((column) => `${column} = ${placeOf(column)}`);

const textPlacesOf = (columns: readonly string[]): string => columns.map(placeOf).join(", ");

const placesOf = (columns: readonly unknown[]) => columns.map(() => "?").join(", ");

const DUE_LOCKS = "rowlock_lock l INDEXED BY rowlock_lock_due";
const OF_LOCK = `SELECT ${columns.CLAIM_LIST} FROM rowlock_claim c WHERE c.lock_id = ?`;
const IS_CLAIM = "lock_id = ?1 AND place = ?2 AND ticket_number = ?3 AND secret = ?4";
/** A maximum number of rows. SQLite recompiles a statement for each value of a bare parameter in LIMIT. */
const GIVEN = "(? + 0)";

const SQL = {
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  rollback: "ROLLBACK",

  lock_id: "SELECT id FROM rowlock_lock WHERE name = ?",
  add_lock: `INSERT INTO rowlock_lock (name, last_token, record_floor, decided_at)
    SELECT ?, token_floor, token_floor, ? FROM rowlock_meta WHERE id = 1 RETURNING id`,
  lock: `SELECT ${columns.GUARD_LIST}, l.decided_at FROM rowlock_lock l WHERE l.id = ?`,
  locks_under_prefix: `SELECT ${columns.GUARD_LIST}, l.decided_at FROM rowlock_lock l
    WHERE l.name >= ? AND l.name < ? AND l.waiting > 0 AND l.id > ? ORDER BY l.id LIMIT ${GIVEN}`,

  fail_over: `UPDATE rowlock_meta SET epoch = ${columns.newEpochBy("max", "?2", "?1")}, failed_over_at = ?1,
    grants_from = max(grants_from, ?1 + min(?4, max(?3,
      coalesce((SELECT max(holder_ttl) FROM ${DUE_LOCKS} WHERE next_deadline IS NOT NULL AND holder_state = 2), 0),
      coalesce((SELECT max(ttl) FROM rowlock_claim WHERE state = 2), 0))))
    WHERE id = 1 AND epoch = ?5`,
  meta: "SELECT rules_revision, epoch, failed_over_at, grants_from, level_min FROM rowlock_meta WHERE id = 1",
  rules: `SELECT ${columns.RULE_LIST} FROM rowlock_limit_rule ORDER BY prefix`,
  write_rule: `INSERT OR REPLACE INTO rowlock_limit_rule (${columns.RULE_LIST})
    VALUES (${placesOf(columns.RULE_COLUMNS)})`,
  raise_rules_revision: "UPDATE rowlock_meta SET rules_revision = rules_revision + 1 WHERE id = 1",

  // One statement each, with a branch for each table that may have the claim.
  claim: `SELECT ${columns.HOLDER_LIST} FROM rowlock_lock l WHERE l.id = ?1 AND ${columns.HAS_HOLDER} AND l.holder_ticket_number = ?2
    UNION ALL SELECT ${columns.CLAIM_LIST} FROM rowlock_claim c
      WHERE c.lock_id = ?1 AND c.place IN (${placesIn("?2")}) AND c.ticket_number = ?2
    UNION ALL SELECT ${columns.HISTORY_LIST} FROM rowlock_history h WHERE h.lock_id = ?1 AND h.ticket_number = ?2`,
  request: "SELECT lock_id, ticket_number FROM rowlock_request WHERE request_key = ?",
  holders: `${OF_LOCK} AND ${HOLDERS_IN_ORDER} LIMIT ${GIVEN}`,
  waiters: `${OF_LOCK} AND ${WAITERS_IN_ORDER} LIMIT ${GIVEN}`,
  pool_queue: `SELECT ${columns.POOL_WAITER_LIST} FROM rowlock_claim c INDEXED BY rowlock_claim_pool
    WHERE c.pool_id = ? ORDER BY c.pool_rank LIMIT ${GIVEN}`,
  front: `SELECT ${columns.CLAIM_LIST} FROM rowlock_claim c INDEXED BY rowlock_claim_turn
    WHERE c.lock_id = ? AND c.turn IS NOT NULL ORDER BY c.turn LIMIT ${GIVEN}`,
  group_queue: `SELECT ${columns.CLAIM_LIST} FROM rowlock_claim c INDEXED BY rowlock_claim_pool
    WHERE c.pool_id = ? ORDER BY c.pool_rank LIMIT ${GIVEN}`,
  due_claims: `${OF_LOCK} AND c.deadline <= ? ORDER BY c.state DESC, c.ticket_number LIMIT ${GIVEN}`,
  live_claim_of_request: `${OF_LOCK} AND c.request_id = ?`,
  record: `SELECT ${columns.RECORD_LIST} FROM rowlock_record WHERE lock_id = ?`,
  // Keeps the principal: SQLite would write its index anew each time.
  write_record: `INSERT INTO rowlock_record (${columns.RECORD_COLUMNS.join(", ")})
    VALUES (${columns.RECORD_COLUMNS.map(() => "?").join(", ")}) ON CONFLICT (lock_id) DO UPDATE
    SET ${columns.RECORD_CHANGING_COLUMNS.filter((column) => column !== "principal")
      .map((column) => `${column} = excluded.${column}`)
      .join(", ")}`,
  remove_record: "DELETE FROM rowlock_record WHERE lock_id = ?",
  add_claim: `INSERT INTO rowlock_claim (${columns.CLAIM_COLUMNS.join(", ")}) VALUES (${textPlacesOf(columns.CLAIM_COLUMNS)})`,
  write_claim: `UPDATE rowlock_claim SET ${columns.CLAIM_WRITTEN_COLUMNS.map((column, at) => `${column} = ?${at + 5}`).join(", ")}
    WHERE ${IS_CLAIM}`,
  remove_claim: `DELETE FROM rowlock_claim WHERE ${IS_CLAIM}`,
  add_to_history: `INSERT INTO rowlock_history (${columns.HISTORY_COLUMNS.join(", ")}) VALUES (${textPlacesOf(columns.HISTORY_COLUMNS)})`,
  add_request: "INSERT INTO rowlock_request (request_key, lock_id, ticket_number) VALUES (?, ?, ?)",

  // Never sets a deadline earlier, because next_deadline would then be no lower bound.
  heartbeat: `UPDATE rowlock_claim SET replica = ?1, deadline = max(deadline, min(?2, coalesce(wait_until, ?2)))
    WHERE lock_id = ?3 AND place IN (${placesIn("?4")}) AND ticket_number = ?4 AND secret = ?5 AND state = 1`,
  register: `INSERT INTO rowlock_replica (id, address, version, secret, level, knows_migration, started_at, rules_revision, deadline)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET address = excluded.address, version = excluded.version,
    rules_revision = excluded.rules_revision, deadline = excluded.deadline`,
  raise_level_min: `UPDATE rowlock_meta SET level_min = ?1, level_min_by = ?2, rules_revision = rules_revision + 1
    WHERE id = 1 AND level_min < ?1`,
  forget_replicas: "DELETE FROM rowlock_replica WHERE deadline <= ?",
  mark: `INSERT INTO rowlock_witness (id, mark, written_at)
    SELECT ?1, ?2, ?3 WHERE ?4 IS NULL OR EXISTS (SELECT 1 FROM rowlock_witness WHERE id = ?1)
    ON CONFLICT (id) DO UPDATE SET mark = excluded.mark, written_at = excluded.written_at
    WHERE ?4 IS NULL OR mark = excluded.mark OR mark IN (SELECT value FROM json_each(?4))`,
  forget_marks: "DELETE FROM rowlock_witness WHERE written_at <= ?",

  watch: `SELECT l.id, l.revision, iif(m.grants_from > 0 AND m.grants_from <= ?1 AND l.decided_at < m.grants_from
      AND l.waiting > 0, 0, l.due_at - ?1) AS due_in
    FROM (SELECT l.id, l.revision, l.decided_at, l.waiting,
        iif(l.next_deadline <= ?3, nullif(${columns.earliestDueBy("min")}, ${columns.NEVER_DUE_US}), NULL) AS due_at
      FROM rowlock_lock l WHERE l.id IN (SELECT value FROM json_each(?2))) l
    JOIN rowlock_meta m ON m.id = 1`,
  due_locks: `SELECT l.id, ${columns.exactBoundBy("min")} FROM rowlock_lock l WHERE l.id IN
    (SELECT l.id FROM ${DUE_LOCKS} WHERE l.next_deadline <= ? AND l.id > ? ORDER BY l.id LIMIT ${GIVEN}) ORDER BY l.id`,
  write_bound: "UPDATE rowlock_lock SET next_deadline = ? WHERE id = ?",
  count_history: "SELECT count(*) FROM rowlock_history",

  // The clock steps by milliseconds. Changes of one step are listed in the order in which they were made.
  add_change: `INSERT INTO rowlock_change (${CHANGE_COLUMNS})
    SELECT iif(last BETWEEN ?1 AND ?1 + ${CLOCK_COARSE_US - 2}, last + 1, ?1), ${placesOf(CHANGE_COLUMNS.split(",").slice(1))}
    FROM (SELECT max(changed_at) AS last FROM rowlock_change)`,
  count_changes: "SELECT count(*) FROM rowlock_change",
  old_locks: `SELECT l.id, l.decided_at, ${columns.IDLE_LOCK_CONDITION} AND l.rate_until < ?3, l.last_token, l.record_floor
    FROM rowlock_lock l INDEXED BY rowlock_lock_idle
    WHERE l.decided_at >= ?1 AND (l.decided_at > ?1 OR l.id > ?2) AND l.decided_at < ?3
    ORDER BY l.decided_at, l.id LIMIT ${IDLE_SCAN_MAX}`,
  raise_token_floor: "UPDATE rowlock_meta SET token_floor = max(token_floor, ?, ?) WHERE id = 1",
  remove_lock: "DELETE FROM rowlock_lock WHERE id = ?",
} as const;

type StatementName = keyof typeof SQL;

type Values = readonly SQLInputValue[] | readonly [Readonly<Record<string, SQLInputValue>>];

export class SqliteStatements {
  readonly #database: DatabaseSync;
  readonly #file: string;
  readonly #observer: StoreObserver | undefined;
  /** The statements that run now are parts of this span; unset: nobody traces them. */
  span: Span | undefined;
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

  /** Runs one of several statements that are counted under one name; returns how many rows it changed. */
  write(name: string, sql: string, values: Values): number {
    return Number((this.#perform("run", name, sql, values) as StatementResultingChanges).changes);
  }

  read(name: string, sql: string, values: Values): Row[] {
    return this.#perform("all", name, sql, values) as Row[];
  }

  /** Throws a StoreError if the store is closed, and for SQLite's errors that are not bugs. */
  #perform(method: "all" | "get" | "run", name: string, sql: string, values: Values): unknown {
    const over = this.span && beginStatement(this.span, "sqlite", name);
    const startedMs = performance.now();
    let thrown: unknown;
    try {
      return this.#statement(sql)[method](...(values as SQLInputValue[]));
    } catch (error) {
      thrown = this.#database.isOpen
        ? sqliteError(error, this.#file, sql === SQL.commit)
        : new StoreError("unavailable", "closed", "The store is closed.");
      throw thrown;
    } finally {
      this.#observer?.statement(name, (performance.now() - startedMs) / 1000);
      over?.(thrown);
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

export function listOf(ids: Iterable<bigint>): string {
  return `[${[...ids].join(",")}]`;
}

/** The claim at the key of a client's request id, on any lock. It may have another request id. */
export function claimByRequest(statements: SqliteStatements, requestId: string): Claim | undefined {
  const request = statements.get("request", requestKeyOf(requestId));
  const row = request && statements.get("claim", ...(request as [bigint, bigint]));
  return row && claimFromRow(row);
}
