// One deciding transaction: load, decide, save, in two round trips where nothing unexpected turns up. The decision is
// the caller's; what is read and written is in mysql-load.ts and mysql-save.ts.

import { load, loadAgain } from "./mysql-load.ts";
import { mustStillBeOpen } from "./mysql-open-transaction.ts";
import { RuleCache } from "./mysql-rules.ts";
import { addRulesCheck, addWrites, leavesWaiters } from "./mysql-save.ts";
import type { Session } from "./mysql-session.ts";
import { inTransaction } from "./mysql-transaction.ts";
import { Trip } from "./mysql-trip.ts";
import type { DecideRows, LoadPlan, StoreObserver } from "./store.ts";

/** Runs the transaction. Throws what `decide` throws, or a StoreError; nothing was committed unless it says so. */
export async function transactOn(
  session: Session,
  plan: LoadPlan,
  decide: DecideRows,
  rules: RuleCache,
  observer: StoreObserver,
): Promise<void> {
  const startedMs = performance.now();
  let outcome: "committed" | "rolled_back" = "rolled_back";
  try {
    await inTransaction(session, () => decideAll(session, plan, decide, rules));
    outcome = "committed";
  } finally {
    observer.transaction((performance.now() - startedMs) / 1000, session.sent, outcome);
  }
}

async function decideAll(
  session: Session,
  plan: LoadPlan,
  decide: DecideRows,
  sharedRules: RuleCache,
): Promise<void> {
  // After its own change it reads rules that are not committed, under a revision that may come again with others.
  const rules = plan.rule ? new RuleCache() : sharedRules;
  let read = await load(session, plan, rules);
  const { rulesRevision, loaded } = read;
  let waitersLeft = false;
  for (;;) {
    const changes = decide(read.loaded);
    waitersLeft ||= leavesWaiters(changes);
    const trip = new Trip(changes.again.length > 0 ? "save" : "save_commit");
    addWrites(trip, changes, read);
    if (changes.again.length > 0) {
      mustStillBeOpen(await session.run(trip));
      read = await loadAgain(session, changes.again, rules, loaded.nowUs);
    } else {
      // Who changes a rule holds the rules exclusively.
      if (waitersLeft && !plan.rule) addRulesCheck(trip, rulesRevision);
      trip.addCommit();
      const results = await session.run(trip);
      mustStillBeOpen(results.slice(0, -1));
      return;
    }
  }
}
