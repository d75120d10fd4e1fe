// In which order locks are shown, by the server or by the shell itself.

import type { ListOrder, LockView } from "../typescript/src/index.ts";

type Compare = (one: LockView, other: LockView) => number;

const byName: Compare = (one, other) => (one.name < other.name ? -1 : 1);
const waitingSince = ({ waiters }: LockView) => waiters[0]?.requestedAt?.getTime() ?? Number.MAX_SAFE_INTEGER;

/** What the server calls each order, and how the shell sorts by it. */
export const LOCK_ORDERS = {
  name: { asked: "name", compare: byName },
  "longest-wait": {
    asked: "longest wait",
    compare: (one, other) => waitingSince(one) - waitingSince(other) || byName(one, other),
  },
  "most-waiters": {
    asked: "most waiters",
    compare: (one, other) => other.waiterCount - one.waiterCount || byName(one, other),
  },
} as const satisfies Record<string, { readonly asked: ListOrder; readonly compare: Compare }>;
export type LockOrder = keyof typeof LOCK_ORDERS;

/** Whether somebody holds the lock or waits for it. */
export function isBusy({ holderCount, waiterCount }: LockView): boolean {
  return holderCount > 0 || waiterCount > 0;
}
