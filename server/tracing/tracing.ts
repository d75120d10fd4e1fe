// Starts and stops the traces of a server, as those standard variables of OpenTelemetry say that its packages do not read
// themselves. A value that makes no sense is a warning and not an error: these variables are often set for all programs
// of a machine at once. A server without traces loads nothing of OpenTelemetry.

import type { Tracer } from "../core/span.ts";
import type { Buffering, Origin, OtelSettings, Protocol, Sampling, TracingLog } from "./otel-tracer.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** How long a server that stops waits for the collector: less than it takes at most to stop after its calls. */
const FLUSH_MS = 500;

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what has ended, within FLUSH_MS. Never rejects: the exporter logs what is lost. */
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
    async stop() {
      const over = Promise.withResolvers<void>();
      const timer = setTimeout(over.resolve, FLUSH_MS);
      tracer.stop().then(over.resolve, over.resolve);
      await over.promise;
      clearTimeout(timer);
    },
  };
}

const DEFAULT_PROTOCOL: Protocol = "http/protobuf";
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
  if (textOf(env, "OTEL_SDK_DISABLED").toLowerCase() === "true") return false;
  const exporters = textOf(env, "OTEL_TRACES_EXPORTER");
  if (exporters !== "") return exporters.split(",").some((name) => name.trim() === "otlp");
  return ENDPOINTS.some((name) => textOf(env, name) !== "");
}

export function readOtelSettings(env: Env): OtelSettings {
  const warnings: string[] = [];
  return {
    protocol: protocolOf(env, warnings),
    sampling: samplingOf(env, warnings),
    buffering: bufferingOf(env, warnings),
    warnings,
  };
}

function protocolOf(env: Env, warnings: string[]): Protocol {
  for (const name of ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"]) {
    const text = textOf(env, name);
    if (text === "grpc" || text === "http/protobuf") return text;
    if (text !== "") warnings.push(`${name} is "${text}", which is neither grpc nor http/protobuf.`);
  }
  return DEFAULT_PROTOCOL;
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
    const text = textOf(env, name);
    if (text === "") return [];
    const value = Number(text);
    if (Number.isSafeInteger(value) && value > 0) return [[key, value]];
    warnings.push(`${name} is "${text}", which is no whole number above 0.`);
    return [];
  });
  return Object.fromEntries(entries);
}

/** Compose files and shells pass on unset variables as empty, so empty means unset. */
function textOf(env: Env, name: string): string {
  return env[name]?.trim() ?? "";
}
