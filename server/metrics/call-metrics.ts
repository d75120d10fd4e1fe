// What clients see: calls by method and code, with their latency, and the streams that are open. Never throws.

import type { Registry } from "prom-client";
import { Gauge } from "prom-client";
import type { CallObserver } from "../grpc/call-observer.ts";
import { CALL_SECONDS } from "./buckets.ts";
import { Labelled } from "./labelled.ts";
import type { TallyHistogram } from "./tally.ts";
import { tallyHistogram } from "./tally.ts";

export class CallMetrics implements CallObserver {
  readonly #calls: Labelled<Labelled<TallyHistogram>>;
  readonly #streams: Gauge;

  constructor(registry: Registry) {
    const calls = tallyHistogram({
      name: "rowlock_grpc_call_duration_seconds",
      help: "One gRPC call, by method and status code. An Acquire that waits and WaitInQueue last as long as the wait.",
      labelNames: ["method", "code"],
      buckets: CALL_SECONDS,
      registry,
    });
    this.#calls = new Labelled((method) => new Labelled((code) => calls({ method, code })));
    this.#streams = new Gauge({
      name: "rowlock_grpc_open_streams",
      help: "Streams of WaitInQueue that are open at this server.",
      registers: [registry],
    });
  }

  /** @param code the name of the status code, such as `OK`. */
  call(method: string, code: string, seconds: number): void {
    this.#calls.of(method).of(code).observe(seconds);
  }

  streamOpened(): void {
    this.#streams.inc();
  }

  streamClosed(): void {
    this.#streams.dec();
  }
}
