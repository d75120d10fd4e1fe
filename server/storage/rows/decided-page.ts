// Cuts one page of guard rows, in the order of their last decisions, from the rows of two branches.

import type { DecidedLock, DecidedPage } from "../store.ts";

interface DecidedRow extends DecidedLock {
  readonly decidedAtUs: number;
}

/** Returns the first `max` rows in order; each branch must have read up to `max`. */
export function pageOf(rows: readonly DecidedRow[], max: number): Pick<DecidedPage, "locks" | "next"> {
  const inOrder = rows.toSorted((a, b) => a.decidedAtUs - b.decidedAtUs || (a.id < b.id ? -1 : 1));
  const page = inOrder.slice(0, max);
  const last = page.length === max ? page.at(-1) : undefined;
  return {
    locks: page.map(({ decidedAtUs, ...lock }) => lock),
    next: last ? { atUs: last.decidedAtUs, afterLockId: last.id } : null,
  };
}
