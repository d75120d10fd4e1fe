// One deciding transaction: load, decide, save, in two round trips where nothing unexpected turns up; in one where it is
// optimistic, as all that would be loaded is in the cache. The decision is the caller's; what is read is in `load.ts` and
// `lock-cache.ts`, what is written in `save.ts`.

import type { DatabaseClock } from "../../../core/database-clock.ts";
import { monotonicUs } from "../../monotonic.ts";
import type { DecideRows, LoadPlan, StoreObserver } from "../../store.ts";
import { isRowLocked } from "../../store.ts";
import type { Session } from "../connection/session.ts";
import { Trip } from "../connection/trip.ts";
import { RuleCache } from "../limit-rules.ts";
import { assertRulesUnchanged, mustStillBeOpen, rulesLock } from "./assertions.ts";
import { rollBack } from "./in-transaction.ts";
import { BEGIN, load, loadAgain } from "./load.ts";
import type { LockCache } from "./lock-cache.ts";
import type { Read } from "./read.ts";
import { recordChanges } from "./records.ts";
import { addRowLocks } from "./row-locks.ts";
import { addWrites, leavesWaiters, runWrites } from "./save.ts";

/** What the transactions of a store have in common. */
export interface TransactContext {
  readonly rules: RuleCache;
  readonly cache: LockCache;
  readonly clock: DatabaseClock;
  readonly observer: StoreObserver;
}

/** Runs the transaction. Throws what `decide` throws, or a StoreError; nothing was committed unless it says so. */
export async function transactOn(
  session: Session,
  plan: LoadPlan,
  decide: DecideRows,
  context: TransactContext,
): Promise<void> {
  const { cache, clock, observer } = context;
  const startedMs = performance.now();
  const cached = cache.read(plan, session.serverIdentity);
  session.isPatient = !plan.impatient;
  let outcome: "committed" | "rolled_back" = "rolled_back";
  session.inTransaction = true;
  try {
    await decideAll(session, plan, decide, cached, context);
    session.inTransaction = false;
    outcome = "committed";
  } catch (error) {
    await rollBack(session);
    // What another transaction holds may still be as it was known: the next decision proves that.
    if (!isRowLocked(error)) {
      cache.doubt(plan.locks.map(({ id }) => id));
      // It may have been the clock that was not as it was known.
      if (cached) clock.doubt(monotonicUs());
    }
    throw error;
  } finally {
    observer.transaction((performance.now() - startedMs) / 1000, session.sent, outcome);
  }
}

async function decideAll(
  session: Session,
  plan: LoadPlan,
  decide: DecideRows,
  cached: Read | null,
  { rules: sharedRules, cache, clock }: TransactContext,
): Promise<void> {
  // After its own change it reads rules that are not committed, under a revision that may come again with others.
  const rules = plan.rule ? new RuleCache() : sharedRules;
  const first = cached ?? (await load(session, cache.widened(plan), rules, clock));
  let waitersLeft = false;
  for (let read = first; ; ) {
    const changes = decide(read.loaded);
    waitersLeft ||= leavesWaiters(changes);
    const records = recordChanges(changes.locks, read.before);
    const last = changes.again.length === 0;
    const trip = new Trip(read.assumptions ? "decide_commit" : last ? "save_commit" : "save");
    if (read.assumptions) trip.add(BEGIN);
    if (plan.impatient) addRowLocks(trip, session, changes, read.assumptions ? changes.locks : [], records);
    // Who changes a rule holds the rules exclusively.
    const lockOfRules = last && waitersLeft && !plan.rule ? rulesLock(plan.impatient ?? false) : "";
    addWrites(trip, changes, records, read, lockOfRules);
    if (!last) {
      mustStillBeOpen(await runWrites(session, trip, changes));
      read = await loadAgain(session, changes.again, rules, clock, first.loaded);
      continue;
    }
    if (lockOfRules && !read.assumptions) assertRulesUnchanged(trip, first.loaded.rulesRevision, lockOfRules);
    trip.addCommit();
    mustStillBeOpen((await runWrites(session, trip, changes)).slice(0, -1));
    if (read === first && !plan.rule) cache.learn(read, changes);
    else cache.doubt(first.loaded.locks.keys());
    return;
  }
}
