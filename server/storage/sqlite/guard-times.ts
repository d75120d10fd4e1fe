// The two indexed times of guard rows, as this process last read or wrote them: when the lock was decided about, and the
// bound of its deadlines. SQLite writes an index anew even if the column keeps its value, so a write should not name a
// column that stays. Always right, because only this process writes the file. Reads and writes no row.

import { RecentMap } from "../../core/recent-map.ts";
import { CACHED_LOCKS_DEFAULT } from "../storage-bounds.ts";
import { DECIDED_AT_STEP_US } from "../store.ts";

interface Times {
  readonly decidedAtUs: number;
  /** The column `next_deadline`. */
  readonly boundUs: number | null;
}

export class GuardTimes {
  readonly #times: RecentMap<bigint, Times>;

  constructor(max = CACHED_LOCKS_DEFAULT) {
    this.#times = new RecentMap(max);
  }

  of(id: bigint): Times | undefined {
    return this.#times.get(id);
  }

  /** Call with what was read, or is written in a transaction. If that is rolled back, call `forgetAll`. */
  set(id: bigint, decidedAtUs: number, boundUs: number | null): void {
    this.#times.set(id, { decidedAtUs, boundUs });
  }

  /** Call when the bound alone is written. */
  setBound(id: bigint, boundUs: number | null): void {
    const known = this.#times.get(id);
    if (known) this.set(id, known.decidedAtUs, boundUs);
  }

  forget(id: bigint): void {
    this.#times.delete(id);
  }

  forgetAll(): void {
    this.#times.clear();
  }
}

/** Whether the time of the last decision may stay. One that lies ahead may not: the clock was set back since. */
export function mayKeep(decidedAtUs: number, nowUs: number): boolean {
  return decidedAtUs <= nowUs && decidedAtUs > nowUs - DECIDED_AT_STEP_US;
}
