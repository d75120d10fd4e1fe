// What the gRPC layer reports: calls and sessions to the metrics, failed calls to the log, and those that were refused for
// who their caller is, to the log and for the audit. Decides nothing, and knows no credentials.

import { AccessError } from "../access/access-error.ts";
import { Allowance, networkOf, type Rate } from "../core/allowance.ts";
import { RecentMap } from "../core/recent-map.ts";
import type { Span, Tracer } from "../core/span.ts";
import { type Logger, Seldom, traceIds } from "../log/log.ts";
import type { OutageLog } from "../log/outage-log.ts";
import * as bounds from "./grpc-bounds.ts";
import type { Reason } from "./messages/call-error.ts";
import type { Failure } from "./messages/status.ts";

type SpanIds = Pick<Span, "traceId" | "spanId">;

/** How a call arrived. */
export type Via = "call" | "session" | "http";

/** Its methods must not throw. */
export interface CallObserver {
  /**
   * Called once, at the end of each call. `method` is without its service (`Acquire`), `code` is a name (`OK`), and
   * `seconds` run from the call's arrival to its end. `span`: of the call, if it is traced.
   */
  call(method: string, code: string, seconds: number, via: Via, span?: SpanIds): void;
  /** Server streams outside sessions: WaitInQueue and WatchLocks. */
  streamOpened(): void;
  streamClosed(): void;
  /** `code`: the name of the status with which the session ended. */
  sessionClosed(code: string, seconds: number): void;
  /** Claims in pokes: sent to another server, not delivered to it, or received from it. */
  poke(event: "sent" | "lost" | "received", claims: number): void;
  sessionMessage(direction: "received" | "sent", items: number, bytes: number): void;
}

/** The failures that are logged, beside bugs. */
const LOGGED: ReadonlySet<Reason> = new Set([
  "DATABASE_UNAVAILABLE",
  "OUTCOME_UNKNOWN",
  "OVERLOADED",
  "KEYS_UNAVAILABLE",
]);

/**
 * Logs calls that failed through no fault of the caller: each bug in full, the others once per reason and interval.
 * Failures that belong to a database outage go to the outage log, which also covers background loops.
 */
export class FaultLog {
  readonly #logger: Logger;
  readonly #outage: Pick<OutageLog, "failed"> | undefined;
  readonly #seldom = new Seldom(bounds.FAULT_LOG_INTERVAL_MS);
  readonly #denied: DeniedCalls;

  /** Without `outage`, this log also takes the failures of a database outage. */
  constructor(logger: Logger, outage?: Pick<OutageLog, "failed">, isAudited = false) {
    this.#logger = logger;
    this.#outage = outage;
    this.#denied = new DeniedCalls(logger, isAudited);
  }

  /** `cause`: what was thrown; the client never sees it. `peer`: the address of the other end. */
  failed(method: string, failure: Failure, cause: unknown, span?: Span, peer?: string): void {
    const { reason, incident } = failure;
    if (isDenial(reason)) this.#denied.denied({ method, reason, cause, peer, span });
    else if (incident) {
      this.#logger.error(
        { method, incident, ...traceIds(span), err: cause },
        "call failed: a bug in the server",
      );
    } else if (LOGGED.has(reason)) {
      if (this.#outage?.failed({ method }, cause)) return;
      const suppressed = this.#seldom.suppressed(reason);
      if (suppressed !== null)
        this.#logger.warn({ method, reason, suppressed, ...traceIds(span), err: cause }, "calls fail");
    }
  }
}

export interface Frame {
  readonly observer: CallObserver;
  readonly faultLog: FaultLog;
  readonly tracer?: Tracer | undefined;
}

const REASONS: ReadonlySet<Reason> = new Set([
  "CREDENTIALS_MISSING",
  "CREDENTIALS_WRONG",
  "CREDENTIALS_EXPIRED",
  "RIGHT_MISSING",
]);

function isDenial(reason: Reason): boolean {
  return REASONS.has(reason);
}

export interface Denied {
  readonly method: string;
  readonly reason: Reason;
  readonly cause: unknown;
  readonly peer?: string | undefined;
  readonly span?: Span | undefined;
}

export class DeniedCalls {
  readonly #logger: Logger;
  readonly #isAudited: boolean;
  readonly #known = new Denials();
  readonly #strangers = new Denials();

  constructor(logger: Logger, isAudited: boolean) {
    this.#logger = logger;
    this.#isAudited = isAudited;
  }

  denied({ method, reason, cause, peer = "", span }: Denied): void {
    const { principal } = cause instanceof AccessError ? cause.metadata : {};
    const isKnown = principal !== undefined;
    // Ports change with each connection.
    const address = networkOf(peer.replace(/:\d+$/, ""));
    const line = (suppressed: number) => ({
      ...{ method, reason, peer, suppressed },
      ...(isKnown && { principal }),
      ...traceIds(span),
      ...whyOf(cause),
    });
    const denials = isKnown ? this.#known : this.#strangers;
    const warned = denials.warned.take(`${reason} ${address}`);
    if (warned !== null) this.#logger.warn(line(warned), "calls are refused");
    const audited = this.#isAudited ? denials.audited.take(`${reason} ${principal ?? address}`) : null;
    if (audited !== null) this.#logger.info(line(audited), "call denied");
  }
}

/** A refusal may know more than its message, which the caller gets: the name of the lock, or what went wrong. */
function whyOf(error: unknown): { readonly why: string; readonly on?: string; readonly cause?: string } {
  if (!(error instanceof Error)) return { why: String(error) };
  const { message: why, cause } = error;
  if (cause === undefined) return { why };
  return cause instanceof Error ? { why, cause: cause.message } : { why, on: String(cause) };
}

/** Lets some through, of each key and of all. */
class SomeOf {
  readonly #each: Rate;
  readonly #all: Rate;
  readonly #ofAll = new Allowance();
  /** A key that is forgotten loses the number that was suppressed. */
  readonly #ofKeys = new RecentMap<string, { readonly allowance: Allowance; suppressed: number }>(
    bounds.DENIED_ADDRESSES_MAX,
  );

  constructor(each: Rate, all: Rate) {
    this.#each = each;
    this.#all = all;
  }

  /** How many of this key were suppressed before this one; null: this one is. */
  take(key: string): number | null {
    const nowMs = performance.now();
    const of = this.#ofKeys.get(key) ?? { allowance: new Allowance(), suppressed: 0 };
    this.#ofKeys.set(key, of);
    const isOne =
      of.allowance.take(1, this.#each, nowMs) === 1 && this.#ofAll.take(1, this.#all, nowMs) === 1;
    if (!isOne) {
      of.suppressed += 1;
      return null;
    }
    const { suppressed } = of;
    of.suppressed = 0;
    return suppressed;
  }
}

/** Bounds the lines about known callers, or about strangers. */
class Denials {
  readonly warned = new SomeOf(bounds.LOGGED_DENIALS_EACH, bounds.LOGGED_DENIALS_ALL);
  readonly audited = new SomeOf(bounds.AUDITED_DENIALS_EACH, bounds.AUDITED_DENIALS_ALL);
}
