// Repeating a transaction: what is worth repeating, how often, and what is told when it was in vain.

import { ROW_LOCKED, StoreError } from "../../storage/store.ts";
import {
  ATTEMPTS_MAX,
  ATTEMPTS_MS_MAX,
  RETRY_PAUSE_MS,
  RETRY_PAUSE_MS_MAX,
  UNAVAILABLE_RETRY_AFTER_MS,
} from "../engine-bounds.ts";
import { Fault } from "../faults.ts";

/**
 * Runs `attempt` until it succeeds or is not worth repeating. `repeated` is true once an earlier attempt may have been
 * committed. Throws a Fault for what the database cannot do; everything else (a bug) as it is.
 *
 * @param isGivenUp says of an error that the caller has a better way on than to repeat: then it is thrown as it is.
 */
export async function withAttempts<Result>(
  attempt: (repeated: boolean) => Promise<Result>,
  onRetry: (cause: string) => void,
  isGivenUp: (error: unknown) => boolean = () => false,
): Promise<Result> {
  const startedMs = performance.now();
  let repeated = false;
  for (let tries = 1; ; tries++) {
    try {
      return await attempt(repeated);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (isGivenUp(error)) {
        onRetry(error.reason);
        throw error;
      }
      const isOver = tries >= ATTEMPTS_MAX || performance.now() - startedMs > ATTEMPTS_MS_MAX;
      if (error.kind === "unknown_outcome") repeated = true;
      if (error.kind === "unavailable" || isOver) throw unavailable(error, repeated);
      onRetry(error.reason);
      await pause(tries);
    }
  }
}

/** Runs a read or a small write once: whoever asked can ask again. Throws what withAttempts does. */
export async function withoutRepeating<Result>(attempt: () => Promise<Result>): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    throw asFault(error);
  }
}

/** What callers are told of an error: a Fault in place of a StoreError, everything else as it is. */
export function asFault(error: unknown): unknown {
  return error instanceof StoreError ? unavailable(error) : error;
}

/** What callers are told when the database cannot do it. */
export function unavailable(error: StoreError, outcomeUnknown = false): Fault {
  return new Fault("unavailable", error.reason, `The database cannot be used now (${error.reason}).`, {
    retryAfterMs: UNAVAILABLE_RETRY_AFTER_MS,
    outcomeUnknown,
    cause: error,
  });
}

/** Whether a Fault says no more than that another transaction holds the rows of one lock. */
export function isHeldUp(error: unknown): boolean {
  return error instanceof Fault && error.reason === ROW_LOCKED;
}

function pause(tries: number): Promise<void> {
  const longestMs = Math.min(RETRY_PAUSE_MS * 2 ** (tries - 1), RETRY_PAUSE_MS_MAX);
  // Full jitter: transactions that met in a deadlock must not meet again.
  return new Promise((resolve) => setTimeout(resolve, Math.random() * longestMs));
}
