// Starts and stops the traces of a server, as the standard variables of OpenTelemetry say. A server without traces loads nothing of it.

import type { Tracer } from "../core/span.ts";
import { flushed } from "./flush.ts";
import { countOf, type Env, isDisabled, namesOtlp, protocolOf, textOf } from "./otel-env.ts";
import type { Buffering, OtelSettings, Sampling, TracingLog } from "./otel-tracer.ts";
import type { Origin } from "./resource.ts";

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what has ended, within a short time. Never rejects: the exporter logs what is lost. */
  stop(): Promise<void>;
}

/** Starts traces as the environment of the process says; null: it says that there are none. */
export async function startTracing(env: Env, origin: Origin, log: TracingLog): Promise<Tracing | null> {
  if (!areTracesOn(env)) return null;
  const settings = readOtelSettings(env);
  for (const warning of settings.warnings) log.warn({}, warning);
  const otel = await import("./otel-tracer.ts");
  const { protocol, sampling } = settings;
  otel.logWarnings(log);
  const exporter = new otel.LoggedExporter(await otel.otlpExporter(protocol), log);
  const tracer = new otel.OpenTelemetryTracer(exporter, settings, origin);
  log.info({ protocol, sampling }, "calls are traced");
  return {
    tracer,
    stop: () => flushed(() => tracer.stop()),
  };
}

const DEFAULT_SAMPLER = "parentbased_always_on";
const KINDS = ["always_on", "always_off", "traceidratio"] as const;
const PARENT_BASED = "parentbased_";
const ENDPOINTS = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const BUFFERING: Readonly<Record<keyof Buffering, string>> = {
  maxQueueSize: "OTEL_BSP_MAX_QUEUE_SIZE",
  maxExportBatchSize: "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
  scheduledDelayMillis: "OTEL_BSP_SCHEDULE_DELAY",
  exportTimeoutMillis: "OTEL_BSP_EXPORT_TIMEOUT",
};

/** If OTEL_TRACES_EXPORTER names `otlp`, or it is unset and an OTLP endpoint is set; never with OTEL_SDK_DISABLED=true. */
export function areTracesOn(env: Env): boolean {
  if (isDisabled(env)) return false;
  const exporters = textOf(env, "OTEL_TRACES_EXPORTER");
  if (exporters !== "") return namesOtlp(exporters);
  return ENDPOINTS.some((name) => textOf(env, name) !== "");
}

export function readOtelSettings(env: Env): OtelSettings {
  const warnings: string[] = [];
  return {
    protocol: protocolOf(env, "TRACES", warnings),
    sampling: samplingOf(env, warnings),
    buffering: bufferingOf(env, warnings),
    warnings,
  };
}

function samplingOf(env: Env, warnings: string[]): Sampling {
  const text = textOf(env, "OTEL_TRACES_SAMPLER") || DEFAULT_SAMPLER;
  const parentBased = text.startsWith(PARENT_BASED);
  const kind = KINDS.find((known) => known === (parentBased ? text.slice(PARENT_BASED.length) : text));
  if (!kind) {
    warnings.push(
      `OTEL_TRACES_SAMPLER is "${text}", which is no sampler of this server: all calls are traced.`,
    );
    return { kind: "always_on", parentBased: true, ratio: 1 };
  }
  return { kind, parentBased, ratio: kind === "traceidratio" ? ratioOf(env, warnings) : 1 };
}

function ratioOf(env: Env, warnings: string[]): number {
  const name = "OTEL_TRACES_SAMPLER_ARG";
  const text = textOf(env, name);
  const ratio = Number(text);
  if (text !== "" && ratio >= 0 && ratio <= 1) return ratio;
  if (text !== "")
    warnings.push(`${name} is "${text}", which is no share between 0 and 1: all calls are traced.`);
  return 1;
}

function bufferingOf(env: Env, warnings: string[]): Buffering {
  const entries = Object.entries(BUFFERING).flatMap(([key, name]) => {
    const value = countOf(env, name, warnings);
    return value === undefined ? [] : [[key, value]];
  });
  return Object.fromEntries(entries);
}
