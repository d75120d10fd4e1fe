// One deciding transaction: load, decide, save, in two round trips where nothing unexpected turns up; in one where all
// that would be loaded is known. The decision is the caller's; what is read and written is in storage/mysql/transaction/load.ts and
// storage/mysql/transaction/save.ts.

import type { DatabaseClock } from "../../../core/database-clock.ts";
import { monotonicUs } from "../../monotonic.ts";
import type { DecideRows, LoadPlan, StoreObserver } from "../../store.ts";
import { isRowLocked } from "../../store.ts";
import type { Session } from "../connection/session.ts";
import { Trip } from "../connection/trip.ts";
import { RuleCache } from "../limit-rules.ts";
import { inTransaction } from "./in-transaction.ts";
import { BEGIN, load, loadAgain } from "./load.ts";
import type { Known, KnownLocks } from "./lock-cache.ts";
import { addRowLocks } from "./row-locks.ts";
import { addKnownWrites, addRulesCheck, addWrites, leavesWaiters, runWrites } from "./save.ts";
import { mustStillBeOpen } from "./still-open.ts";

/** What the transactions of a store have in common. */
export interface TransactContext {
  readonly rules: RuleCache;
  readonly known: KnownLocks;
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
  const { clock, observer } = context;
  const startedMs = performance.now();
  const known = context.known.read(plan, session.serverIdentity);
  session.isPatient = !plan.impatient;
  let outcome: "committed" | "rolled_back" = "rolled_back";
  try {
    await inTransaction(session, () => decideAll(session, plan, decide, known, context));
    outcome = "committed";
  } catch (error) {
    // What another transaction holds may be as it was; the next decision by it proves that.
    if (!isRowLocked(error)) {
      context.known.forget(plan.locks.map(({ id }) => id));
      // It may have been the clock that was not as it was known.
      if (known) clock.doubt(monotonicUs());
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
  known: Known | null,
  { rules: sharedRules, known: knownLocks, clock }: TransactContext,
): Promise<void> {
  // After its own change it reads rules that are not committed, under a revision that may come again with others.
  const rules = plan.rule ? new RuleCache() : sharedRules;
  let read = known?.read ?? (await load(session, knownLocks.widened(plan), rules, clock));
  const { rulesRevision, loaded } = read;
  let waitersLeft = false;
  for (let round = 1; ; round++) {
    const changes = decide(read.loaded);
    waitersLeft ||= leavesWaiters(changes);
    const last = changes.again.length === 0;
    const byHeart = round === 1 ? known : null;
    const name = byHeart ? "decide_commit" : last ? "save_commit" : "save";
    const trip = new Trip(name);
    if (byHeart) trip.add(BEGIN);
    if (plan.impatient) {
      const guards = byHeart ? changes.locks.map(({ id }) => id) : [];
      addRowLocks(trip, session, changes, guards);
    }
    if (byHeart) addKnownWrites(trip, changes, byHeart);
    else addWrites(trip, changes, read);
    if (!last) {
      mustStillBeOpen((await runWrites(session, trip, changes)).slice(byHeart ? 1 : 0));
      read = await loadAgain(session, changes.again, rules, clock, loaded);
      continue;
    }
    // Who changes a rule holds the rules exclusively.
    if (waitersLeft && !plan.rule) addRulesCheck(trip, rulesRevision, plan.impatient ?? false);
    trip.addCommit();
    mustStillBeOpen((await runWrites(session, trip, changes)).slice(0, -1));
    if (round === 1 && !plan.rule) knownLocks.learn(read, changes);
    else knownLocks.forget(loaded.locks.keys());
    return;
  }
}
