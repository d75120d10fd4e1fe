// Merges free locks of several groups into one order. Only the first entries of each group were read, so the result
// ends at the position that was reached in every group. Also decides which of the locks are wanted.

import type { FreeLock, FreePlace, RecordGroup, WantedNames } from "../store.ts";

/** What was read from one range of the index. */
export interface FreeRange {
  readonly locks: readonly FreeLock[];
  /** The last entry that was read, if there may be more behind it; null: the range was read to its end. */
  readonly end: FreePlace | null;
}

/**
 * Returns the locks up to the position that was reached in all ranges. `next`: that position; null: all ranges were
 * read to their end.
 */
export function freePage(ranges: readonly FreeRange[]): { locks: FreeLock[]; next: FreePlace | null } {
  let next: FreePlace | null = null;
  for (const { end } of ranges) if (end && (!next || isBefore(end, next))) next = end;
  const locks = ranges.flatMap((range) => range.locks).toSorted(inOrder);
  const reached = next;
  return { locks: reached ? locks.filter((lock) => !isBefore(reached, lock)) : locks, next };
}

/** Returns the condition that names of this group must meet; null: all are wanted. */
export function askedOf(wanted: WantedNames, { folder }: RecordGroup): WantedNames | null {
  const paused = wanted.paused.filter(({ prefix }) => prefix.startsWith(folder) || folder.startsWith(prefix));
  return paused.length === 0 && folder.startsWith(wanted.prefix) ? null : { prefix: wanted.prefix, paused };
}

export function isWanted({ name, limit }: FreeLock, { prefix, paused }: WantedNames): boolean {
  if (!name.startsWith(prefix)) return false;
  if (limit !== null) return true;
  return !paused.some(
    (each) => name.startsWith(each.prefix) && !each.except.some((other) => name.startsWith(other)),
  );
}

function isBefore(a: FreePlace, b: FreePlace): boolean {
  return inOrder(a, b) < 0;
}

function inOrder(a: FreePlace, b: FreePlace): number {
  return a.dueAtUs - b.dueAtUs || Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
}
