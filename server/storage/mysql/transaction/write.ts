// What a transaction writes after the decision. Every guard row that was decided about is written, even if nothing in it
// changed: a cluster detects the loser of two conflicting decisions only by rows that both have written.

import { partsOf } from "../../../core/bounds.ts";
import type { Claim } from "../../../core/claim.ts";
import type { LimitRule } from "../../../core/limit.ts";
import type { Lock } from "../../../core/lock.ts";
import type { Before } from "../../cached-locks.ts";
import {
  CLAIM_COLUMNS,
  CLAIM_WRITTEN_COLUMNS,
  HISTORY_COLUMNS,
  NEVER_DUE_US,
  RECORD_CHANGING_COLUMNS,
  RECORD_COLUMNS,
  RULE_COLUMNS,
} from "../../rows/columns.ts";
import { CHANGE_COLUMNS, changeValues } from "../../rows/kept-changes.ts";
import { type Moves, withoutDeadlines } from "../../rows/placement.ts";
import {
  asIs,
  changingRecordValues,
  claimValuesBy,
  historyValuesBy,
  holderValuesBy,
  recordValues,
  requestKeyOf,
  ruleValues,
  STATE_CODES,
  writtenClaimValues,
} from "../../rows/values.ts";
import { UPDATE_ROWS_MAX } from "../../storage-bounds.ts";
import { DECIDED_AT_STEP_US, StoreError, type Writes } from "../../store.ts";
import { type Connection, query, type Trip } from "../connection/connection.ts";
import { literal, type SqlValue } from "../connection/sql-text.ts";
import { hasKey, hasSecret } from "../statements.ts";
import {
  bytesOfValues,
  unchanged,
  VALUE_WHILE_OPEN,
  WHILE_OPEN,
  WriteChain,
  withinBytes,
} from "./assertions.ts";
import { assignments, CASE_ID, guardSets, holderCase } from "./assignments.ts";
import type { Read } from "./read.ts";

/** Up to this many changed claims are written by one statement; more by one for each new state. */
const CHANGED_TOGETHER_MAX = 4;

/** The same for guard rows: more are written by one statement for each kind of change of their holders. */
const GUARDS_TOGETHER_MAX = 6;

const HOLDER_ENDS = `COALESCE(holder_deadline, ${NEVER_DUE_US})`;
/** As `isAlone`. */
const IS_ALONE = "holders = 1 AND waiting = 0 AND holder_state = 2";

const ADD_CLAIMS = `INSERT INTO rowlock_claim (${CLAIM_COLUMNS.join(", ")})`;
const REMOVE_CLAIMS = "DELETE c FROM rowlock_claim c FORCE INDEX (PRIMARY) WHERE";
const ADD_TO_HISTORY = `INSERT INTO rowlock_history (${HISTORY_COLUMNS.join(", ")})`;
const ADD_REQUESTS = "INSERT INTO rowlock_request (request_key, lock_id, ticket_number)";
const ADD_CHANGES = `INSERT INTO rowlock_change (${CHANGE_COLUMNS})`;
const ADD_RECORDS = `INSERT INTO rowlock_record (${RECORD_COLUMNS.join(", ")})`;
const REMOVE_RECORDS = "DELETE r FROM rowlock_record r FORCE INDEX (PRIMARY) WHERE r.lock_id IN (?)";

const [, ...RULE_CHANGING_COLUMNS] = RULE_COLUMNS;
const ADD_RULE = `INSERT INTO rowlock_limit_rule (${RULE_COLUMNS.join(", ")})
  VALUES (${VALUE_WHILE_OPEN}, ${RULE_CHANGING_COLUMNS.map(() => "?").join(", ")})
  ON DUPLICATE KEY UPDATE ${RULE_CHANGING_COLUMNS.map((column) => `${column} = ?`).join(", ")}`;
// The step is random, because rows that were set back and written again must not reach a known revision.
const RAISE_RULES_REVISION = `UPDATE rowlock_meta
  SET rules_revision = rules_revision + 1 + CAST(FLOOR(RAND() * 1048576) AS UNSIGNED) WHERE id = 1 ${WHILE_OPEN}`;

const REQUESTS = "SELECT 1 FROM rowlock_request FORCE INDEX (PRIMARY) WHERE request_key IN (?) LIMIT 1";

/** Returns what a failure to write means: an Error if a claim's ticket number already exists, which only a bug can cause. */
export async function meantBy(failure: unknown, connection: Connection, { added }: Writes): Promise<unknown> {
  if (!(failure instanceof StoreError) || failure.reason !== "duplicate_request") return failure;
  // Two nodes of Galera that write a limit rule at once may also cause a duplicate key: the decision is retried.
  if (added.length === 0) return failure;
  // The transaction is still open, and a statement that finds a duplicate key locks the existing row.
  const keys = added.map(({ requestId }) => requestKeyOf(requestId));
  try {
    if ((await query(connection, "duplicate_request", REQUESTS, keys)).length > 0) return failure;
  } catch (error) {
    return error;
  }
  return new Error("A claim was added with the ticket number of another claim.", { cause: failure });
}

/**
 * Adds the statements that write the rows. The guard rows come first: if they are not locked yet, these statements
 * lock them, and only at the assumed revisions. The last statement verifies that everything was written and that the
 * assumptions hold. It is the last one that adds rows, or one more.
 *
 * `lockOfRules`: the clause that locks the rules; empty if they need no lock. `mayReorder`: guard rows may be locked in any
 * order, because the transaction waits for no row lock.
 */
export function addWrites(
  trip: Trip,
  writes: Writes,
  moves: Moves,
  records: RecordWrites | null,
  read: Read,
  lockOfRules: string,
  mayReorder: boolean,
): void {
  const { before, assumptions, loaded } = read;
  const chain = new WriteChain(trip);
  const bytesOfGuard = ({ id }: Lock) => {
    const holder = moves.holders.get(id)?.holder;
    return bytesOfValues(holder ? holderValuesBy(asIs, holder) : []);
  };
  for (const locks of guardsAlike(writes.locks, moves, mayReorder))
    for (const part of withinBytes(locks, UPDATE_ROWS_MAX, trip.statementBytesMax, bytesOfGuard))
      addGuardUpdate(chain, part, moves, before, loaded.atLeastUs, assumptions !== null);
  // After the locks, as they are locked.
  const pools = writes.pools?.map(({ lock }) => lock) ?? [];
  if (pools.length > 0)
    addGuardUpdate(chain, pools, withoutDeadlines(moves), before, loaded.atLeastUs, assumptions !== null);
  // Revisions are random, so a guard row at its known revision also proves that its claims are as they were known.
  const matching = assumptions ? hasKey : hasSecret;
  for (const claims of claimsAlike(moves.changed))
    for (const part of partsOf(claims, UPDATE_ROWS_MAX)) addClaimUpdate(chain, part, before, matching);
  for (const part of partsOf(moves.removed, UPDATE_ROWS_MAX)) {
    const { sql, values } = matching(part, before);
    chain.update(part.length, `${REMOVE_CLAIMS} ${sql}`, ...values);
  }
  if (records) {
    const { added, changed, removed } = records;
    if (added.length > 0) chain.insert(ADD_RECORDS, added.map(recordValues));
    for (const part of partsOf(changed, UPDATE_ROWS_MAX)) addRecordUpdate(chain, part, before);
    if (removed.length > 0) chain.update(removed.length, REMOVE_RECORDS, removed.map(idOf));
  }
  const condition = assumptions && unchanged(writes, read, assumptions, lockOfRules);
  const added = addedRows(moves, writes, loaded.nowUs);
  // A statement that adds request ids must not read others.
  const isLast = added.length > 0 && !condition?.readsRequests;
  for (const [at, { sql, rows }] of added.entries())
    chain.insert(sql, rows, isLast && at === added.length - 1 ? condition : null);
  if (!isLast) chain.check(condition);
  if (writes.rule) addRuleWrites(trip, writes.rule);
}

function addedRows(
  { added, ended, requests }: Moves,
  { noted = [] }: Writes,
  nowUs: number,
): { sql: string; rows: SqlValue[][] }[] {
  return [
    { sql: ADD_CLAIMS, rows: added.map((claim) => claimValuesBy(asIs, claim)) },
    { sql: ADD_TO_HISTORY, rows: ended.map((claim) => historyValuesBy(asIs, claim)) },
    {
      sql: ADD_REQUESTS,
      rows: requests.map((claim) => [requestKeyOf(claim.requestId), claim.lockId, claim.ticketNumber]),
    },
    { sql: ADD_CHANGES, rows: noted.map((change) => changeValues(change, nowUs)) },
  ].filter(({ rows }) => rows.length > 0);
}

function claimsAlike(changed: readonly Claim[]): (readonly Claim[])[] {
  if (changed.length <= CHANGED_TOGETHER_MAX) return [changed];
  return Object.keys(STATE_CODES).map((state) => changed.filter((claim) => claim.state === state));
}

function addRuleWrites(trip: Trip, rule: LimitRule): void {
  const [prefix, ...values] = ruleValues(rule);
  trip.add(ADD_RULE, prefix as SqlValue, ...values, ...values);
  trip.add(RAISE_RULES_REVISION);
}

/** Whether the changes leave claims waiting that a change of a pattern may concern. */
export function leavesWaiters(writes: Writes): boolean {
  return writes.locks.some(
    ({ waiting, limit, wakesAtUs }) => waiting > 0 && (limit === null || wakesAtUs !== null),
  );
}

function addClaimUpdate(
  writes: WriteChain,
  claims: readonly Claim[],
  before: Before,
  matching: typeof hasSecret,
): void {
  const rows = claims.map((claim) => {
    const old = before.claim(claim);
    return { before: old ? writtenClaimValues(old) : [], after: writtenClaimValues(claim) };
  });
  const whens = claims.map(
    ({ lockId, ticketNumber }) => `WHEN lock_id = ${lockId} AND ticket_number = ${ticketNumber}`,
  );
  const sets = assignments(CLAIM_WRITTEN_COLUMNS, rows, { cases: "CASE", whens });
  if (sets.length === 0) return;
  const key = matching(claims, before);
  writes.update(
    claims.length,
    `UPDATE rowlock_claim FORCE INDEX (PRIMARY) SET ${sets.join(", ")} WHERE ${key.sql}`,
    ...key.values,
  );
}

/** Divides guard rows so that those of a statement change alike, and few columns need a CASE. */
function guardsAlike(locks: readonly Lock[], { holders }: Moves, mayReorder: boolean): Lock[][] {
  if (!mayReorder || locks.length <= GUARDS_TOGETHER_MAX) return [[...locks]];
  return [...Map.groupBy(locks, ({ id }) => holderCase(holders.get(id))).values()];
}

function addGuardUpdate(
  writes: WriteChain,
  locks: readonly Lock[],
  moves: Moves,
  before: Before,
  atLeastUs: number,
  onlyAsKnown: boolean,
): void {
  const ids = locks.map(({ id }) => `${id}`);
  const sets = guardSets(locks, ids, moves, before);
  // The database skips an UPDATE that changes nothing, and then a cluster would not see that the row was decided about.
  sets.push(sets.length > 0 ? decidedAtBy(atLeastUs) : `decided_at = ${literal(atLeastUs)}`);
  const bound = boundBy(locks, atLeastUs, moves);
  if (bound) sets.push(`next_deadline = ${bound}`);
  const revisions = locks.map(({ id }) => `${before.lock(id)?.revision}`);
  const asKnown = onlyAsKnown ? `AND revision = ${eachOf(ids, revisions)}` : "";
  writes.update(
    locks.length,
    `UPDATE rowlock_lock FORCE INDEX (PRIMARY) SET ${sets.join(", ")} WHERE id IN (${ids.join(",")}) ${asKnown}`,
  );
}

/** A time that lies ahead is from a clock that was ahead: no sweep would find the row before the clock comes there. */
function decidedAtBy(atLeastUs: number): string {
  const [from, to] = [atLeastUs - DECIDED_AT_STEP_US, atLeastUs + DECIDED_AT_STEP_US];
  return `decided_at = IF(decided_at BETWEEN ${literal(from)} AND ${to}, decided_at, ${atLeastUs})`;
}

function eachOf(ids: readonly string[], values: readonly string[]): string {
  if (ids.length === 1) return values[0] as string;
  return `${CASE_ID} ${ids.map((id, at) => `WHEN ${id} THEN ${values[at]}`).join(" ")} END`;
}

/**
 * The bound of deadlines; null: it stays. Comes last in its statement: the database assigns from left to right, so this
 * reads the new values of the row. A lock whose only live claim is in its guard row has an exact bound. It is written when
 * less than half of the time is left: so no sweep looks at a lease that is renewed in time, and the index seldom changes.
 */
function boundBy(locks: readonly Lock[], atLeastUs: number, { earliestUs }: Moves): string | null {
  const busy = locks.filter(({ holders, waiting }) => holders + waiting > 0);
  if (busy.length === 0) return null;
  const half = `${literal(atLeastUs)} + (${HOLDER_ENDS} - ${atLeastUs}) DIV 2`;
  const exact = `IF(next_deadline BETWEEN ${half} AND ${HOLDER_ENDS}, next_deadline, ${HOLDER_ENDS})`;
  const least = literal(earliestUs ?? NEVER_DUE_US);
  const wakes = busy.some(({ wakesAtUs }) => wakesAtUs !== null)
    ? `, COALESCE(wakes_at, ${NEVER_DUE_US})`
    : "";
  const lowered = `LEAST(COALESCE(next_deadline, ${least}), ${least}${wakes})`;
  const alone = busy.filter(isAlone).length;
  const ofBusy =
    alone === busy.length ? exact : alone === 0 ? lowered : `IF(${IS_ALONE}, ${exact}, ${lowered})`;
  return busy.length === locks.length ? ofBusy : `IF(holders + waiting = 0, next_deadline, ${ofBusy})`;
}

function isAlone({ holders, waiting, firstHolder }: Lock): boolean {
  return holders === 1 && waiting === 0 && firstHolder !== null;
}

/** Locks, by what happens to their records. */
export type RecordWrites = Record<"added" | "changed" | "removed", Lock[]>;

/** Returns what to write; null if none of the locks has or had a record. */
export function recordWrites(locks: readonly Lock[], before: Before): RecordWrites | null {
  let changes: RecordWrites | null = null;
  for (const lock of locks) {
    const old = before.lock(lock.id);
    if (!lock.record && !old?.record) continue;
    changes ??= { added: [], changed: [], removed: [] };
    if (!old?.record) changes.added.push(lock);
    else if (!lock.record) changes.removed.push(lock);
    // Becoming free or taken also changes the record, because `due_at` depends on it.
    else if (lock.record !== old.record || isIdle(lock) !== isIdle(old)) changes.changed.push(lock);
  }
  return changes;
}

function isIdle({ holders, waiting }: Lock): boolean {
  return holders === 0 && waiting === 0;
}

function addRecordUpdate(writes: WriteChain, locks: readonly Lock[], before: Before): void {
  const rows = locks.map((lock) => ({
    before: changingRecordValues(before.lock(lock.id) as Lock),
    after: changingRecordValues(lock),
  }));
  const whens = locks.map(({ id }) => `WHEN ${id}`);
  const sets = assignments(RECORD_CHANGING_COLUMNS, rows, { cases: "CASE CAST(lock_id AS SIGNED)", whens });
  if (sets.length === 0) return;
  writes.update(
    locks.length,
    `UPDATE rowlock_record FORCE INDEX (PRIMARY) SET ${sets.join(", ")} WHERE lock_id IN (?)`,
    locks.map(idOf),
  );
}

function idOf({ id }: Lock): bigint {
  return id;
}
