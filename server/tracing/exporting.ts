// Sends spans that have ended to a collector. A collector that is away is logged once, and once more when it is back.

import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { Protocol } from "./otel-settings.ts";

/** Receives what an operator should know of traces; the process's log is one. */
export interface TracingLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The exporter of the package for this protocol. It reads the variables of OTLP from the environment of the process. */
export async function otlpExporter(protocol: Protocol): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === "grpc"
      ? await import("@opentelemetry/exporter-trace-otlp-grpc")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter();
}

export class LoggedExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #log: TracingLog;
  /** Spans lost since the collector has taken some; 0: it took the last ones. */
  #lost = 0;

  constructor(exporter: SpanExporter, log: TracingLog) {
    this.#exporter = exporter;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#note(spans.length, result);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  #note(spans: number, { code, error }: ExportResult): void {
    if (code === ExportResultCode.SUCCESS) {
      if (this.#lost > 0) this.#log.info({ lost: this.#lost }, "the collector takes traces again");
      this.#lost = 0;
      return;
    }
    if (this.#lost === 0)
      this.#log.warn({ cause: error?.message }, "the collector takes no traces: they are lost until it does");
    this.#lost += spans;
  }
}
