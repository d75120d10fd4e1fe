// One step of the search for locks that have something due. The bound `next_deadline` of a guard row may be earlier than
// what it bounds: then the lock is not due, and the store writes the exact bound.

import { bigintOf, numberOrNull, type Row } from "./from-rows.ts";

/** A lock whose bound has passed, and its exact bound. */
export interface PassedBound {
  readonly id: bigint;
  /** null: the lock has no live claims. */
  readonly atUs: number | null;
}

/** A row of the id of a lock and its exact bound. */
export function boundFromRow([id, at]: Row): PassedBound {
  return { id: bigintOf(id), atUs: numberOrNull(at ?? null) };
}

/** Whether the exact bound has not passed. */
export function isStale({ atUs }: PassedBound, nowUs: number): boolean {
  return atUs === null || atUs > nowUs;
}

/**
 * Returns the locks that are due, and where the next step begins. Each list has the first `max` locks of its kind, in
 * ascending order.
 */
export function dueStep(
  bounds: readonly PassedBound[],
  woken: readonly bigint[],
  nowUs: number,
  max: number,
): { lockIds: bigint[]; next: bigint | null } {
  const passed = bounds.map(({ id }) => id);
  // Behind the end of a full list, there may be others of its kind.
  const ends = [passed, woken].filter(({ length }) => length === max).map((ids) => ids.at(-1) as bigint);
  const end = ends.length === 0 ? null : ends.reduce((a, b) => (a < b ? a : b));
  const due = bounds.filter((bound) => !isStale(bound, nowUs)).map(({ id }) => id);
  const lockIds = [...new Set([...due, ...woken])]
    .filter((id) => end === null || id <= end)
    .sort((a, b) => (a < b ? -1 : 1));
  if (lockIds.length <= max) return { lockIds, next: end };
  return { lockIds: lockIds.slice(0, max), next: lockIds[max - 1] as bigint };
}
