// The only retry loop. Work under a retry must not retry anything itself, because the attempts would multiply. So the
// engine retries what calls wait for, and the store retries only the small writes that no call waits for. Endless loops
// are not retries.

import { CHANGED, StoreError } from "./store.ts";

export interface RetryPolicy<Repeatable> {
  /** The most attempts, the first one included. */
  readonly attempts: number;
  /** No attempt starts later than this, in milliseconds after the first one started. */
  readonly longestMs: number;
  /** The pause after `tries` attempts, the last of which failed with `error`. */
  readonly pauseMs: (tries: number, error: Repeatable) => number;
  readonly isWorthIt: (error: unknown) => error is Repeatable;
}

/**
 * For work that is safe to repeat, after errors where the database rolled it back or may have committed it. Including a
 * last attempt that starts at `longestMs`, callers wait at most 11 s.
 */
export const ROLLED_BACK: RetryPolicy<StoreError> = {
  attempts: 7,
  longestMs: 6_000,
  // Full jitter: transactions that met in a deadlock must not meet again. A transaction that relied on outdated rows
  // met no other transaction, so it retries at once and reads the new rows.
  pauseMs: (tries, { reason }) => (reason === CHANGED ? 0 : Math.random() * 2 ** (tries + 1)),
  isWorthIt: (error): error is StoreError => error instanceof StoreError && error.kind !== "unavailable",
};

/** Throws the error of the last attempt, or what `givenUp` makes of it. Calls `onRetry` before each pause. */
export async function retry<Answer, Repeatable>(
  policy: RetryPolicy<Repeatable>,
  work: () => Promise<Answer>,
  onRetry: (error: Repeatable) => void = () => {},
  givenUp: (error: unknown) => unknown = (error) => error,
): Promise<Answer> {
  const startedMs = performance.now();
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const leftMs = policy.longestMs - (performance.now() - startedMs);
      if (tries >= policy.attempts || leftMs <= 0 || !policy.isWorthIt(error)) throw givenUp(error);
      onRetry(error);
      await new Promise((resolve) => setTimeout(resolve, Math.min(policy.pauseMs(tries, error), leftMs)));
    }
  }
}
