// What the gRPC layer reports: calls and sessions to the metrics, and failed calls to the log.

import type { Span, Tracer } from "../core/span.ts";
import { type Logger, Seldom, traceIds } from "../log/log.ts";
import type { OutageLog } from "../log/outage-log.ts";
import { DeniedCalls, isDenial } from "./denied-calls.ts";
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

/** What is logged of failures that are no bugs. */
const LOGGED: Partial<Record<Reason, string>> = {
  DATABASE_UNAVAILABLE: "calls fail",
  OUTCOME_UNKNOWN: "calls fail",
  OVERLOADED: "calls fail",
  KEYS_UNAVAILABLE: "calls fail",
};

/**
 * Logs calls that failed through no fault of the caller: each bug in full, the others once per reason and interval with the
 * number suppressed in between. Failures that belong to a database outage go to the outage log, which also covers
 * background loops. Calls that were refused for who the caller is go to DeniedCalls.
 */
export class FaultLog {
  readonly #logger: Logger;
  readonly #outage: Pick<OutageLog, "failed"> | undefined;
  readonly #seldom = new Seldom(FAULT_LOG_INTERVAL_MS);

  readonly #denied: DeniedCalls;

  /**
   * Without `outage`, this log also takes the failures of a database outage. `isAudited`: whether denied calls are
   * audited.
   */
  constructor(logger: Logger, outage?: Pick<OutageLog, "failed">, isAudited = false) {
    this.#logger = logger;
    this.#outage = outage;
    this.#denied = new DeniedCalls(logger, isAudited);
  }

  /**
   * `cause`: what was thrown; the client never sees it. `span`: of the call, if it is traced. `peer`: the address of the
   * other end.
   */
  failed(method: string, failure: Failure, cause: unknown, span?: Span, peer?: string): void {
    const { reason, incident } = failure;
    if (isDenial(reason)) this.#denied.denied({ method, reason, cause, peer, span });
    else if (incident) {
      this.#logger.error(
        { method, incident, ...traceIds(span), err: cause },
        "call failed: a bug in the server",
      );
    } else if (LOGGED[reason]) {
      if (this.#outage?.failed({ method }, cause)) return;
      const suppressed = this.#seldom.suppressed(reason);
      if (suppressed !== null)
        this.#logger.warn({ method, reason, suppressed, ...traceIds(span), err: cause }, LOGGED[reason]);
    }
  }
}

/** Who hears of calls. */
export interface Frame {
  readonly observer: CallObserver;
  readonly faultLog: FaultLog;
  /** Begins the spans of calls; unset: no call is traced. */
  readonly tracer?: Tracer | undefined;
}
