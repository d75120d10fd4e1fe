// Ended claims in order. The primary key of rowlock_history has them by the time for which they are kept (`kept_for`, in
// seconds) and then by their ends. So what may be deleted is one range for each of these times, and a read of all of
// them, newest first, merges one range for each. There are only a few: one for each class of names.

import type { Row } from "../rows/from-rows.ts";
import type { EndedPosition } from "../store.ts";
import { type Query, rowsOf, type Steps } from "./steps.ts";

export const BY_END = "rowlock_history h FORCE INDEX (PRIMARY)";

/** Above all numbers of claims and changes. */
export const HIGHEST = 2n ** 63n - 1n;

// One step along the index: for a number as the bound, the database reads a single entry. MariaDB takes `> -1` for `> 0`.
const NEXT_CLASS = `SELECT MIN(h.kept_for) FROM ${BY_END} WHERE h.kept_for >= :from`;

export function byEnd(a: EndedPosition, b: EndedPosition): number {
  if (a.endedAtUs !== b.endedAtUs) return a.endedAtUs - b.endedAtUs;
  if (a.lockId !== b.lockId) return a.lockId < b.lockId ? -1 : 1;
  return a.ticketNumber < b.ticketNumber ? -1 : 1;
}

/** The times for which ended claims are kept, as far as there are any. */
export class Classes {
  #seen: readonly number[] = [];

  /**
   * Reads the next one after each that was there last time. If these are the same, there are no others; otherwise reads
   * once more.
   */
  *read(): Steps<readonly number[]> {
    for (;;) {
      const queries = [-1, ...this.#seen].map((keptForS): Query => [NEXT_CLASS, { from: keptForS + 1 }]);
      const rows = yield* rowsOf("history_classes", ...queries);
      const next = new Set(rows.flatMap(([keptFor = null]) => (keptFor === null ? [] : [Number(keptFor)])));
      const isSame = next.size === this.#seen.length && this.#seen.every((keptForS) => next.has(keptForS));
      if (isSame) return this.#seen;
      this.#seen = [...next].sort((a, b) => a - b);
    }
  }

  /** Reads the rows of one query for each class. */
  *rows(name: string, queryOf: (keptForS: number) => Query): Steps<readonly Row[]> {
    return yield* rowsOf(name, ...(yield* this.read()).map(queryOf));
  }
}
