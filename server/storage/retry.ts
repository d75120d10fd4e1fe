// The one way to repeat what failed: a policy says how often, for how long and after which errors. What is repeated must
// not repeat anything itself, as tries would multiply. So the engine repeats what calls wait for, and the store only the
// small writes that no call waits for. Loops that never end are no retries.

import { CHANGED, StoreError } from "./store.ts";

export interface RetryPolicy<Repeatable> {
  /** Tries at the most. */
  readonly attempts: number;
  /** From when on no further try is begun. */
  readonly longestMs: number;
  /** How long to wait after so many tries, of which the last one failed with this. */
  readonly pauseMs: (tries: number, error: Repeatable) => number;
  readonly isWorthIt: (error: unknown) => error is Repeatable;
}

/**
 * For work that can be done twice, where the database has rolled it back or may have done it. With a last try behind
 * `longestMs`, callers wait for 11 s at the most.
 */
export const ROLLED_BACK: RetryPolicy<StoreError> = {
  attempts: 7,
  longestMs: 6_000,
  // Full jitter: transactions that met in a deadlock must not meet again. Who went by what has changed met nobody, and
  // reads it the next time.
  pauseMs: (tries, { reason }) => (reason === CHANGED ? 0 : Math.random() * 2 ** (tries + 1)),
  isWorthIt: (error): error is StoreError => error instanceof StoreError && error.kind !== "unavailable",
};

/** Runs `work` until it succeeds, and throws what the last try did. `onRetry` is told before each pause. */
export async function retry<Answer, Repeatable>(
  policy: RetryPolicy<Repeatable>,
  work: () => Promise<Answer>,
  onRetry: (error: Repeatable) => void = () => {},
): Promise<Answer> {
  const startedMs = performance.now();
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const leftMs = policy.longestMs - (performance.now() - startedMs);
      if (tries >= policy.attempts || leftMs <= 0 || !policy.isWorthIt(error)) throw error;
      onRetry(error);
      await new Promise((resolve) => setTimeout(resolve, Math.min(policy.pauseMs(tries, error), leftMs)));
    }
  }
}
