// Which variables turn traces on, and what is made of those that the packages do not read.

import { describe, expect, test } from "vitest";
import type { Env } from "../../server/tracing/otel-env.ts";
import { areTracesOn, readOtelSettings } from "../../server/tracing/tracing.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

describe("traces", () => {
  test.each<[string, Env, boolean]>([
    ["nothing is set", {}, false],
    ["only empty variables are set", { OTEL_EXPORTER_OTLP_ENDPOINT: "", OTEL_TRACES_EXPORTER: " " }, false],
    ["only the name of the service is set", { OTEL_SERVICE_NAME: "locks" }, false],
    ["an endpoint is set", ENDPOINT, true],
    ["an endpoint for traces is set", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://collector" }, true],
    ["only an endpoint for metrics is set", { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://x" }, false],
    ["the exporter is otlp", { OTEL_TRACES_EXPORTER: "otlp" }, true],
    ["otlp is one of the exporters", { OTEL_TRACES_EXPORTER: "console, otlp" }, true],
    ["the exporter is none", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }, false],
    ["the exporter is another one", { ...ENDPOINT, OTEL_TRACES_EXPORTER: "zipkin" }, false],
    ["the SDK is disabled", { ...ENDPOINT, OTEL_SDK_DISABLED: "true" }, false],
    ["the SDK is disabled in capitals", { OTEL_TRACES_EXPORTER: "otlp", OTEL_SDK_DISABLED: "TRUE" }, false],
    ["the SDK is not disabled", { ...ENDPOINT, OTEL_SDK_DISABLED: "false" }, true],
  ])("if %s", (_, env, areOn) => {
    expect(areTracesOn(env)).toBe(areOn);
  });
});

describe("the settings", () => {
  test("are OpenTelemetry's defaults", () => {
    expect(readOtelSettings({})).toEqual({
      protocol: "http/protobuf",
      sampling: { kind: "always_on", parentBased: true, ratio: 1 },
      buffering: {},
      warnings: [],
    });
  });

  test("are those of the environment", () => {
    const env = {
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.25",
      OTEL_BSP_MAX_QUEUE_SIZE: "4096",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "100",
      OTEL_BSP_SCHEDULE_DELAY: "1000",
      OTEL_BSP_EXPORT_TIMEOUT: "2000",
    };
    expect(readOtelSettings(env)).toEqual({
      protocol: "grpc",
      sampling: { kind: "traceidratio", parentBased: true, ratio: 0.25 },
      buffering: {
        maxQueueSize: 4_096,
        maxExportBatchSize: 100,
        scheduledDelayMillis: 1_000,
        exportTimeoutMillis: 2_000,
      },
      warnings: [],
    });
  });

  test("for traces alone count more than those for everything", () => {
    const env = { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc", OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/protobuf" };
    expect(readOtelSettings(env).protocol).toBe("http/protobuf");
  });

  test.each([
    ["always_on", { kind: "always_on", parentBased: false, ratio: 1 }],
    ["always_off", { kind: "always_off", parentBased: false, ratio: 1 }],
    ["traceidratio", { kind: "traceidratio", parentBased: false, ratio: 1 }],
    ["parentbased_always_on", { kind: "always_on", parentBased: true, ratio: 1 }],
    ["parentbased_always_off", { kind: "always_off", parentBased: true, ratio: 1 }],
  ])("know the sampler %s", (text, sampling) => {
    expect(readOtelSettings({ OTEL_TRACES_SAMPLER: text })).toMatchObject({ sampling, warnings: [] });
  });

  test.each([
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", {}],
    ["OTEL_TRACES_SAMPLER", "jaeger_remote", {}],
    ["OTEL_TRACES_SAMPLER_ARG", "2", { OTEL_TRACES_SAMPLER: "traceidratio" }],
    ["OTEL_TRACES_SAMPLER_ARG", "half", { OTEL_TRACES_SAMPLER: "traceidratio" }],
    ["OTEL_BSP_MAX_QUEUE_SIZE", "-1", {}],
    ["OTEL_BSP_SCHEDULE_DELAY", "1.5", {}],
  ])("warn of %s=%s, and do as if it were unset", (name, text, rest) => {
    const { warnings, ...settings } = readOtelSettings({ ...rest, [name]: text });
    expect(warnings).toEqual([expect.stringContaining(`${name} is "${text}"`)]);
    expect({ ...settings, warnings: [] }).toEqual(readOtelSettings(rest));
  });
});
