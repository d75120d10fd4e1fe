// What must be true for a transaction to be written, asserted by its own statements. Two kinds:
// - An assertion in SQL inserts NULL where none may be, unless it is true. That is error 1048, which `connection/errors.ts`
//   knows as `changed`: all of the transaction is rolled back, and it is to be repeated.
// - Each write writes only while the transaction is open, and the answers say whether it still was. To apply what another
//   node has committed, a Galera node rolls back a transaction in its way; where that meets a statement in the middle of a
//   trip, MariaDB 10.11 answers the statement as done, and the statements after it run and commit one by one.

import { bytesOf } from "../../rows/values.ts";
import { CLOCK_BEHIND_US_MAX } from "../../storage-bounds.ts";
import type { Changes } from "../../store.ts";
import { StoreError } from "../../store.ts";
import type { SqlValue, Trip } from "../connection/trip.ts";
import { NOW_US } from "../rows.ts";
import type { Assumptions, Read } from "./read.ts";
import { SHARED_NOWAIT } from "./row-locks.ts";

const ABORT_IF = `INSERT INTO rowlock_meta (id, rules_revision, token_floor)
  SELECT 2, NULL, 0 FROM rowlock_meta WHERE id = 1 AND`;
const UNCHANGED = `rules_revision = ? AND epoch = ? AND failed_over_at = ? AND grants_from = ? AND server_identity = ?
    AND ${NOW_US} BETWEEN ? AND ?`;
const NO_SUCH_REQUEST = `AND NOT EXISTS
  (SELECT 1 FROM rowlock_claim FORCE INDEX (rowlock_claim_request) WHERE request_id IN (?))`;

// Only MariaDB reads what stands in these comments.

/** Ends a WHERE: nothing is written outside a transaction. */
export const WHILE_OPEN = "/*M!100304 AND @@in_transaction */";
/** A value of a row to insert, of a column that cannot be NULL: outside a transaction the statement fails. */
export const VALUE_WHILE_OPEN = "/*M!100304 IF(@@in_transaction, */ ? /*M!100304 , NULL) */";

const IN_TRANSACTION = 1;

/** What has to be true of the row of rowlock_meta, and how it is locked for that. */
export interface Facts {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  readonly lock: string;
  /** Whether claims are looked for, too. */
  readonly readsClaims: boolean;
}

/** Asserts that the write right before it has written so many rows, and what is to be true of the facts. */
export function assertAllWritten(trip: Trip, rows: number, facts: Facts | null): void {
  if (!facts) trip.add(`${ABORT_IF} ROW_COUNT() <> ?`, rows);
  else trip.add(`${ABORT_IF} NOT (ROW_COUNT() = ? AND ${facts.sql}) ${facts.lock}`, rows, ...facts.values);
}

/** Within a statement, whether it is true. Takes the values of the facts. */
export function areTrue({ sql, lock }: Facts): string {
  return `(SELECT ${sql} FROM rowlock_meta WHERE id = 1 ${lock})`;
}

/**
 * Ends an assertion that no rule has changed, where the transaction leaves waiters. Whoever changes a rule sees only
 * claims that were committed: one that an older rule leaves waiting, though the new one would let it in, would wait
 * until somebody happens to come by. So the assertion comes directly before COMMIT, where it meets a change that is
 * being made; the lock is held only until that COMMIT, in the same trip. That all servers decide by the new rules later on
 * does not make up for it: a server decides again only about locks whose waiters it has itself, so a release elsewhere that
 * grants nothing by the older rule would strand them.
 */
export function rulesLock(impatient: boolean): string {
  return impatient ? SHARED_NOWAIT : "LOCK IN SHARE MODE";
}

/** Asserts that the rules are still those of this revision, which it locks. */
export function assertRulesUnchanged(trip: Trip, rulesRevision: bigint, lock: string): void {
  trip.add(`${ABORT_IF} rules_revision <> ? ${lock}`, rulesRevision);
}

/**
 * What an optimistic decision went by, but for the guard rows, which are written at the revisions that they were known at.
 * Takes the lock on the rules, if any.
 */
export function unchanged(
  changes: Changes,
  read: Read,
  { newRequestIds, serverIdentity }: Assumptions,
  lock: string,
): Facts {
  const { nowUs, atLeastUs, failOver, rulesRevision } = read.loaded;
  // Those that are added are checked by their unique key.
  const unseen = newRequestIds.filter((id) => !changes.added.some(({ requestId }) => requestId === id));
  const values: SqlValue[] = [
    rulesRevision,
    failOver.epoch,
    failOver.atUs,
    failOver.grantsFromUs,
    bytesOf(serverIdentity),
    atLeastUs,
    Math.min(nowUs + CLOCK_BEHIND_US_MAX, firstEnd(changes, read) - 1),
  ];
  if (unseen.length === 0) return { sql: UNCHANGED, values, lock, readsClaims: false };
  const sql = `${UNCHANGED} ${NO_SUCH_REQUEST}`;
  return { sql, values: [...values, unseen.map(bytesOf)], lock, readsClaims: true };
}

/** The first end of a changed lease that goes on, before which it must be written. One that was due is kept on purpose. */
function firstEnd({ changed }: Changes, { before, loaded }: Read): number {
  let firstUs = Number.POSITIVE_INFINITY;
  for (const claim of changed) {
    if (claim.state !== "held") continue;
    const endUs = before.claim(claim)?.deadlineUs ?? firstUs;
    if (endUs > loaded.atLeastUs) firstUs = Math.min(firstUs, endUs);
  }
  return firstUs;
}

/**
 * Throws a transient StoreError if the transaction was gone by the end of one of these writes: then none of them is
 * there, and a COMMIT after them has committed nothing.
 */
export function mustStillBeOpen(writes: readonly unknown[]): void {
  for (const write of writes) {
    const { serverStatus } = write as { readonly serverStatus?: number };
    if (serverStatus === undefined || (serverStatus & IN_TRANSACTION) !== 0) continue;
    throw new StoreError(
      "transient",
      "deadlock",
      "The database rolled this transaction back in favour of another node's.",
    );
  }
}
