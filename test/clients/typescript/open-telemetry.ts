// OpenTelemetry as a program sets it up, which keeps in memory what it is given.

import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { onTestFinished } from "vitest";

/** Sets it up for this test. */
export function setUpOpenTelemetry() {
  const exporter = new InMemorySpanExporter();
  const traces = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const metrics = new MeterProvider({
    readers: [
      new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 86_400_000 }),
    ],
  });
  api.trace.setGlobalTracerProvider(traces);
  api.metrics.setGlobalMeterProvider(metrics);
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  onTestFinished(async () => {
    for (const one of [api.trace, api.metrics, api.context]) one.disable();
    // A program without OpenTelemetry has not even this, and the next test is one.
    Reflect.deleteProperty(globalThis, Symbol.for("opentelemetry.js.api.1"));
    await traces.shutdown();
    await metrics.shutdown();
  });

  /** The ended spans of this name, oldest first. */
  const spans = async (name: string) => {
    await traces.forceFlush();
    return exporter.getFinishedSpans().filter((span) => span.name === name);
  };
  /** The data points of a metric: their attributes and values. */
  const metric = async (name: string) => {
    metricExporter.reset();
    await metrics.forceFlush();
    const all = metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    const found = all.flatMap((scope) => scope.metrics).find(({ descriptor }) => descriptor.name === name);
    return (found?.dataPoints ?? []).map(({ attributes, value }) => ({ attributes, value }));
  };
  const tracer = api.trace.getTracer("test");
  /** Runs work in a span of the program. */
  const inSpan = <Value>(work: (span: api.Span) => Promise<Value>): Promise<Value> =>
    tracer.startActiveSpan("program", async (span) => {
      try {
        return await work(span);
      } finally {
        span.end();
      }
    });
  return { spans, metric, inSpan };
}
