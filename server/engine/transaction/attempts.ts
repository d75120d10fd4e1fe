// Repeats a transaction when that helps, and makes the errors for callers when it does not.

import { type RetryPolicy, ROLLED_BACK, retry } from "../../storage/retry.ts";
import { ROW_LOCKED, StoreError } from "../../storage/store.ts";
import { UNAVAILABLE_RETRY_AFTER_MS } from "../engine-bounds.ts";
import { Fault } from "../faults.ts";

/**
 * Runs `attempt` until it succeeds or is not worth repeating. Throws a Fault for what the database cannot do, and
 * rethrows everything else (bugs) unchanged.
 *
 * @param isGivenUp whether the caller has a better way on than a repetition: the error is then rethrown unchanged.
 */
export async function withAttempts<Result>(
  attempt: () => Promise<Result>,
  onRetry: (cause: string) => void,
  isGivenUp: (error: unknown) => boolean = () => false,
): Promise<Result> {
  let isInDoubt = false;
  const policy: RetryPolicy<StoreError> = {
    ...ROLLED_BACK,
    isWorthIt: (error): error is StoreError => ROLLED_BACK.isWorthIt(error) && !isGivenUp(error),
  };
  try {
    return await retry(policy, attempt, ({ kind, reason }) => {
      isInDoubt ||= kind === "unknown_outcome";
      onRetry(reason);
    });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    if (!isGivenUp(error)) throw unavailable(error, isInDoubt);
    onRetry(error.reason);
    throw error;
  }
}

/** Runs a read or a small write once: the caller can ask again. Throws what withAttempts throws. */
export async function withoutRepeating<Result>(attempt: () => Promise<Result>): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    throw asFault(error);
  }
}

/** The error for callers: a Fault instead of a StoreError, everything else unchanged. */
export function asFault(error: unknown): unknown {
  return error instanceof StoreError ? unavailable(error) : error;
}

/** The error for callers when the database fails; `isInDoubt`: an earlier attempt may have made the change. */
export function unavailable(error: StoreError, isInDoubt = false): Fault {
  return new Fault("unavailable", error.reason, `The database cannot be used now (${error.reason}).`, {
    retryAfterMs: UNAVAILABLE_RETRY_AFTER_MS,
    outcomeUnknown: isInDoubt || error.kind === "unknown_outcome",
    cause: error,
  });
}

/**
 * The error for a change whose outcome the caller must find out: repeating the change could undo what others have set
 * since.
 */
export function outcomeUnknown(cause?: unknown): Fault {
  const message =
    "The database did not confirm this change, and others may have made further changes since: read the current state, " +
    "and decide whether to repeat the change.";
  const reason = cause instanceof Fault ? cause.reason : "changed_since";
  return new Fault("outcome_unknown", reason, message, { retryAfterMs: 0, outcomeUnknown: true, cause });
}

/** The same error, marked for a call that an earlier attempt may have done. */
export function mayBeDone(error: unknown): unknown {
  if (!(error instanceof Fault) || error.outcomeUnknown) return error;
  const { kind, reason, message, retryAfterMs, cause } = error;
  return new Fault(kind, reason, message, { retryAfterMs, outcomeUnknown: true, cause });
}

/** Whether the error is a Fault that only says that another transaction holds the rows of one lock. */
export function isHeldUp(error: unknown): boolean {
  return error instanceof Fault && error.reason === ROW_LOCKED;
}
