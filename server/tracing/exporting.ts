// Sends spans that have ended to a collector, and logs what the packages warn of. A collector that is away is logged
// once, and once more when it is back.

import { DiagLogLevel, diag } from "@opentelemetry/api";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { type Logger, Seldom } from "../log/log.ts";
import type { Protocol } from "./otel-settings.ts";

/** The log as this room needs it. */
export type TracingLog = Pick<Logger, "info" | "warn">;

/** What the packages warn of again and again, such as spans for which the buffer has no room. */
const WARNED_EVERY_MS = 10_000;

/** The exporter of the package for this protocol. It reads the variables of OTLP from the environment of the process. */
export async function otlpExporter(protocol: Protocol): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === "grpc"
      ? await import("@opentelemetry/exporter-trace-otlp-grpc")
      : await import("@opentelemetry/exporter-trace-otlp-proto");
  return new OTLPTraceExporter();
}

/** Sets the logger that the packages have for the whole process. It leaves out failed exports: see LoggedExporter. */
export function logWarnings(log: TracingLog): void {
  const seldom = new Seldom(WARNED_EVERY_MS);
  const warn = (message: string) => {
    const suppressed = seldom.suppressed(message.replace(/\d+/g, ""));
    if (suppressed !== null) log.warn({ suppressed }, `OpenTelemetry warns: ${withoutHeader(message)}`);
  };
  const silent = () => {};
  const logger = { error: silent, warn, info: silent, debug: silent, verbose: silent };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** A header may be what opens a collector. */
function withoutHeader(message: string): string {
  return message.replace(/invalid value \(.*\)/s, "an invalid value");
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
