// The pause before the next try: it grows with each failure and is random, so that clients do not retry together.

const FIRST_MS = 100;
/** Well below the grace period, for which the server keeps places. */
const MAX_MS = 2_000;

/** Returns the pause before the next try, after `failures` failed tries in a row (1 or more). */
export function backoffMs(failures: number, atLeastMs = 0): number {
  const fullMs = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10));
  return Math.max(atLeastMs, fullMs * (0.5 + Math.random() / 2));
}
