// What can go wrong with a call through no fault of the caller's. Expected refusals are outcomes, not faults.

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
  /** For logs and metrics: what exactly, such as `connection_lost`; for `overloaded` the name of the bound. */
  readonly reason: string;
  /** When another try may be worth while; 0: not before whoever asked has looked. */
  readonly retryAfterMs: number;
  /** Whether what was asked for may have been done all the same. */
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
