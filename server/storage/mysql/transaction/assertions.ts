// A transaction's own statements assert that it may be written. Two kinds:
// - An assertion in SQL inserts NULL into a NOT NULL column unless its condition holds. Error 1048 then rolls the whole
//   transaction back; `connection/errors.ts` reports it as `changed`.
// - Each write has an effect only while the transaction is open, and its result says whether it still was. If a Galera node
//   rolls it back in mid-trip, for another node's writes, MariaDB 10.11 reports success and commits the rest one by one.

import { partsOf } from "../../../core/bounds.ts";
import { requestKeyOf } from "../../rows/values.ts";
import * as bounds from "../../storage-bounds.ts";
import { StoreError, type Writes } from "../../store.ts";
import type { Trip } from "../connection/connection.ts";
import { literal, type SqlValue, withValues } from "../connection/sql-text.ts";
import { NOW_US } from "../statements.ts";
import type { Assumptions, Read } from "./read.ts";

const ABORT_IF = `INSERT INTO rowlock_meta (id, rules_revision, token_floor)
  SELECT 2, NULL, 0 FROM rowlock_meta WHERE id = 1 AND`;
const UNCHANGED = `rules_revision = ? AND epoch = ? AND failed_over_at = ? AND grants_from = ? AND server_identity = ?
    AND ${NOW_US} BETWEEN ? AND ?`;
const NO_SUCH_REQUEST = `AND NOT EXISTS
  (SELECT 1 FROM rowlock_request FORCE INDEX (PRIMARY) WHERE request_key IN (?))`;

// Only MariaDB executes the text in these comments.

/** Ends a WHERE clause: outside a transaction the statement writes nothing. */
export const WHILE_OPEN = "/*M!100304 AND @@in_transaction */";
/** A value to insert into a column that cannot be NULL: outside a transaction the statement fails. */
export const VALUE_WHILE_OPEN = "/*M!100304 IF(@@in_transaction, */ ? /*M!100304 , NULL) */";

const IN_TRANSACTION = 1;

/** A condition on the row of rowlock_meta, and how to lock that row for it. */
export interface MetaCondition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  readonly lock: string;
  /** Whether the condition also reads request ids. */
  readonly readsRequests: boolean;
}

/** Asserts that the rules still have this revision, and locks them. */
export function assertRulesUnchanged(trip: Trip, rulesRevision: bigint, lock: string): void {
  trip.add(`${ABORT_IF} rules_revision <> ? ${lock}`, rulesRevision);
}

/** The assumptions of an optimistic decision, except the guard rows: these are written only at their known revisions. */
export function unchanged(
  writes: Writes,
  read: Read,
  { newRequestIds, serverIdentity }: Assumptions,
  lock: string,
): MetaCondition {
  const { nowUs, atLeastUs, failOver, rulesRevision } = read.loaded;
  // The unique key checks the request ids of added claims.
  const added = new Set(writes.added.map(({ requestId }) => requestId));
  const unseen = newRequestIds.filter((id) => !added.has(id));
  const values: SqlValue[] = [
    rulesRevision,
    failOver.epoch,
    failOver.atUs,
    failOver.grantsFromUs,
    serverIdentity,
    atLeastUs,
    Math.min(nowUs + bounds.CLOCK_BEHIND_US_MAX, firstEnd(writes, read) - 1),
  ];
  if (unseen.length === 0) return { sql: UNCHANGED, values, lock, readsRequests: false };
  const sql = `${UNCHANGED} ${NO_SUCH_REQUEST}`;
  return { sql, values: [...values, unseen.map(requestKeyOf)], lock, readsRequests: true };
}

/** The first end of a changed lease that stays held: the write must come before it, unless it was kept past its end. */
function firstEnd({ changed }: Writes, { before, loaded }: Read): number {
  let firstUs = Number.POSITIVE_INFINITY;
  for (const claim of changed) {
    if (claim.state !== "held") continue;
    const endUs = before.claim(claim)?.deadlineUs ?? firstUs;
    if (endUs > loaded.atLeastUs) firstUs = Math.min(firstUs, endUs);
  }
  return firstUs;
}

/** Throws a transient StoreError if the transaction was no longer open after one of these writes: then none took effect. */
export function mustStillBeOpen(writes: readonly unknown[], count = writes.length): void {
  for (let at = 0; at < count; at++) {
    const { serverStatus } = writes[at] as { readonly serverStatus?: number };
    if (serverStatus === undefined || (serverStatus & IN_TRANSACTION) !== 0) continue;
    const message = "The database rolled this transaction back in favour of another node's writes.";
    throw new StoreError("transient", "deadlock", message);
  }
}

/**
 * The writes of a transaction as a chain: each write has an effect only if the write before it wrote all of its rows, so
 * the row count of the last one vouches for all. A statement that counts rows would cost as much as a write. Rows may differ
 * from those that were read, because an operator who sets a database back does not take our row locks.
 */
export class WriteChain {
  readonly #trip: Trip;
  /** The rows that the last write must have written; null: there is no write yet. */
  #rows: number | null = null;

  constructor(trip: Trip) {
    this.#trip = trip;
  }

  /** Adds an UPDATE or DELETE of `rows` rows; `sql` must end in its WHERE clause. */
  update(rows: number, sql: string, ...values: readonly SqlValue[]): void {
    this.#trip.add(`${sql} ${this.#rows === null ? "" : `AND ${this.#isWritten}`} ${WHILE_OPEN}`, ...values);
    this.#rows = rows;
  }

  /** Adds an INSERT of rows whose first column cannot be NULL, or several. The last one also asserts the condition. */
  insert(sql: string, rows: readonly (readonly SqlValue[])[], condition: MetaCondition | null = null): void {
    const parts = withinBytes(rows, rows.length, this.#trip.statementBytesMax, bytesOfValues);
    for (const [at, part] of parts.entries())
      this.#insert(sql, part, at === parts.length - 1 ? condition : null);
  }

  #insert(sql: string, rows: readonly (readonly SqlValue[])[], condition: MetaCondition | null): void {
    const conditions = [
      ...(this.#rows === null ? [] : [this.#isWritten]),
      ...(condition
        ? [
            `(SELECT ${withValues(condition.sql, condition.values)} FROM rowlock_meta WHERE id = 1 ${condition.lock})`,
          ]
        : []),
    ].join(" AND ");
    const [key = null, ...first] = rows[0] ?? [];
    const open = withValues(VALUE_WHILE_OPEN, [key]);
    let text = `${sql} VALUES (${conditions === "" ? open : `IF(${conditions}, ${open}, NULL)`}, ${literal(first)})`;
    for (let at = 1; at < rows.length; at++) text += `,(${literal(rows[at] as readonly SqlValue[])})`;
    this.#trip.add(text);
    this.#rows = rows.length;
  }

  /** Adds the check of the last write, and so of all writes, and of the condition. Must directly follow that write. */
  check(condition: MetaCondition | null): void {
    if (this.#rows === null) return;
    if (!condition) {
      this.#trip.add(`${ABORT_IF} ROW_COUNT() <> ?`, this.#rows);
      return;
    }
    const { sql, values, lock } = condition;
    this.#trip.add(`${ABORT_IF} NOT (ROW_COUNT() = ? AND ${sql}) ${lock}`, this.#rows, ...values);
  }

  get #isWritten(): string {
    return `ROW_COUNT() = ${this.#rows}`;
  }
}

/** Parts of at most `countMax` items, whose statements have about `bytesMax` bytes at most; one item at least in each. */
export function withinBytes<Item>(
  items: readonly Item[],
  countMax: number,
  bytesMax: number,
  bytesOf: (item: Item) => number,
): (readonly Item[])[] {
  // Nearly always so, and then nothing is measured.
  if (items.length * bounds.ROW_BYTES_MAX + bounds.STATEMENT_BYTES_BESIDE <= bytesMax)
    return partsOf(items, countMax);
  const parts: Item[][] = [];
  let left = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    const part = parts.at(-1);
    if (part && part.length < countMax && bytes <= left) part.push(item);
    else {
      parts.push([item]);
      left = bytesMax - bounds.STATEMENT_BYTES_BESIDE;
    }
    left -= bytes;
  }
  return parts;
}

/** About how long a row of these values is as text, if all bytes are written in hexadecimal digits. */
export function bytesOfValues(values: readonly SqlValue[]): number {
  let bytes = bounds.ROW_BYTES_BESIDE;
  for (const value of values) {
    if (Buffer.isBuffer(value)) bytes += 2 * value.length;
    else if (typeof value === "string") bytes += 2 * Buffer.byteLength(value);
  }
  return bytes;
}
