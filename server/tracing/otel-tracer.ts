// The spans of `core/span.ts`, made with OpenTelemetry and sent to a collector. Uses none of its globals, so nothing that
// a package does by itself gets into these traces. A collector that is away is logged once, and once more when it is back.

import * as otel from "@opentelemetry/api";
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from "@opentelemetry/core";
import * as sdk from "@opentelemetry/sdk-trace";
import type { CallSpan, PartName, Span, SpanAttributes, TraceParent, Tracer } from "../core/span.ts";
import { type Logger, Seldom } from "../log/log.ts";
import type { Protocol } from "./otel-env.ts";
import { type Origin, resourceOf } from "./resource.ts";

/** Which calls are traced, of those whose caller does not say so. */
export interface Sampling {
  readonly kind: "always_on" | "always_off" | "traceidratio";
  /** Whether the decision of a caller that sends its trace context counts more. */
  readonly parentBased: boolean;
  readonly ratio: number;
}

/** Bounds of the buffer of spans that have ended; unset: OpenTelemetry's defaults. */
export type Buffering = {
  readonly [Key in
    | "maxQueueSize"
    | "maxExportBatchSize"
    | "scheduledDelayMillis"
    | "exportTimeoutMillis"]?: number;
};

export interface OtelSettings {
  readonly protocol: Protocol;
  readonly sampling: Sampling;
  readonly buffering: Buffering;
  readonly warnings: readonly string[];
}

const KIND: Readonly<Record<PartName, otel.SpanKind>> = {
  queue: otel.SpanKind.INTERNAL,
  transaction: otel.SpanKind.INTERNAL,
  statement: otel.SpanKind.CLIENT,
};

const HEADERS = {
  get: (parent: TraceParent, key: string) => parent[key as keyof TraceParent],
  keys: () => ["traceparent", "tracestate"],
};

export class OpenTelemetryTracer implements Tracer {
  readonly #provider: sdk.TracerProvider;
  readonly #tracer: otel.Tracer;
  readonly #propagator = new W3CTraceContextPropagator();

  constructor(exporter: sdk.SpanExporter, settings: OtelSettings, origin: Origin) {
    this.#provider = new sdk.TracerProvider({
      resource: resourceOf(origin),
      sampler: samplerOf(settings.sampling),
      spanProcessors: [new sdk.BatchSpanProcessor({ ...settings.buffering, exporter })],
    });
    this.#tracer = this.#provider.getTracer("rowlock", origin.version);
  }

  call(method: string, parent: TraceParent): CallSpan | undefined {
    const context = this.#propagator.extract(otel.ROOT_CONTEXT, parent, HEADERS);
    const attributes = { "rpc.system.name": "grpc", "rpc.method": method };
    const zeroMs = Date.now() - performance.now();
    const startTime = zeroMs + performance.now();
    const span = this.#tracer.startSpan(
      method,
      { kind: otel.SpanKind.SERVER, attributes, startTime },
      context,
    );
    return span.isRecording() ? new TracedCall(this.#tracer, span, context, zeroMs) : undefined;
  }

  /** Sends the spans that have ended, and stops. Rejects if they cannot be sent. */
  stop(): Promise<void> {
    return this.#provider.shutdown();
  }
}

class TracedPart implements Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly #tracer: otel.Tracer;
  readonly #span: otel.Span;
  readonly #context: otel.Context;
  /** When performance.now() was 0; the same for all parts of a call. Each alone would begin at a whole millisecond. */
  readonly #zeroMs: number;

  constructor(tracer: otel.Tracer, span: otel.Span, parent: otel.Context, zeroMs: number) {
    this.#tracer = tracer;
    this.#zeroMs = zeroMs;
    this.#span = span;
    this.#context = otel.trace.setSpan(parent, span);
    const { traceId, spanId } = span.spanContext();
    this.traceId = traceId;
    this.spanId = spanId;
  }

  part(name: PartName, attributes: SpanAttributes = {}): Span {
    const startTime = this.#zeroMs + performance.now();
    const span = this.#tracer.startSpan(name, { kind: KIND[name], attributes, startTime }, this.#context);
    return new TracedPart(this.#tracer, span, this.#context, this.#zeroMs);
  }

  link(other: Span): void {
    if (other instanceof TracedPart) this.#span.addLink({ context: other.#span.spanContext() });
  }

  end(attributes: SpanAttributes, error?: string, atMs = performance.now()): void {
    // The package warns of what is done to a span that has ended; a call may end before its work.
    if (!this.#span.isRecording()) return;
    this.#span.setAttributes(attributes);
    if (error !== undefined) {
      this.#span.setAttribute("error.type", error);
      this.#span.setStatus({ code: otel.SpanStatusCode.ERROR, message: error });
    }
    this.#span.end(this.#zeroMs + atMs);
  }
}

class TracedCall extends TracedPart implements CallSpan {
  readonly #locks = new Set<string>();
  #last: SpanAttributes = {};

  decided(outcome: string, reason: string | null, lockName?: string): void {
    if (lockName !== undefined) this.#locks.add(lockName);
    this.#last = { "rowlock.outcome": outcome, ...(reason !== null && { "rowlock.reason": reason }) };
  }

  override end(attributes: SpanAttributes, error?: string): void {
    const [lock] = this.#locks;
    const about =
      this.#locks.size > 1
        ? { "rowlock.locks": this.#locks.size }
        : { ...(lock !== undefined && { "rowlock.lock": lock }), ...this.#last };
    super.end({ ...about, ...attributes }, error);
  }
}

function samplerOf({ kind, parentBased, ratio }: Sampling): sdk.Sampler {
  const share = kind === "traceidratio" ? new sdk.TraceIdRatioBasedSampler(ratio) : null;
  const root = share ?? (kind === "always_on" ? new sdk.AlwaysOnSampler() : new sdk.AlwaysOffSampler());
  return parentBased ? new sdk.ParentBasedSampler({ root }) : root;
}

export type TracingLog = Pick<Logger, "info" | "warn">;

/** What the packages warn of again and again, such as spans for which the buffer has no room. */
const WARNED_EVERY_MS = 10_000;

export async function otlpExporter(protocol: Protocol): Promise<sdk.SpanExporter> {
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
  otel.diag.setLogger(logger, { logLevel: otel.DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** A header may be what opens a collector. */
function withoutHeader(message: string): string {
  return message.replace(/invalid value \(.*\)/s, "an invalid value");
}

export class LoggedExporter implements sdk.SpanExporter {
  readonly #exporter: sdk.SpanExporter;
  readonly #log: TracingLog;
  /** Spans lost since the collector has taken some; 0: it took the last ones. */
  #lost = 0;

  constructor(exporter: sdk.SpanExporter, log: TracingLog) {
    this.#exporter = exporter;
    this.#log = log;
  }

  export(spans: sdk.ReadableSpan[], done: (result: ExportResult) => void): void {
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
