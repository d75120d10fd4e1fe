// What clients see: calls by method and code, with their latency, and the streams that are open. Never throws.

import type { Registry } from "prom-client";
import { Gauge } from "prom-client";
import type { CallObserver } from "../grpc/call-observer.ts";
import { CALL_SECONDS } from "./buckets.ts";
import { type HotCounter, type HotHistogram, hotCounter, hotHistogram } from "./hot-metrics.ts";
import { Labelled } from "./labelled.ts";

/** Codes that say that something is wrong here: a method that is called has them from its first call on. */
const FAILURES: readonly string[] = [
  "UNAVAILABLE",
  "RESOURCE_EXHAUSTED",
  "INTERNAL",
  "UNKNOWN",
  "DEADLINE_EXCEEDED",
];

/** The metrics of one method. The code is no label of the histogram: each would cost a series for each bucket. */
interface MethodMetrics {
  readonly codes: Labelled<HotCounter>;
  readonly seconds: HotHistogram;
}

export class CallMetrics implements CallObserver {
  readonly #methods: Labelled<MethodMetrics>;
  readonly #streams: Gauge;

  constructor(registry: Registry) {
    const calls = hotCounter({
      name: "rowlock_grpc_calls_total",
      help: "Calls over gRPC that have ended, by method and status code.",
      labelNames: ["method", "code"],
      registry,
    });
    const durations = hotHistogram({
      name: "rowlock_grpc_call_duration_seconds",
      help: "One gRPC call, by method. An Acquire that waits and WaitInQueue last as long as the wait.",
      labelNames: ["method"],
      buckets: CALL_SECONDS,
      registry,
    });
    this.#methods = new Labelled((method) => ({
      codes: new Labelled((code) => calls({ method, code }), FAILURES),
      seconds: durations({ method }),
    }));
    this.#streams = new Gauge({
      name: "rowlock_grpc_open_streams",
      help: "Streams of WaitInQueue that are open at this server.",
      registers: [registry],
    });
  }

  /** @param code the name of the status code, such as `OK`. */
  call(method: string, code: string, seconds: number): void {
    const metrics = this.#methods.of(method);
    metrics.codes.of(code).inc();
    metrics.seconds.observe(seconds);
  }

  streamOpened(): void {
    this.#streams.inc();
  }

  streamClosed(): void {
    this.#streams.dec();
  }
}
