// What the gRPC layer reports: calls and sessions to the metrics, and failed calls to the log.

import type { Span, Tracer } from "../core/span.ts";
import { type Logger, Seldom } from "../log/log.ts";
import type { OutageLog } from "../log/outage-log.ts";
import { traceIds } from "../log/trace-ids.ts";
import { FAULT_LOG_INTERVAL_MS } from "./grpc-bounds.ts";
import type { Reason } from "./messages/call-error.ts";
import type { Failure } from "./messages/status.ts";

/** How a call arrived: on its own, as a command of a session, or from the page. */
export type Via = "call" | "session" | "page";

/** Its methods must not throw. */
export interface CallObserver {
  /**
   * Called once, at the end of each call. `method` is without its service (`Acquire`), `code` is a name (`OK`), and
   * `seconds` run from the call's arrival to its end. `span`: of the call, if it is traced.
   */
  call(
    method: string,
    code: string,
    seconds: number,
    via: Via,
    span?: Pick<Span, "traceId" | "spanId">,
  ): void;
  /** Server streams outside sessions: WaitInQueue and WatchLocks. */
  streamOpened(): void;
  streamClosed(): void;
  /** `code`: the name of the status with which the session ended. */
  sessionClosed(code: string, seconds: number): void;
  /** Claims in pokes: sent to another server, not delivered to it, or received from it. */
  poke(event: "sent" | "lost" | "received", claims: number): void;
  /** A session received a message with `items` commands, or sent one with `items` results. */
  sessionMessage(direction: "received" | "sent", items: number, bytes: number): void;
}

const REFUSED = "calls are refused";
/** What is logged of failures that are no bugs. */
const LOGGED: Partial<Record<Reason, string>> = {
  DATABASE_UNAVAILABLE: "calls fail",
  OUTCOME_UNKNOWN: "calls fail",
  OVERLOADED: "calls fail",
  KEYS_UNAVAILABLE: "calls fail",
  CREDENTIALS_MISSING: REFUSED,
  CREDENTIALS_WRONG: REFUSED,
  CREDENTIALS_EXPIRED: REFUSED,
  RIGHT_MISSING: REFUSED,
};

/**
 * Logs calls that failed through no fault of the caller, and those that were refused for who the caller is: each bug in
 * full, the others once per reason and interval with the number suppressed in between. Failures that belong to a database outage go to the outage log, which also
 * covers background loops.
 */
export class FaultLog {
  readonly #logger: Logger;
  readonly #outage: Pick<OutageLog, "failed"> | undefined;
  readonly #seldom = new Seldom(FAULT_LOG_INTERVAL_MS);

  /** Without `outage`, this log also takes the failures of a database outage. */
  constructor(logger: Logger, outage?: Pick<OutageLog, "failed">) {
    this.#logger = logger;
    this.#outage = outage;
  }

  /** `cause`: what was thrown; the client never sees it. `span`: of the call, if it is traced. */
  failed(method: string, failure: Failure, cause: unknown, span?: Span): void {
    const { reason, incident } = failure;
    if (incident) {
      this.#logger.error(
        { method, incident, ...traceIds(span), err: cause },
        "call failed: a bug in the server",
      );
    } else if (LOGGED[reason]) {
      if (this.#outage?.failed({ method }, cause)) return;
      const suppressed = this.#seldom.suppressed(reason);
      if (suppressed === null) return;
      const fields = { method, reason, suppressed, ...traceIds(span) };
      // What a refused caller is told names the lock and the right; where in the code it was refused helps nobody.
      if (LOGGED[reason] === REFUSED && cause instanceof Error)
        this.#logger.warn({ ...fields, ...causeOf(cause) }, `${REFUSED}: ${cause.message}`);
      else this.#logger.warn({ ...fields, err: cause }, LOGGED[reason]);
    }
  }
}

/** What a refusal knows beyond its message, which the caller is not told. */
function causeOf({ cause }: Error): { readonly cause?: string } {
  return cause === undefined ? {} : { cause: cause instanceof Error ? cause.message : String(cause) };
}

/** Who hears of calls. */
export interface Frame {
  readonly observer: CallObserver;
  readonly faultLog: FaultLog;
  /** Begins the spans of calls; unset: no call is traced. */
  readonly tracer?: Tracer | undefined;
}
