// One deciding transaction: load, decide, save. It takes two round trips if nothing unexpected turns up, and one if it
// is optimistic because the cache contains everything to load.

import type { DatabaseClock } from "../../../core/database-clock.ts";
import type { Lock } from "../../../core/lock.ts";
import { type Before, idsOf } from "../../cached-locks.ts";
import { type Moves, movesOf } from "../../rows/placement.ts";
import { requestKeyOf } from "../../rows/values.ts";
import { type DecideRows, isRowLocked, type LoadPlan, type StoreObserver, type Writes } from "../../store.ts";
import { type Connection, Trip } from "../connection/connection.ts";
import { rollBack } from "../connection/in-transaction.ts";
import type { SqlValue } from "../connection/sql-text.ts";
import type { LockCache } from "../lock-cache.ts";
import { RuleCache } from "../meta.ts";
import { hasKey, keyBefore, monotonicUs, SHARED_NOWAIT } from "../statements.ts";
import { assertRulesUnchanged, mustStillBeOpen } from "./assertions.ts";
import { BEGIN, load, loadAgain, type Read } from "./read.ts";
import { addWrites, leavesWaiters, meantBy, type RecordWrites, recordWrites } from "./write.ts";

export interface TransactContext {
  readonly rules: RuleCache;
  readonly cache: LockCache;
  readonly clock: DatabaseClock;
  readonly observer: StoreObserver;
}

/**
 * Runs the transaction. Throws the error of `decide`, or a StoreError; nothing was committed unless its kind is
 * `unknown_outcome`. What needs one trip awaits one promise.
 */
export async function transactOn(
  connection: Connection,
  plan: LoadPlan,
  decide: DecideRows,
  context: TransactContext,
): Promise<void> {
  const { cache, clock, observer } = context;
  const startedMs = performance.now();
  const cached = cache.assume(plan, connection.serverIdentity);
  connection.isPatient = !plan.impatient;
  connection.span = plan.span;
  let outcome: "committed" | "rolled_back" = "rolled_back";
  connection.inTransaction = true;
  let written: Writes | null = null;
  try {
    // After its own change, this transaction reads rules that are not committed. If it is rolled back, the same revision
    // may return with other rules, so it must not fill the shared cache.
    const sources = plan.rule ? { rules: new RuleCache(), clock } : context;
    const first = cached ?? (await load(connection, cache.widened(plan), sources));
    let waitersLeft = false;
    for (let read = first; ; ) {
      const writes = decide(read.loaded);
      written = writes;
      waitersLeft ||= leavesWaiters(writes);
      const trip = writingTrip(connection, plan, read, first, writes, waitersLeft);
      const results = await connection.run(trip);
      mustStillBeOpen(results, trip.commits ? results.length - 1 : results.length);
      if (!trip.commits) {
        read = await loadAgain(connection, writes.again, plan.pools ?? [], sources, first.loaded);
        continue;
      }
      if (read === first && !plan.rule) cache.learn(read, writes);
      else cache.doubt([...first.loaded.locks.keys(), ...(plan.pools ?? [])]);
      break;
    }
    connection.inTransaction = false;
    outcome = "committed";
  } catch (failure) {
    const error = written ? await meantBy(failure, connection, written) : failure;
    await rollBack(connection);
    // Rows that another transaction holds may still be as cached: the next decision verifies that.
    if (!isRowLocked(error)) {
      cache.doubt(idsOf(plan));
      // The wrong assumption may have been the clock.
      if (cached) clock.doubt(monotonicUs());
    }
    throw error;
  } finally {
    observer.transaction((performance.now() - startedMs) / 1000, connection.sent, outcome);
  }
}

/** The trip that writes what was decided, and commits it if nothing is left to decide. */
function writingTrip(
  connection: Connection,
  plan: LoadPlan,
  read: Read,
  first: Read,
  writes: Writes,
  waitersLeft: boolean,
): Trip {
  const mayReorder = plan.impatient ?? false;
  const moves = movesOf(writes, read.loaded.nowUs);
  const records = recordWrites(writes.locks, read.before);
  const last = writes.again.length === 0;
  const trip = new Trip(read.assumptions ? "decide_commit" : last ? "save_commit" : "save");
  trip.statementBytesMax = connection.packetMax;
  if (read.assumptions) trip.add(BEGIN);
  if (plan.impatient) {
    const guards = read.assumptions ? [...writes.locks, ...(writes.pools ?? []).map(({ lock }) => lock)] : [];
    addRowLocks(trip, connection, moves, guards, records, read.before);
  }
  // A server that changes a rule sees only committed claims. So if waiters are left, the rules are locked in the trip that
  // commits, and asserted to be unchanged. Otherwise a claim that the new rule would grant could be stranded: servers decide
  // again only about locks whose waiters they serve. A transaction that changes a rule holds the rules already.
  const lockOfRules =
    last && waitersLeft && !plan.rule ? (mayReorder ? SHARED_NOWAIT : "LOCK IN SHARE MODE") : "";
  addWrites(trip, writes, moves, records, read, lockOfRules, mayReorder);
  if (!last) return trip;
  if (lockOfRules && !read.assumptions) assertRulesUnchanged(trip, first.loaded.rulesRevision, lockOfRules);
  trip.addCommit();
  return trip;
}

// More rows are locked faster by a list with SKIP LOCKED: rows that others hold are missing from the count. NOWAIT does not
// work for a list, because a range also fails at the row next to it.
const ROWS_ONE_BY_ONE_MAX = 4;
const GUARD = "(SELECT 1 FROM rowlock_lock WHERE id = ? FOR UPDATE NOWAIT)";
const CLAIM =
  "(SELECT 1 FROM rowlock_claim WHERE lock_id = ? AND place = ? AND ticket_number = ? FOR UPDATE NOWAIT)";
const RECORD = "(SELECT 1 FROM rowlock_record WHERE lock_id = ? FOR UPDATE NOWAIT)";
const GUARDS = `(SELECT COUNT(*) FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id IN (?) FOR UPDATE SKIP LOCKED)`;
const RECORDS = `(SELECT COUNT(*) FROM rowlock_record FORCE INDEX (PRIMARY)
  WHERE lock_id IN (?) FOR UPDATE SKIP LOCKED)`;
const CLAIMS = "SELECT COUNT(*) FROM rowlock_claim FORCE INDEX (PRIMARY) WHERE";
// Detects claims with the same request ids that another transaction is adding. As far as is known, no such claims
// exist, and look-ups of missing keys touch no neighbouring rows, so NOWAIT works here.
const REQUESTS = `(SELECT COUNT(*) FROM rowlock_request FORCE INDEX (PRIMARY)
  WHERE request_key IN (?) FOR UPDATE NOWAIT)`;

type Locking = [sql: string, ...values: SqlValue[]];

/**
 * An impatient transaction fails at once if another one holds a row that it must lock. On MariaDB a connection can be set
 * never to wait (Connection.isPatient). MySQL has NOWAIT for reads only, so there this adds a statement that locks all rows
 * which will be written. It returns no rows, because those would cost this server more than the locks cost the database.
 */
function addRowLocks(
  trip: Trip,
  connection: Connection,
  moves: Moves,
  guards: readonly Lock[],
  recordChanges: RecordWrites | null,
  before: Before,
): void {
  if (connection.setsPatience) return;
  const guardIds = guards.map(({ id }) => id);
  const claims = [...moves.changed, ...moves.removed];
  const records = recordChanges ? [...recordChanges.changed, ...recordChanges.removed] : [];
  const recordIds = records.map(({ id }) => id);
  const rows = guards.length + claims.length + records.length;
  const locks: Locking[] = [];
  if (rows <= ROWS_ONE_BY_ONE_MAX) {
    for (const id of guardIds) locks.push([GUARD, id]);
    for (const claim of claims) locks.push([CLAIM, ...keyBefore(before, claim)]);
    for (const id of recordIds) locks.push([RECORD, id]);
  } else {
    const counts: Locking[] = [];
    if (guards.length > 0) counts.push([GUARDS, guardIds]);
    if (claims.length > 0) {
      const { sql, values } = hasKey(claims, before);
      counts.push([`(${CLAIMS} ${sql} FOR UPDATE SKIP LOCKED)`, ...values]);
    }
    if (records.length > 0) counts.push([RECORDS, recordIds]);
    // If a row is missing, the sum is negative, which an unsigned number cannot represent: error 1690.
    const sum = `${counts.map(([sql]) => sql).join(" + ")} - CAST(? AS UNSIGNED)`;
    locks.push([sum, ...counts.flatMap(([, ...values]) => values), rows]);
  }
  const requests = moves.requests.map(({ requestId }) => requestKeyOf(requestId));
  if (requests.length > 0) locks.push([REQUESTS, requests]);
  if (locks.length === 0) return;
  trip.add(`DO ${locks.map(([sql]) => sql).join(", ")}`, ...locks.flatMap(([, ...values]) => values));
}
