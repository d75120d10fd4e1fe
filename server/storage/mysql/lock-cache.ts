// The optimistic loader: assumes that known locks and the row of rowlock_meta are unchanged. The transaction's writes then
// prove this, and the transaction needs one trip instead of two.

import type { DatabaseClock } from "../../core/database-clock.ts";
import { NO_FAIL_OVER } from "../../core/lock.ts";
import { CachedLocks } from "../cached-locks.ts";
import { CLOCK_UNSURE_US_MAX, UPDATE_ROWS_MAX } from "../storage-bounds.ts";
import type { LoadPlan, Writes } from "../store.ts";
import { monotonicUs } from "./statements.ts";
import type { Read } from "./transaction/read.ts";

export class LockCache extends CachedLocks {
  readonly #clock: DatabaseClock;
  #meta: Pick<Read["loaded"], "rulesRevision" | "levelMin" | "limitRules" | "failOver"> = {
    rulesRevision: -1n,
    levelMin: 0,
    limitRules: [],
    failOver: NO_FAIL_OVER,
  };

  constructor(clock: DatabaseClock, locksMax?: number) {
    super(locksMax);
    this.#clock = clock;
  }

  /** Returns what a load of the plan would read if nothing has changed; null: not all of it is known. */
  assume(plan: LoadPlan, serverIdentity: string | null): Read | null {
    const clock = this.#clock.estimate(monotonicUs(), CLOCK_UNSURE_US_MAX);
    if (serverIdentity === null || !clock || plan.locks.length > UPDATE_ROWS_MAX) return null;
    if (clock.atLeastUs < this.#meta.failOver.grantsFromUs) return null;
    const known = this.read(plan, clock);
    if (!known) return null;
    const { before, newRequestIds, ...rows } = known;
    const loaded = { ...clock, ...this.#meta, isSuccessor: false, ...rows };
    return { loaded, before, assumptions: { newRequestIds, serverIdentity } };
  }

  override learn(read: Pick<Read, "loaded" | "before">, writes: Writes): void {
    const { rulesRevision, levelMin, limitRules, failOver } = read.loaded;
    this.#meta = { rulesRevision, levelMin, limitRules, failOver };
    super.learn(read, writes);
  }
}
