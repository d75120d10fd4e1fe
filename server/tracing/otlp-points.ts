// What prom-client knows of the metrics, in the form of OpenTelemetry. Names, labels and units stay those of the scrape: a collector that
// writes to Prometheus makes the same series of both. Pure.

import { ValueType } from "@opentelemetry/api";
import { millisToHrTime } from "@opentelemetry/core";
import { AggregationTemporality, DataPointType, type MetricData } from "@opentelemetry/sdk-metrics";

/** As `getMetricsAsJSON` gives it. */
export interface ScrapedMetric {
  readonly name: string;
  readonly help: string;
  /** A number in prom-client's own metrics. */
  readonly type: unknown;
  readonly values: readonly ScrapedValue[];
}

interface ScrapedValue {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  /** Of a histogram: with the suffix of the sample. */
  readonly metricName?: string | undefined;
}

type Attributes = Readonly<Record<string, string>>;

/** `startedMs`: since when counters count. */
export function otlpMetrics(
  scraped: readonly ScrapedMetric[],
  startedMs: number,
  nowMs: number,
): MetricData[] {
  const times = { startTime: millisToHrTime(startedMs), endTime: millisToHrTime(nowMs) };
  return scraped.flatMap((metric): MetricData[] => {
    const { name, help, type, values } = metric;
    if (values.length === 0) return [];
    const common = {
      descriptor: { name, description: help, unit: "", valueType: ValueType.DOUBLE, advice: {} },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    };
    if (type === "histogram") {
      const dataPoints = histograms(values).map((value) => ({ ...times, ...value }));
      return [{ ...common, dataPointType: DataPointType.HISTOGRAM as const, dataPoints }];
    }
    const dataPoints = values.map(({ value, labels }) => ({
      ...times,
      attributes: attributesOf(labels),
      value,
    }));
    if (type === "counter")
      return [{ ...common, dataPointType: DataPointType.SUM as const, isMonotonic: true, dataPoints }];
    return [{ ...common, dataPointType: DataPointType.GAUGE as const, dataPoints }];
  });
}

interface Histogram {
  readonly attributes: Attributes;
  readonly value: {
    sum: number;
    count: number;
    readonly buckets: { boundaries: number[]; counts: number[] };
  };
}

function histograms(values: readonly ScrapedValue[]): Histogram[] {
  const found = new Map<string, Histogram>();
  for (const { value, labels, metricName = "" } of values) {
    const { le, ...rest } = labels;
    const attributes = attributesOf(rest);
    const key = JSON.stringify(attributes);
    const one = found.get(key) ?? {
      attributes,
      value: { sum: 0, count: 0, buckets: { boundaries: [], counts: [] } },
    };
    found.set(key, one);
    const { boundaries, counts } = one.value.buckets;
    if (metricName.endsWith("_sum")) one.value.sum = value;
    else if (metricName.endsWith("_count")) one.value.count = value;
    else {
      // Prometheus counts in each bucket what is in those before it, too.
      counts.push(value - counts.reduce((sum, count) => sum + count, 0));
      if (le !== "+Inf") boundaries.push(Number(le));
    }
  }
  return [...found.values()];
}

function attributesOf(labels: ScrapedValue["labels"]): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([label, value]) => [label, String(value)]));
}
