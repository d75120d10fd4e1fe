// Whether the metrics of a server are sent to a collector, and how often: as the standard variables of OpenTelemetry say. A server that
// sends none loads nothing of it.

import { flushed } from "./flush.ts";
import { countOf, type Env, isDisabled, namesOtlp, protocolOf, textOf } from "./otel-env.ts";
import type { TracingLog } from "./otel-tracer.ts";
import type { MetricSettings } from "./otlp-metrics.ts";
import type { ScrapedMetric } from "./otlp-points.ts";
import type { Origin } from "./resource.ts";

const INTERVAL_MS = 60_000;
const TIMEOUT_MS = 30_000;

/** If OTEL_METRICS_EXPORTER names `otlp`: an endpoint alone is not enough, as most operators scrape. */
export function areMetricsSent(env: Env): boolean {
  return !isDisabled(env) && namesOtlp(textOf(env, "OTEL_METRICS_EXPORTER"));
}

export function readMetricSettings(env: Env): MetricSettings {
  const warnings: string[] = [];
  const protocol = protocolOf(env, "METRICS", warnings);
  const intervalMs = countOf(env, "OTEL_METRIC_EXPORT_INTERVAL", warnings) ?? INTERVAL_MS;
  const asked = countOf(env, "OTEL_METRIC_EXPORT_TIMEOUT", warnings) ?? TIMEOUT_MS;
  // One that lasts longer would meet the next one.
  return { protocol, intervalMs, timeoutMs: Math.min(asked, intervalMs), warnings };
}

/** null: the environment does not ask for it. `scrape`: all metrics, as they are now. */
export async function startSendingMetrics(
  env: Env,
  origin: Origin,
  log: TracingLog,
  scrape: () => Promise<readonly ScrapedMetric[]>,
): Promise<{ stop(): Promise<void> } | null> {
  if (!areMetricsSent(env)) return null;
  const settings = readMetricSettings(env);
  for (const warning of settings.warnings) log.warn({}, warning);
  const { metricExporter, OtlpMetrics } = await import("./otlp-metrics.ts");
  const { protocol, intervalMs } = settings;
  const sent = new OtlpMetrics(await metricExporter(protocol, log), settings, origin, scrape);
  log.info({ protocol, intervalMs }, "metrics are sent to a collector");
  return { stop: () => flushed(() => sent.stop()) };
}
