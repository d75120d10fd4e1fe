// Failures of a call that are not the caller's fault. Expected refusals are outcomes, not faults.

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
