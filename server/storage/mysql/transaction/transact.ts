// One deciding transaction: load, decide, save. It takes two round trips if nothing unexpected turns up, and one if it
// is optimistic because the cache contains everything to load. The caller supplies the decision; `read.ts` and
// `lock-cache.ts` read, `write.ts` writes.

import type { DatabaseClock } from "../../../core/database-clock.ts";
import { movesOf } from "../../rows/placement.ts";
import type { DecideRows, LoadPlan, StoreObserver, Writes } from "../../store.ts";
import { isRowLocked } from "../../store.ts";
import { type Connection, Trip } from "../connection/connection.ts";
import { rollBack } from "../connection/in-transaction.ts";
import type { LockCache } from "../lock-cache.ts";
import { RuleCache } from "../meta.ts";
import { monotonicUs } from "../statements.ts";
import { assertRulesUnchanged, mustStillBeOpen, rulesLock } from "./assertions.ts";
import { BEGIN, load, loadAgain, type Read } from "./read.ts";
import { addRowLocks } from "./row-locks.ts";
import { addWrites, leavesWaiters, meantBy, recordWrites } from "./write.ts";

/** What the transactions of a store share. */
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
    const rules = plan.rule ? new RuleCache() : context.rules;
    const first = cached ?? (await load(connection, cache.widened(plan), rules, clock));
    let waitersLeft = false;
    for (let read = first; ; ) {
      const writes = decide(read.loaded);
      written = writes;
      waitersLeft ||= leavesWaiters(writes);
      const trip = writingTrip(connection, plan, read, first, writes, waitersLeft);
      const results = await connection.run(trip);
      mustStillBeOpen(results, trip.commits ? results.length - 1 : results.length);
      if (!trip.commits) {
        read = await loadAgain(connection, writes.again, rules, clock, first.loaded);
        continue;
      }
      if (read === first && !plan.rule) cache.learn(read, writes);
      else cache.doubt(first.loaded.locks.keys());
      break;
    }
    connection.inTransaction = false;
    outcome = "committed";
  } catch (failure) {
    const error = written ? await meantBy(failure, connection, written) : failure;
    await rollBack(connection);
    // Rows that another transaction holds may still be as cached: the next decision verifies that.
    if (!isRowLocked(error)) {
      cache.doubt(plan.locks.map(({ id }) => id));
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
  if (plan.impatient)
    addRowLocks(trip, connection, moves, read.assumptions ? writes.locks : [], records, read.before);
  // A transaction that changes a rule already holds the rules exclusively.
  const lockOfRules = last && waitersLeft && !plan.rule ? rulesLock(mayReorder) : "";
  addWrites(trip, writes, moves, records, read, { lockOfRules, mayReorder });
  if (!last) return trip;
  if (lockOfRules && !read.assumptions) assertRulesUnchanged(trip, first.loaded.rulesRevision, lockOfRules);
  trip.addCommit();
  return trip;
}
