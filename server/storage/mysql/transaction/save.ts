// What a transaction writes after the decision. One statement writes all rows that change alike. Every guard row that
// was decided about is written, even if nothing in it changed: a cluster detects the loser of two conflicting decisions
// only by rows that both have written.

import { partsOf } from "../../../core/bounds.ts";
import type { Claim } from "../../../core/claim.ts";
import type { LimitRule } from "../../../core/limit.ts";
import type { Lock } from "../../../core/lock.ts";
import type { Before } from "../../known-locks/live-claims.ts";
import {
  CLAIM_CHANGING_COLUMNS,
  CLAIM_COLUMNS,
  CLAIM_PLAIN_COLUMNS,
  LOCK_WRITTEN_COLUMNS,
} from "../../rows/columns.ts";
import {
  bytesOf,
  changingClaimValues,
  claimValues,
  lockValues,
  plainClaimValues,
  STATE_CODES,
} from "../../rows/values.ts";
import { UPDATE_ROWS_MAX } from "../../storage-bounds.ts";
import type { Changes } from "../../store.ts";
import { DECIDED_AT_STEP_US, StoreError } from "../../store.ts";
import { type Connection, Trip } from "../connection/connection.ts";
import { hasKey, hasSecret } from "../statements.ts";
import { type MetaCondition, unchanged, VALUE_WHILE_OPEN, WHILE_OPEN } from "./assertions.ts";
import { type Arm, assignments } from "./assignments.ts";
import { rowsOf } from "./in-transaction.ts";
import type { Read } from "./read.ts";
import { addRecordWrites, type RecordChanges } from "./records.ts";
import { WriteChain } from "./write-chain.ts";

/**
 * Up to this many changed claims are written by one statement. If there are more, each statement writes the claims that
 * have the same new state.
 */
const CHANGED_TOGETHER_MAX = 4;

const DECIDED_AT = "decided_at = IF(decided_at < ?, ?, decided_at)";

const REVISION_AT = LOCK_WRITTEN_COLUMNS.indexOf("revision");

const ADD_PLAIN_CLAIMS = `INSERT INTO rowlock_claim (${CLAIM_PLAIN_COLUMNS.join(", ")})`;
const ADD_CLAIMS = `INSERT INTO rowlock_claim (${CLAIM_COLUMNS.join(", ")})`;
const ADD_RULE = `INSERT INTO rowlock_limit_rule (prefix, limit_value, version, reason, change_mark)
  VALUES (${VALUE_WHILE_OPEN}, ?, ?, ?, ?)
  ON DUPLICATE KEY UPDATE limit_value = ?, version = ?, reason = ?, change_mark = ?`;
// The step is random for the same reason as that of guard rows: rows that were set back and written again must not
// reach a known revision.
const RAISE_RULES_REVISION = `UPDATE rowlock_meta
  SET rules_revision = rules_revision + 1 + CAST(FLOOR(RAND() * 1048576) AS UNSIGNED) WHERE id = 1 ${WHILE_OPEN}`;

const REQUESTS =
  "SELECT 1 FROM rowlock_claim FORCE INDEX (rowlock_claim_request) WHERE request_id IN (?) LIMIT 1";

/**
 * Sends the trip that writes the changes; returns its results. Throws a StoreError, or an Error if a claim's ticket
 * number already exists, which only a bug can cause.
 */
export async function runWrites(connection: Connection, trip: Trip, { added }: Changes): Promise<unknown[]> {
  try {
    return await connection.run(trip);
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== "duplicate_request") throw error;
    // Two nodes of Galera that write a limit rule at once may also cause a duplicate key: the decision is retried.
    if (added.length === 0) throw error;
    // The transaction is still open, and a statement that finds a duplicate key locks the existing row, so this read
    // sees it.
    const look = new Trip("duplicate_request");
    look.add(
      REQUESTS,
      added.map(({ requestId }) => bytesOf(requestId)),
    );
    const [requests] = await connection.run(look);
    if (rowsOf(requests).length > 0) throw error;
    throw new Error("A claim was added with the ticket number of another claim.", { cause: error });
  }
}

/**
 * Adds the statements that write the changes. The guard rows come first: if they are not locked yet, these statements
 * lock them, and only at the assumed revisions. The last statement verifies that everything was written and that the
 * assumptions hold, with a lock on the rules if `lockOfRules` names one. It is the statement that adds claims, or one
 * more.
 */
export function addWrites(
  trip: Trip,
  changes: Changes,
  records: RecordChanges | null,
  read: Read,
  lockOfRules: string,
): void {
  const { before, assumptions, loaded } = read;
  const writes = new WriteChain(trip);
  for (const part of partsOf(changes.locks, UPDATE_ROWS_MAX))
    addGuardUpdate(writes, part, before, loaded.atLeastUs, assumptions !== null);
  // Revisions are random, so a guard row at its known revision also proves that its claims are as they were known.
  addClaimUpdates(writes, changes, before, assumptions ? hasKey : hasSecret);
  if (records) addRecordWrites(writes, records, before);
  const condition = assumptions && unchanged(changes, read, assumptions, lockOfRules);
  // A statement that adds claims must not read other claims.
  const isLast = changes.added.length > 0 && !condition?.readsClaims;
  if (changes.added.length > 0) addClaims(writes, changes, isLast ? condition : null);
  if (!isLast) writes.check(condition);
  if (changes.rule) addRuleWrites(trip, changes.rule);
}

function addClaims(writes: WriteChain, { added }: Changes, condition: MetaCondition | null): void {
  const arePlain = added.every(({ terms }) => terms === null);
  if (arePlain) writes.insert(ADD_PLAIN_CLAIMS, added.map(plainClaimValues), condition);
  else writes.insert(ADD_CLAIMS, added.map(claimValues), condition);
}

function addClaimUpdates(
  writes: WriteChain,
  { changed }: Changes,
  before: Before,
  matching: typeof hasSecret,
): void {
  const groups =
    changed.length <= CHANGED_TOGETHER_MAX
      ? [changed]
      : Object.keys(STATE_CODES).map((state) => changed.filter((claim) => claim.state === state));
  for (const group of groups)
    for (const part of partsOf(group, UPDATE_ROWS_MAX)) addClaimUpdate(writes, part, before, matching);
}

function addRuleWrites(trip: Trip, { prefix, limit, version, reason, changeMark }: LimitRule): void {
  const values = [limit, version, bytesOf(reason), changeMark];
  trip.add(ADD_RULE, bytesOf(prefix), ...values, ...values);
  trip.add(RAISE_RULES_REVISION);
}

/** Whether the changes leave claims waiting under a limit from a pattern or the default. */
export function leavesWaiters(changes: Changes): boolean {
  return changes.locks.some((lock) => lock.waiting > 0 && lock.limit === null);
}

function addClaimUpdate(
  writes: WriteChain,
  claims: readonly Claim[],
  before: Before,
  matching: typeof hasSecret,
): void {
  const rows = claims.map((claim) => {
    const old = before.claim(claim);
    return { before: old ? changingClaimValues(old) : [], after: changingClaimValues(claim) };
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

function addGuardUpdate(
  writes: WriteChain,
  locks: readonly Lock[],
  before: Before,
  atLeastUs: number,
  onlyAsKnown: boolean,
): void {
  const rows = locks.map((lock) => {
    const old = before.lock(lock.id);
    if (!old) throw new Error(`Lock ${lock.id} was decided about but never read.`);
    return { before: lockValues(old), after: lockValues(lock) };
  });
  const arm = (index: number): Arm => ["WHEN ?", (locks[index] as Lock).id];
  const { sets, values } = assignments(LOCK_WRITTEN_COLUMNS, rows, arm, "CASE id");
  // The database skips an UPDATE that changes nothing, and then a cluster would not see that the row was decided about.
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
    ...(onlyAsKnown ? locks.flatMap(({ id }, at) => [id, rows[at]?.before[REVISION_AT] as bigint]) : []),
  );
}
