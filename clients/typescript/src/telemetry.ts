// What the program learns of this client beside its results: spans and metrics through OpenTelemetry, and a log. Nothing
// here names a lease id, a request id or a token of a caller, and nothing fails a call.

import type { HeldLease } from "./leases/held-lease.ts";
import type { Lock } from "./lock.ts";
import {
  type Attributes,
  loadOpenTelemetry,
  type OpenTelemetryApi,
  type Span,
  usesOpenTelemetry,
} from "./open-telemetry.ts";
import type { ConnectionEvent, ConnectOptions, LockOptions, LogFields, LogLevel } from "./options.ts";
import type { Spent } from "./rates.ts";
import type { Refusal } from "./refusal.ts";
import { RowlockError } from "./rowlock-error.ts";

const SCOPE = "@rowlock/client";
/** From the enums of the API. */
const KIND_INTERNAL = 0;
const KIND_CLIENT = 2;
const STATUS_ERROR = 2;
/** Waits take milliseconds to hours; the default boundaries are meant for milliseconds. */
const WAIT_BOUNDARIES_S = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600,
];

type Signals = Pick<ConnectOptions, "openTelemetry" | "log">;

/** The API, and what was made with it. */
interface Instruments {
  readonly api: OpenTelemetryApi;
  readonly start: (name: string, kind: number, attributes?: Attributes) => Span;
  readonly held: (by: 1 | -1) => void;
  readonly waiting: (by: 1 | -1) => void;
  readonly waited: (seconds: number) => void;
  readonly lost: (reason: string) => void;
  readonly late: () => void;
}

export class Telemetry {
  readonly #options: Signals;
  /** Undefined: not looked for; null: there is none to use. */
  #made: Instruments | null | undefined;
  /** The held leases that were counted. */
  readonly #counted = new WeakSet<HeldLease>();
  /** The troubles that were logged since a server has last answered. */
  readonly #troubles = new Set<string>();

  constructor(options: Signals) {
    this.#options = options;
  }

  /** The trace context of the caller's current span; empty if there is none. */
  get traceparent(): string {
    return traceparentOf(this.#instruments?.api.trace.getActiveSpan());
  }

  /** Begins the span of a request for a lock. */
  beginLock(name: string, { mode = "permit", permits = 1 }: LockOptions): LockSpan {
    const instruments = this.#instruments;
    const attributes = {
      "rowlock.lock.name": name,
      "rowlock.lock.mode": mode,
      "rowlock.lock.permits": permits,
    };
    return new LockSpan(instruments?.start("rowlock.lock", KIND_CLIENT, attributes), instruments);
  }

  /** Begins the span of a capture. */
  beginCapture(): CaptureSpan {
    return new CaptureSpan(this.#instruments?.start("rowlock.capture", KIND_CLIENT));
  }

  /** Runs the work under a lock in a span, which ends with the work's promise, or as soon as the lock is lost. */
  async holding<Value>(lock: Lock, work: () => Promise<Value>): Promise<Value> {
    const instruments = this.#instruments;
    if (!instruments) return await work();
    const { api, start } = instruments;
    const span = start("rowlock.hold", KIND_INTERNAL, {
      "rowlock.lock.name": lock.name,
      "rowlock.lock.mode": lock.mode,
      "rowlock.lock.permits": lock.permits,
      "rowlock.fencing_token": exact(lock.token),
    });
    let isOpen = true;
    const end = (why?: unknown) => {
      if (!isOpen) return;
      isOpen = false;
      const isLost = why instanceof RowlockError && why.reason === "LEASE_LOST";
      span.setAttributes({ "rowlock.lost": isLost, ...(isLost && { "rowlock.reason": lossOf(why) }) });
      if (isLost) span.setStatus({ code: STATUS_ERROR, message: why.reason });
      span.end();
    };
    const { signal } = lock;
    const over = () => {
      if (signal.reason.reason === "LEASE_LOST") end(signal.reason);
    };
    signal.addEventListener("abort", over);
    try {
      return await api.context.with(api.trace.setSpan(api.context.active(), span), work);
    } catch (error) {
      end(error);
      throw error;
    } finally {
      signal.removeEventListener("abort", over);
      end();
    }
  }

  /** Takes a lease that the client holds from now on. */
  kept(lease: HeldLease): void {
    const instruments = this.#instruments;
    if (!instruments) return;
    instruments.held(1);
    this.#counted.add(lease);
  }

  /** Takes a lease that the client does not hold any more: lost if it says so, and otherwise given back. */
  ended(lease: HeldLease): void {
    if (this.#counted.delete(lease)) this.#instruments?.held(-1);
    if (!lease.isLost) return;
    const reason = lossOf(lease.signal.reason);
    this.#instruments?.lost(reason);
    const { lockName, token } = lease;
    this.#log("warn", `The lock "${lockName}" is lost (${reason}).`, {
      lock: lockName,
      fencingToken: exact(token),
      reason,
    });
  }

  /** Takes a lease whose renewal has no answer although two thirds of its time have passed. */
  late({ lockName, token }: HeldLease): void {
    this.#instruments?.late();
    const message = `The renewal of the lock "${lockName}" is late: two thirds of its ttl have passed.`;
    this.#log("warn", message, { lock: lockName, fencingToken: exact(token) });
  }

  connection(event: ConnectionEvent): void {
    const { address } = event;
    if (event.kind === "connected") {
      const { via, replica } = event;
      this.#troubles.clear();
      this.#log("info", `Connected to ${address}.`, { address, via, replica });
      return;
    }
    const { reason, message } = RowlockError.of(event.error);
    if (reason === "CLOSED")
      this.#log("info", `Closed the idle connection to ${address}.`, { address, reason });
    else this.#trouble("info", `There is no connection to ${address}: ${message}`, { address, reason });
  }

  /** Takes what keeps the client from its servers; it goes on trying. */
  trouble({ reason, message }: RowlockError): void {
    this.#log("warn", message, { reason });
  }

  /** Takes a line about a wait that is long, or that only this client itself can end. */
  waiting(message: string, lock: string, isOwn: boolean): void {
    this.#log(isOwn ? "warn" : "info", message, { lock }, true);
  }

  /** Takes the failure of a handler of a work loop, or of the loop itself, which goes on. */
  work(message: string, fields: LogFields): void {
    this.#log("error", message, fields);
  }

  goingAway(address: string): void {
    this.#log("info", `The server at ${address} is going away, so the client moves to another one.`, {
      address,
    });
  }

  /** Takes an error with which every server would answer. */
  hopeless({ reason, message }: RowlockError): void {
    this.#trouble("error", `No server accepts this client: ${message}`, { reason });
  }

  /** Logs a trouble that is tried again: once at its level, and then for debugging, until a server answers. */
  #trouble(level: LogLevel, message: string, fields: Pick<LogFields, "address" | "reason">): void {
    const key = `${level} ${fields.address} ${fields.reason}`;
    this.#log(this.#troubles.has(key) ? "debug" : level, message, fields);
    this.#troubles.add(key);
  }

  /**
   * Calls the log in a microtask, so that its exceptions do not reach the code that logs. Without a log, the console
   * shows what somebody should know at once.
   */
  #log(level: LogLevel, message: string, fields: LogFields = {}, isUrgent = false): void {
    const { log } = this.#options;
    if (log) queueMicrotask(() => log(level, message, fields));
    else if (isUrgent || level === "warn" || level === "error") console.warn(`rowlock: ${message}`);
  }

  /** Looks for the API with each use until there is one, as programs may set it up late. */
  get #instruments(): Instruments | undefined {
    if (this.#made === undefined) {
      const { openTelemetry } = this.#options;
      if (openTelemetry) this.#made = instrumentsOf(openTelemetry);
      else if (openTelemetry === false) this.#made = null;
      else if (usesOpenTelemetry()) this.#made = this.#found();
    }
    return this.#made ?? undefined;
  }

  #found(): Instruments | null {
    try {
      return instrumentsOf(loadOpenTelemetry());
    } catch (error) {
      this.#log(
        "warn",
        `The program uses OpenTelemetry, but @opentelemetry/api cannot be loaded from here (${error}): pass it to connect as openTelemetry, or false.`,
      );
      return null;
    }
  }
}

/** The span of one request for a lock, which waits until `ended` or `failed` is called. */
export class LockSpan {
  /** The trace context of this span; empty if there is none. */
  readonly traceparent: string;
  readonly #span: Span | undefined;
  readonly #instruments: Pick<Instruments, "waited" | "waiting"> | undefined;
  readonly #beganMs: number;

  constructor(span: Span | undefined, instruments: Pick<Instruments, "waited" | "waiting"> | undefined) {
    this.#span = span;
    this.#instruments = instruments;
    this.#beganMs = instruments ? performance.now() : 0;
    this.traceparent = traceparentOf(span);
    instruments?.waiting(1);
  }

  /** Ends it with the lease, what was spent, or the refusal. `hasWaited`: the request had a place in the queue. */
  ended(outcome: HeldLease | Spent | Refusal, hasWaited: boolean): void {
    const isRefused = "reason" in outcome;
    const granted = "spentAt" in outcome ? "spent" : "granted";
    this.#span?.setAttributes({
      "rowlock.outcome": isRefused ? outcome.reason.toLowerCase() : granted,
      "rowlock.waited": hasWaited,
      ...(!isRefused && { "rowlock.fencing_token": exact(outcome.token) }),
    });
    this.#span?.end();
    this.#instruments?.waiting(-1);
    if (!isRefused) this.#instruments?.waited((performance.now() - this.#beganMs) / 1_000);
  }

  failed(error: unknown, signal: AbortSignal | undefined, hasWaited: boolean): void {
    this.#span?.setAttributes({ "rowlock.waited": hasWaited });
    this.#instruments?.waiting(-1);
    fail(this.#span, error, signal);
  }
}

/** The span of one capture. */
export class CaptureSpan {
  /** The trace context of this span; empty if there is none. */
  readonly traceparent: string;
  readonly #span: Span | undefined;

  constructor(span: Span | undefined) {
    this.#span = span;
    this.traceparent = traceparentOf(span);
  }

  ended(captured: number): void {
    this.#span?.setAttributes({ "rowlock.captured": captured });
    this.#span?.end();
  }

  failed(error: unknown, signal: AbortSignal | undefined): void {
    this.#span?.setAttributes({ "rowlock.captured": 0 });
    fail(this.#span, error, signal);
  }
}

/** Ends a span with an error. The status has only the reason, as messages may contain a request id. */
function fail(span: Span | undefined, error: unknown, signal: AbortSignal | undefined): void {
  const isCancelled = signal?.aborted || (error instanceof RowlockError && error.code === "CANCELLED");
  span?.setAttributes({ "rowlock.outcome": isCancelled ? "cancelled" : "error" });
  if (!isCancelled) span?.setStatus({ code: STATUS_ERROR, message: RowlockError.of(error).reason });
  span?.end();
}

/** How a lease was lost, in lower case: how it has ended if the error says so. */
function lossOf({ end, reason }: RowlockError): string {
  return (end?.reason ?? reason).toLowerCase();
}

function traceparentOf(span: Span | undefined): string {
  if (!span) return "";
  const { traceId, spanId, traceFlags } = span.spanContext();
  // A span that nobody records, outside of any trace, has only zeros.
  if (/^0*$/.test(traceId)) return "";
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

function instrumentsOf(api: OpenTelemetryApi): Instruments {
  const tracer = api.trace.getTracer(SCOPE);
  const meter = api.metrics.getMeter(SCOPE);
  const held = meter.createUpDownCounter("rowlock.client.held", {
    unit: "{lease}",
    description: "Leases that the client holds",
  });
  const waiting = meter.createUpDownCounter("rowlock.client.waiting", {
    unit: "{request}",
    description: "Requests for a lock that have no answer yet",
  });
  const waited = meter.createHistogram("rowlock.client.wait.duration", {
    unit: "s",
    description: "Time from a request for a lock to its grant",
    advice: { explicitBucketBoundaries: WAIT_BOUNDARIES_S },
  });
  const lost = meter.createCounter("rowlock.client.lost", {
    unit: "{lease}",
    description: "Leases that ended although the client had not given them back",
  });
  const late = meter.createCounter("rowlock.client.renewals.late", {
    unit: "{renewal}",
    description: "Renewals without an answer after two thirds of the lease's time",
  });
  return {
    api,
    start: (name, kind, attributes = {}) => tracer.startSpan(name, { kind, attributes }),
    held: (by) => held.add(by),
    waiting: (by) => waiting.add(by),
    waited: (seconds) => waited.record(seconds),
    lost: (reason) => lost.add(1, { "rowlock.reason": reason }),
    late: () => late.add(1),
  };
}

/** JavaScript has no exact number above 2^53, and after a fail-over of the database tokens are above it. */
function exact(token: bigint): number | string {
  return token <= Number.MAX_SAFE_INTEGER ? Number(token) : String(token);
}
