// What is repeated of work that needs the database, how often, and the error for callers in the end.

import { type RetryPolicy, ROLLED_BACK, retry } from "../../storage/retry.ts";
import { isInDoubt, isRowLocked, StoreError } from "../../storage/store.ts";
import type { EngineObserver } from "../answers.ts";
import { asFault, unavailable } from "../faults.ts";

interface AttemptsPolicy extends RetryPolicy<StoreError> {
  /** Errors that the caller handles itself; unset: none. */
  readonly isCallers?: (error: StoreError) => boolean;
}

/** A row that another transaction holds ends the attempts: the caller has a better way on than a repetition. */
export const UNLESS_ROW_LOCKED: AttemptsPolicy = {
  ...ROLLED_BACK,
  isWorthIt: (error): error is StoreError => ROLLED_BACK.isWorthIt(error) && !isRowLocked(error),
  isCallers: isRowLocked,
};

/**
 * Runs `attempt` until it succeeds or is not worth repeating. Throws a Fault for what the database cannot do, and
 * rethrows unchanged the errors that are the caller's, and bugs.
 */
export function withAttempts<Result>(
  attempt: () => Promise<Result>,
  observer: EngineObserver,
  policy: AttemptsPolicy = ROLLED_BACK,
): Promise<Result> {
  let isDoubtful = false;
  const failed = (error: StoreError) => {
    isDoubtful ||= isInDoubt(error);
    observer({ kind: "retried", cause: error.reason });
  };
  const givenUp = (error: unknown) => {
    if (!(error instanceof StoreError)) return error;
    if (!policy.isCallers?.(error)) return unavailable(error, isDoubtful);
    failed(error);
    return error;
  };
  return retry(policy, attempt, failed, givenUp);
}

/** Runs a read or a small write once: the caller can ask again. Throws what withAttempts throws. */
export async function withoutRepeating<Result>(attempt: () => Promise<Result>): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    throw asFault(error);
  }
}
