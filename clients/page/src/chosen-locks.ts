// Which locks the list shows, and in which order. Pure.

import type { Row, Rows } from "./locks-feed.ts";

export const ORDERS = {
  wait: "longest wait first",
  held: "held longest first",
  waiters: "most waiters first",
  name: "by name",
} as const;
export type Order = keyof typeof ORDERS;

export interface Choice {
  readonly prefix: string;
  /** A part of a name, an owner, a label, a status; empty: all. */
  readonly part: string;
  /** Idle locks too. */
  readonly isAll: boolean;
}

export function chosen(rows: Rows, { prefix, part, isAll }: Choice): Row[] {
  const found: Row[] = [];
  const lower = part.toLowerCase();
  for (const row of rows.values()) {
    if (!isAll && row.waiting === 0 && (row.lock.holderCount ?? 0) === 0) continue;
    if (row.name.startsWith(prefix) && (lower === "" || has(row, lower))) found.push(row);
  }
  return found;
}

/** `part`: in small letters. */
function has({ name, lock: { holders = [], waiters = [], record } }: Row, part: string): boolean {
  const isPart = (text: string | undefined) => text?.toLowerCase().includes(part) ?? false;
  if (isPart(name) || isPart(record?.status)) return true;
  return [...holders, ...waiters].some(
    ({ owner, principal, labels = {} }) =>
      isPart(owner) ||
      isPart(principal) ||
      Object.entries(labels).some(([key, value]) => isPart(`${key}=${value}`)),
  );
}

export function inOrder(rows: Row[], order: Order): Row[] {
  const byName = (a: Row, b: Row) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
  const since = (of: (row: Row) => number) => (a: Row, b: Row) =>
    of(a) === of(b) ? byName(a, b) : of(a) - of(b);
  const by = {
    name: byName,
    waiters: (a: Row, b: Row) => b.waiting - a.waiting || byName(a, b),
    wait: since(({ oldestMs }) => oldestMs),
    held: since(({ heldSinceMs }) => heldSinceMs),
  };
  return rows.sort(by[order]);
}

/** Keeps rows where they were, so that none moves away under a pointer; new ones come last. */
export function inOrderBefore(rows: readonly Row[], before: readonly Row[]): Row[] {
  const places = new Map(before.map(({ name }, at) => [name, at]));
  const placeOf = ({ name }: Row) => places.get(name) ?? before.length;
  return [...rows].sort((a, b) => placeOf(a) - placeOf(b));
}
