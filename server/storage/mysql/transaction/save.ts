// What a transaction writes after the decision. Rows that change alike are written by one statement, in which a column
// is set to one value, moved by one difference, or picked row by row; a column that no row changes is not named. Each
// guard row that was decided about is written, whatever has changed: a cluster rejects the loser of two deciders only
// by what both have written.

import type { Claim } from "../../../core/claim.ts";
import type { LimitRule } from "../../../core/limit.ts";
import type { Lock } from "../../../core/lock.ts";
import { STATE_CODES } from "../../rows/codes.ts";
import {
  CLAIM_CHANGING_COLUMNS,
  CLAIM_COLUMNS,
  CLAIM_FIXED_COLUMNS,
  LOCK_COUNTER_COLUMNS,
  LOCK_WRITTEN_COLUMNS,
} from "../../rows/columns.ts";
import { bytesOf, changingClaimValues, fixedClaimValues, lockValues, type Value } from "../../rows/values.ts";
import { CLOCK_BEHIND_US_MAX, DECIDED_AT_STEP_US, UPDATE_ROWS_MAX } from "../../storage-bounds.ts";
import type { Changes } from "../../store.ts";
import { StoreError } from "../../store.ts";
import type { Row, Session } from "../connection/session.ts";
import { type SqlValue, Trip } from "../connection/trip.ts";
import { hasKey, hasSecret } from "../keys.ts";
import { bigintOf, NOW_US } from "../rows.ts";
import { rowsOf } from "./in-transaction.ts";
import type { Read } from "./load.ts";
import type { Known } from "./lock-cache.ts";
import { SHARED_NOWAIT } from "./row-locks.ts";
import { VALUE_WHILE_OPEN, WHILE_OPEN } from "./still-open.ts";
import { WriteChain } from "./write-chain.ts";

const COUNTERS: ReadonlySet<string> = new Set(LOCK_COUNTER_COLUMNS);

const DEADLINE_AT = CLAIM_COLUMNS.indexOf("deadline");

const DECIDED_AT = "decided_at = IF(decided_at < ?, ?, decided_at)";

const REVISION_AT = LOCK_WRITTEN_COLUMNS.indexOf("revision");

const ADD_CLAIMS = `INSERT INTO rowlock_claim (${CLAIM_COLUMNS.join(", ")})`;
const ADD_RULE = `INSERT INTO rowlock_limit_rule (prefix, limit_value, version, reason)
  VALUES (${VALUE_WHILE_OPEN}, ?, ?, ?)
  ON DUPLICATE KEY UPDATE limit_value = ?, version = ?, reason = ?`;
// By a random step, for the same reason as that of guard rows.
const RAISE_RULES_REVISION = `UPDATE rowlock_meta
  SET rules_revision = rules_revision + 1 + CAST(FLOOR(RAND() * 1048576) AS UNSIGNED) WHERE id = 1 ${WHILE_OPEN}`;

// A claim that is left waiting by an older rule, while the new one would let it in, would wait until somebody happens
// to come by: who changes a rule has seen only claims that were committed. So a transaction that leaves waiters waits,
// at its very end, for a change that is being made, and fails (NULL where none may be) if the rules are no longer
// those it went by. The lock is held for the moment until the COMMIT in the same trip.
const RULES_UNCHANGED = `INSERT INTO rowlock_meta (id, rules_revision, token_floor)
  SELECT 2, NULL, 0 FROM rowlock_meta WHERE id = 1 AND rules_revision <> ?`;

// Where the rows were known without a load, the writing of the guard rows comes first, which locks them, and only at
// the revision that they were known at. In the end this fails, as RULES_UNCHANGED does, unless all of them were still
// that, all rows were written, and everything else that the decision went by is true.
const STILL_KNOWN = `INSERT INTO rowlock_meta (id, rules_revision, token_floor)
  SELECT 2, 0, NULL FROM rowlock_meta WHERE id = 1 AND NOT (ROW_COUNT() = ?
    AND rules_revision = ? AND epoch = ? AND failed_over_at = ? AND grants_from = ? AND server_identity = ?
    AND ${NOW_US} BETWEEN ? AND ?`;
const NO_SUCH_REQUEST = `AND NOT EXISTS
  (SELECT 1 FROM rowlock_claim FORCE INDEX (rowlock_claim_request) WHERE request_id IN (?))`;

const REQUESTS =
  "SELECT 1 FROM rowlock_claim FORCE INDEX (rowlock_claim_request) WHERE request_id IN (?) LIMIT 1";

/** Sends the trip that writes the changes. */
export async function runWrites(session: Session, trip: Trip, { added }: Changes): Promise<unknown[]> {
  try {
    return await session.run(trip);
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== "duplicate_request") throw error;
    // The transaction is still open, and who finds a key twice has locked the row that has it: it is there to be seen.
    const look = new Trip("duplicate_request");
    look.add(
      REQUESTS,
      added.map(({ requestId }) => bytesOf(requestId)),
    );
    const [requests] = await session.run(look);
    if (rowsOf(requests).length > 0) throw error;
    throw new Error("A claim was added with a ticket number that another one has.", { cause: error });
  }
}

/** Adds the statements that write the changes, after the guard rows were locked. */
export function addWrites(trip: Trip, changes: Changes, read: Read): void {
  const writes = new WriteChain(trip);
  addClaimWrites(writes, changes, read);
  for (const part of partsOf(changes.locks)) addGuardUpdate(writes, part, read);
  writes.check();
  if (changes.rule) addRuleWrites(trip, changes.rule);
}

/** Adds the statements that lock the guard rows, write the changes, and make sure that all is as it was known. */
export function addKnownWrites(trip: Trip, changes: Changes, known: Known): void {
  const { read, newRequestIds, serverIdentity } = known;
  const { nowUs, atLeastUs, failOver } = read.loaded;
  const writes = new WriteChain(trip);
  addGuardUpdate(writes, changes.locks, read, true);
  // That the guard rows are as they were known, by revisions which are random, proves the same of their claims.
  addClaimWrites(writes, changes, read, hasKey);
  // Those that are added are checked by their unique key.
  const unseen = newRequestIds.filter((id) => !changes.added.some(({ requestId }) => requestId === id));
  trip.add(
    `${STILL_KNOWN} ${unseen.length > 0 ? NO_SUCH_REQUEST : ""})`,
    writes.rows,
    BigInt(read.rulesRevision),
    failOver.epoch,
    failOver.atUs,
    failOver.grantsFromUs,
    bytesOf(serverIdentity),
    atLeastUs,
    Math.min(nowUs + CLOCK_BEHIND_US_MAX, firstEnd(changes, read) - 1),
    ...(unseen.length > 0 ? [unseen.map(bytesOf)] : []),
  );
}

/** When the first of the changed leases ends that goes on: it must not have ended by then. One that was due is kept on purpose. */
function firstEnd({ changed }: Changes, { claimRows, loaded }: Read): number {
  let firstUs = Number.POSITIVE_INFINITY;
  for (const { lockId, ticketNumber, state } of changed) {
    if (state !== "held") continue;
    const deadline = claimRows.get(`${lockId}.${ticketNumber}`)?.[DEADLINE_AT] ?? null;
    const endUs = deadline === null ? firstUs : Number(deadline);
    if (endUs > loaded.atLeastUs) firstUs = Math.min(firstUs, endUs);
  }
  return firstUs;
}

function addClaimWrites(
  writes: WriteChain,
  { added, changed }: Changes,
  read: Read,
  matching: typeof hasSecret = hasSecret,
): void {
  if (added.length > 0) {
    const rows = added.map((claim) => [...fixedClaimValues(claim), ...changingClaimValues(claim)]);
    writes.insert(ADD_CLAIMS, rows);
  }
  for (const state of Object.keys(STATE_CODES)) {
    const alike = changed.filter((claim) => claim.state === state);
    for (const part of partsOf(alike)) addClaimUpdate(writes, part, read, matching);
  }
}

function addRuleWrites(trip: Trip, { prefix, limit, version, reason }: LimitRule): void {
  const bytes = bytesOf(reason);
  trip.add(ADD_RULE, bytesOf(prefix), limit, version, bytes, limit, version, bytes);
  trip.add(RAISE_RULES_REVISION);
}

/** Whether claims are left waiting under a limit that a pattern or the default gives. */
export function leavesWaiters(changes: Changes): boolean {
  return changes.locks.some((lock) => lock.waiting > 0 && lock.limit === null);
}

/** Adds the check that the rules are still those of this revision. Directly before COMMIT. */
export function addRulesCheck(trip: Trip, rulesRevision: string, impatient: boolean): void {
  const shared = impatient ? SHARED_NOWAIT : "LOCK IN SHARE MODE";
  trip.add(`${RULES_UNCHANGED} ${shared}`, BigInt(rulesRevision));
}

function addClaimUpdate(
  writes: WriteChain,
  claims: readonly Claim[],
  read: Read,
  matching: typeof hasSecret,
): void {
  const rows = claims.map((claim) => {
    const before = read.claimRows.get(`${claim.lockId}.${claim.ticketNumber}`);
    return { before: before?.slice(CLAIM_FIXED_COLUMNS.length) ?? [], after: changingClaimValues(claim) };
  });
  const arm = (index: number): Arm => {
    const { lockId, ticketNumber } = claims[index] as Claim;
    return ["WHEN lock_id = ? AND ticket_number = ?", lockId, ticketNumber];
  };
  const { sets, values } = assignments(CLAIM_CHANGING_COLUMNS, rows, arm, "CASE");
  if (sets.length === 0) return;
  const key = matching(claims);
  writes.update(
    claims.length,
    `UPDATE rowlock_claim FORCE INDEX (PRIMARY) SET ${sets.join(", ")} WHERE ${key.sql}`,
    ...values,
    ...key.values,
  );
}

function addGuardUpdate(writes: WriteChain, locks: readonly Lock[], read: Read, onlyAsKnown = false): void {
  const rows = locks.map((lock) => {
    const before = read.guardRows.get(lock.id);
    if (!before) throw new Error(`Lock ${lock.id} was decided about and never read.`);
    return { before: before.slice(2), after: lockValues(lock) };
  });
  const arm = (index: number): Arm => ["WHEN ?", (locks[index] as Lock).id];
  const { sets, values } = assignments(LOCK_WRITTEN_COLUMNS, rows, arm, "CASE id");
  const { atLeastUs } = read.loaded;
  // A row that is written as it was is not written at all, and then a cluster would not see that it was decided about.
  const decidedAt = sets.length > 0 ? [atLeastUs - DECIDED_AT_STEP_US, atLeastUs] : [atLeastUs];
  sets.push(sets.length > 0 ? DECIDED_AT : "decided_at = ?");
  const asKnown = onlyAsKnown
    ? `AND revision = CASE id ${locks.map(() => "WHEN ? THEN ?").join(" ")} END`
    : "";
  writes.update(
    locks.length,
    `UPDATE rowlock_lock FORCE INDEX (PRIMARY) SET ${sets.join(", ")} WHERE id IN (?) ${asKnown}`,
    ...values,
    ...decidedAt,
    locks.map(({ id }) => id),
    ...(onlyAsKnown ? locks.flatMap(({ id }, at) => [id, bigintOf(rows[at]?.before[REVISION_AT])]) : []),
  );
}

interface RowChange {
  /** Empty for a claim that was not read: then all its columns are written. */
  readonly before: Row;
  readonly after: readonly Value[];
}

/** What selects one row among those of a statement. */
type Arm = readonly [sql: string, ...values: SqlValue[]];

function assignments(
  columns: readonly string[],
  rows: readonly RowChange[],
  arm: (index: number) => Arm,
  cases: string,
): { sets: string[]; values: SqlValue[] } {
  const sets: string[] = [];
  const values: SqlValue[] = [];
  columns.forEach((column, at) => {
    const moved = rows.filter(({ before, after }) => !isSame(before[at], after[at]));
    const [first] = moved;
    if (!first) return;
    const value = first.after[at] as Value;
    const difference = COUNTERS.has(column) ? differenceAt(first, at) : null;
    if (rows.every(({ after }) => isSame(after[at], value))) {
      sets.push(`${column} = ?`);
      values.push(value);
    } else if (difference !== null && rows.every((row) => differenceAt(row, at) === difference)) {
      sets.push(`${column} = ${column} + ?`);
      values.push(difference);
    } else {
      const arms = rows.flatMap((row, index) => {
        if (!moved.includes(row)) return [];
        const [sql, ...selecting] = arm(index);
        values.push(...selecting, row.after[at] as Value);
        return [`${sql} THEN ?`];
      });
      sets.push(`${column} = ${cases} ${arms.join(" ")} ELSE ${column} END`);
    }
  });
  return { sets, values };
}

function isSame(a: Row[number] | Value | undefined, b: Row[number] | Value | undefined): boolean {
  if (a === null || b === null) return a === b;
  if (Buffer.isBuffer(a)) return Buffer.isBuffer(b) && a.equals(b);
  return String(a) === String(b);
}

function differenceAt(row: RowChange, at: number): bigint {
  return BigInt(row.after[at] as number | bigint) - BigInt(row.before[at] as string | number);
}

function partsOf<Item>(items: readonly Item[]): (readonly Item[])[] {
  const parts: (readonly Item[])[] = [];
  for (let at = 0; at < items.length; at += UPDATE_ROWS_MAX)
    parts.push(items.slice(at, at + UPDATE_ROWS_MAX));
  return parts;
}
