// What clients see: calls by method and code, made directly or as commands of sessions, with their latency, and the
// open streams and sessions. Never throws.

import type { Registry } from "prom-client";
import { Gauge } from "prom-client";
import type { CallObserver, Via } from "../grpc/call-observer.ts";
import { CALL_SECONDS, MESSAGE_ITEMS, SESSION_SECONDS } from "./buckets.ts";
import { type HotCounter, type HotHistogram, hotCounter, hotHistogram } from "./hot-metrics.ts";
import { Labelled } from "./labelled.ts";

/** Codes that mean that something is wrong at the server: each method has these series from its first call on. */
const FAILURES: readonly string[] = [
  "UNAVAILABLE",
  "RESOURCE_EXHAUSTED",
  "INTERNAL",
  "UNKNOWN",
  "DEADLINE_EXCEEDED",
];

/**
 * The metrics of one method. The code is not a label of the histogram, because each code would add a series per
 * bucket.
 */
interface MethodMetrics {
  readonly codes: Labelled<Labelled<HotCounter>>;
  readonly seconds: HotHistogram;
}

interface MessageMetrics {
  readonly items: HotHistogram;
  readonly bytes: HotCounter;
}

export class CallMetrics implements CallObserver {
  readonly #methods: Labelled<MethodMetrics>;
  readonly #streams: Gauge;
  readonly #sessions: Gauge;
  readonly #messages: Readonly<Record<"received" | "sent", MessageMetrics>>;
  readonly #sessionSeconds: Labelled<HotHistogram>;
  readonly #pokes: Labelled<HotCounter>;

  constructor(registry: Registry) {
    const calls = hotCounter({
      name: "rowlock_grpc_calls_total",
      help: "Calls that have ended, by method and status code, and by the way they came: by themselves or in a session.",
      labelNames: ["method", "code", "via"],
      registry,
    });
    const durations = hotHistogram({
      name: "rowlock_grpc_call_duration_seconds",
      help: "One call, by method, in a session or not. An Acquire that waits and WaitInQueue last as long as the wait, and WatchLocks as long as it is watched.",
      labelNames: ["method"],
      buckets: CALL_SECONDS,
      registry,
    });
    this.#methods = new Labelled((method) => ({
      codes: new Labelled((via) => new Labelled((code) => calls({ method, code, via }), FAILURES)),
      seconds: durations({ method }),
    }));
    this.#streams = new Gauge({
      name: "rowlock_grpc_open_streams",
      help: "Streams of WaitInQueue and WatchLocks that are open at this server.",
      registers: [registry],
    });
    this.#sessions = new Gauge({
      name: "rowlock_sessions_open",
      help: "Sessions that are open at this server.",
      registers: [registry],
    });
    const items = hotHistogram({
      name: "rowlock_session_message_items",
      help: "Commands in one message that a session has received, and results in one that it has sent.",
      labelNames: ["direction"],
      buckets: MESSAGE_ITEMS,
      registry,
    });
    const bytes = hotCounter({
      name: "rowlock_session_bytes_total",
      help: "Bytes of the messages that sessions have received and sent.",
      labelNames: ["direction"],
      registry,
    });
    const ofMessages = (direction: string) => ({ items: items({ direction }), bytes: bytes({ direction }) });
    this.#messages = { received: ofMessages("received"), sent: ofMessages("sent") };
    const ages = hotHistogram({
      name: "rowlock_session_duration_seconds",
      help: "How long sessions lasted, by the status code with which they have ended.",
      labelNames: ["code"],
      buckets: SESSION_SECONDS,
      registry,
    });
    this.#sessionSeconds = new Labelled((code) => ages({ code }));
    const pokes = hotCounter({
      name: "rowlock_pokes_total",
      help: "Claims granted for waiters of another server: told to it, not told as it was not reached, or heard of here.",
      labelNames: ["event"],
      registry,
    });
    this.#pokes = new Labelled((event) => pokes({ event }), ["sent", "lost", "received"]);
  }

  /** @param code the name of the status code, such as `OK`. */
  call(method: string, code: string, seconds: number, via: Via): void {
    const metrics = this.#methods.of(method);
    metrics.codes.of(via).of(code).inc();
    metrics.seconds.observe(seconds);
  }

  streamOpened(): void {
    this.#streams.inc();
  }

  streamClosed(): void {
    this.#streams.dec();
  }

  sessionOpened(): void {
    this.#sessions.inc();
  }

  sessionClosed(code: string, seconds: number): void {
    this.#sessions.dec();
    this.#sessionSeconds.of(code).observe(seconds);
  }

  poke(event: "sent" | "lost" | "received", claims: number): void {
    this.#pokes.of(event).inc(claims);
  }

  sessionMessage(direction: "received" | "sent", items: number, bytes: number): void {
    const metrics = this.#messages[direction];
    metrics.items.observe(items);
    metrics.bytes.inc(bytes);
  }
}
