// The metrics of a scrape in the form of OpenTelemetry.

import { DataPointType } from "@opentelemetry/sdk-metrics";
import { expect, test } from "vitest";
import { otlpMetrics } from "../../server/tracing/otlp-points.ts";
import { areMetricsSent, readMetricSettings } from "../../server/tracing/sent-metrics.ts";

const STARTED_MS = 1_000;
const NOW_MS = 61_500;
const times = { startTime: [1, 0], endTime: [61, 500_000_000] };

test("counters, gauges and histograms keep their names, labels and values", () => {
  const bucket = (le: string, value: number) => ({
    metricName: "wait_bucket",
    labels: { le, class: "etl" },
    value,
  });
  const found = otlpMetrics(
    [
      {
        name: "acquires_total",
        help: "Acquires.",
        type: "counter",
        values: [{ labels: { mode: "shared" }, value: 7 }],
      },
      { name: "held", help: "Held.", type: "gauge", values: [{ labels: {}, value: 3 }] },
      {
        name: "wait",
        help: "Waits.",
        type: "histogram",
        values: [
          ...[bucket("0.1", 2), bucket("1", 5), bucket("+Inf", 6)],
          { metricName: "wait_sum", labels: { class: "etl" }, value: 4.5 },
          { metricName: "wait_count", labels: { class: "etl" }, value: 6 },
        ],
      },
      { name: "never", help: "Nothing yet.", type: "counter", values: [] },
    ],
    STARTED_MS,
    NOW_MS,
  );
  expect(found).toMatchObject([
    {
      descriptor: { name: "acquires_total", description: "Acquires." },
      dataPointType: DataPointType.SUM,
      isMonotonic: true,
      dataPoints: [{ ...times, attributes: { mode: "shared" }, value: 7 }],
    },
    { descriptor: { name: "held" }, dataPointType: DataPointType.GAUGE, dataPoints: [{ value: 3 }] },
    {
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: [
        {
          attributes: { class: "etl" },
          value: { sum: 4.5, count: 6, buckets: { boundaries: [0.1, 1], counts: [2, 3, 1] } },
        },
      ],
    },
  ]);
  expect(found).toHaveLength(3);
});

test("they are sent only if the environment says so, as often as it says", () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
  expect(areMetricsSent(endpoint)).toBe(false);
  const asked = { ...endpoint, OTEL_METRICS_EXPORTER: "console, otlp" };
  expect(areMetricsSent(asked)).toBe(true);
  expect(areMetricsSent({ ...asked, OTEL_SDK_DISABLED: "true" })).toBe(false);
  expect(readMetricSettings(asked)).toEqual({
    ...{ protocol: "http/protobuf", intervalMs: 60_000, timeoutMs: 30_000, warnings: [] },
  });
  const wrong = {
    OTEL_METRIC_EXPORT_INTERVAL: "1000",
    OTEL_METRIC_EXPORT_TIMEOUT: "soon",
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: "carrier pigeons",
  };
  expect(readMetricSettings(wrong)).toMatchObject({
    ...{ protocol: "http/protobuf", intervalMs: 1_000, timeoutMs: 1_000 },
    warnings: [
      expect.stringMatching(/carrier pigeons/),
      expect.stringMatching(/OTEL_METRIC_EXPORT_TIMEOUT is "soon"/),
    ],
  });
});
