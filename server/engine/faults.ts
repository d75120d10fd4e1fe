// Failures of a call that are not the caller's fault, and its cancellation. Which failure of the database becomes which
// of them. Expected refusals are outcomes, not faults.

import { TOO_OLD } from "../core/level.ts";
import { ROW_LOCKED, StoreError } from "../storage/store.ts";
import { OVERLOADED_RETRY_AFTER_MS, UNAVAILABLE_RETRY_AFTER_MS } from "./engine-bounds.ts";

export type FaultKind =
  /** The database cannot be reached or written now. */
  | "unavailable"
  /** A change that must not be made twice may have been made, and this server cannot find out. */
  | "outcome_unknown"
  /** A bound of this server is reached. */
  | "overloaded"
  /** This server is stopping; another one may take the call. */
  | "shutting_down";

export class Fault extends Error {
  readonly kind: FaultKind;
  /** The exact cause, for logs and metrics, such as `connection_lost`; for `overloaded`, the name of the bound. */
  readonly reason: string;
  /** When a retry may succeed; 0: the caller must look at the present state first. */
  readonly retryAfterMs: number;
  /** Whether the requested change may have been made in spite of the failure. */
  readonly outcomeUnknown: boolean;

  constructor(
    kind: FaultKind,
    reason: string,
    message: string,
    options: { retryAfterMs: number; outcomeUnknown?: boolean; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.name = "Fault";
    this.kind = kind;
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
    this.outcomeUnknown = options.outcomeUnknown ?? false;
  }
}

/** Why the signal of a call is aborted: its client hung up, or let its deadline pass, so nobody receives an answer. */
export class ClientGone extends Error {
  /** The client has cancelled the call itself, so it does not come back. A client that was merely disconnected may. */
  readonly isGivenUp: boolean;

  constructor(isGivenUp = false) {
    super("The client does not wait any more.");
    this.name = "ClientGone";
    this.isGivenUp = isGivenUp;
  }
}

/** Whether the client has cancelled the call with this signal itself. */
export function isGivenUp(signal: AbortSignal | undefined): boolean {
  return signal?.reason instanceof ClientGone && signal.reason.isGivenUp;
}

/** The error for callers: a Fault instead of a StoreError, everything else unchanged. */
export function asFault(error: unknown): unknown {
  return error instanceof StoreError ? unavailable(error) : error;
}

/** Runs a read or a small write once: the caller can ask again. Throws a Fault for what the database cannot do. */
export async function withoutRepeating<Result>(attempt: () => Promise<Result>): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    throw asFault(error);
  }
}

/** The error for callers when the database fails; `isInDoubt`: an earlier attempt may have made the change. */
export function unavailable(error: StoreError, isInDoubt = false): Fault {
  const message =
    error.reason === TOO_OLD
      ? "This server is too old for its database and decides nothing: ask another one."
      : `The database cannot be used now (${error.reason}).`;
  return new Fault("unavailable", error.reason, message, {
    retryAfterMs: UNAVAILABLE_RETRY_AFTER_MS,
    outcomeUnknown: isInDoubt || error.kind === "unknown_outcome",
    cause: error,
  });
}

/** The caller must find out what happened: repeating the change could undo what others have set since. */
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
export function isHeldUp(error: unknown): error is Fault {
  return error instanceof Fault && error.reason === ROW_LOCKED;
}

/** The error for callers beyond a bound of this server. */
export function overloaded(bound: string, message: string, retryAfterMs = OVERLOADED_RETRY_AFTER_MS): Fault {
  return new Fault("overloaded", bound, message, { retryAfterMs });
}

/** The error for callers that a stopping server refuses. */
export function shuttingDown(): Fault {
  return new Fault("shutting_down", "shutting_down", "This server is stopping.", {
    retryAfterMs: UNAVAILABLE_RETRY_AFTER_MS,
  });
}
