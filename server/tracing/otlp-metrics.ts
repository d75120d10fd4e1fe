// Sends the metrics of a server to a collector, for those who have no Prometheus that scrapes it. Loaded only if it is asked for.

import { ExportResultCode } from "@opentelemetry/core";
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from "@opentelemetry/sdk-metrics";
import type { Protocol } from "./otel-env.ts";
import type { TracingLog } from "./otel-tracer.ts";
import { otlpMetrics, type ScrapedMetric } from "./otlp-points.ts";
import { type Origin, resourceOf } from "./resource.ts";

export interface MetricSettings {
  readonly protocol: Protocol;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly warnings: readonly string[];
}

export class OtlpMetrics {
  readonly #provider: MeterProvider;

  constructor(
    exporter: PushMetricExporter,
    { intervalMs, timeoutMs }: MetricSettings,
    origin: Origin,
    scrape: () => Promise<readonly ScrapedMetric[]>,
  ) {
    const resource = resourceOf(origin);
    const startedMs = Date.now();
    const producer = {
      async collect() {
        const scopeMetrics = [
          {
            scope: { name: "rowlock", version: origin.version },
            metrics: otlpMetrics(await scrape(), startedMs, Date.now()),
          },
        ];
        return { resourceMetrics: { resource, scopeMetrics }, errors: [] };
      },
    };
    const reader = new PeriodicExportingMetricReader({
      exporter,
      exportIntervalMillis: intervalMs,
      exportTimeoutMillis: timeoutMs,
      metricProducers: [producer],
    });
    this.#provider = new MeterProvider({ resource, readers: [reader] });
  }

  /** Sends what there is. */
  stop(): Promise<void> {
    return this.#provider.shutdown();
  }
}

/** Where the standard variables say. */
export async function metricExporter(protocol: Protocol, log: TracingLog): Promise<PushMetricExporter> {
  const { OTLPMetricExporter } =
    protocol === "grpc"
      ? await import("@opentelemetry/exporter-metrics-otlp-grpc")
      : await import("@opentelemetry/exporter-metrics-otlp-proto");
  const exporter = new OTLPMetricExporter();
  const send = exporter.export.bind(exporter);
  let isAway = false;
  exporter.export = (metrics, done) =>
    send(metrics, (result) => {
      const failed = result.code !== ExportResultCode.SUCCESS;
      if (failed && !isAway)
        log.warn(
          { cause: result.error?.message },
          "the collector takes no metrics: they are lost until it does",
        );
      if (!failed && isAway) log.info({}, "the collector takes metrics again");
      isAway = failed;
      done(result);
    });
  return exporter;
}
