// A tracer as servers have it, whose spans stay in this process, and what tests ask of them.

import { SpanStatusCode } from "@opentelemetry/api";
import { ExportResultCode } from "@opentelemetry/core";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { Env } from "../../server/tracing/otel-env.ts";
import { OpenTelemetryTracer } from "../../server/tracing/otel-tracer.ts";
import { readOtelSettings } from "../../server/tracing/tracing.ts";
import { type SeenSpan, SpanTree } from "./span-tree.ts";
import { until } from "./until.ts";

export class RecordedSpans {
  readonly tracer: OpenTelemetryTracer;
  readonly #seen: SeenSpan[] = [];

  /** `env`: as the server's. */
  constructor(env: Env = {}) {
    const exporter: SpanExporter = {
      export: (spans, done) => {
        this.#seen.push(...spans.map(seenSpan));
        done({ code: ExportResultCode.SUCCESS });
      },
      shutdown: async () => {},
    };
    const settings = readOtelSettings({ OTEL_BSP_SCHEDULE_DELAY: "1", ...env });
    this.tracer = new OpenTelemetryTracer(exporter, settings, { version: "1.2.3", instance: "one" });
  }

  /** The spans of a trace, as soon as there are spans of all these names. */
  async of(traceId: string, ...names: readonly string[]): Promise<SpanTree> {
    const found = () => this.#seen.filter((span) => span.traceId === traceId);
    await until(() => {
      const left = found().map(({ name }) => name);
      return names.every((name) => left.includes(name) && left.splice(left.indexOf(name), 1));
    });
    return new SpanTree(found());
  }

  /** All spans that have ended. */
  async stop(): Promise<SpanTree> {
    await this.tracer.stop();
    return new SpanTree(this.#seen);
  }
}

function seenSpan(span: ReadableSpan): SeenSpan {
  const { traceId, spanId, traceState } = span.spanContext();
  return {
    name: span.name,
    traceId,
    spanId,
    parentId: span.parentSpanContext?.spanId ?? "",
    attributes: span.attributes,
    links: span.links.map(({ context }) => context.spanId),
    error: span.status.code === SpanStatusCode.ERROR ? (span.status.message ?? "") : undefined,
    startNs: nanos(span.startTime),
    endNs: nanos(span.endTime),
    tracestate: traceState?.serialize() ?? "",
  };
}

function nanos([seconds, rest]: readonly [number, number]): bigint {
  return BigInt(seconds) * 1_000_000_000n + BigInt(rest);
}
