// How long to leave a server alone before the next try: longer each time, and not the same for all clients.

const FIRST_MS = 100;
/** Well within the grace period, for which places are kept. */
const MAX_MS = 2_000;

/** @param failures how many tries have failed in a row, from 1 on. */
export function backoffMs(failures: number, atLeastMs = 0): number {
  const fullMs = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10));
  return Math.max(atLeastMs, fullMs * (0.5 + Math.random() / 2));
}
