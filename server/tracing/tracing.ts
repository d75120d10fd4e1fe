// Starts and stops the traces of a server. A server without traces loads nothing of OpenTelemetry.

import type { Tracer } from "../core/span.ts";
import type { TracingLog } from "./exporting.ts";
import { areTracesOn, type Env, readOtelSettings } from "./otel-settings.ts";
import type { Origin } from "./otel-tracer.ts";

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
  const { LoggedExporter, logWarnings, otlpExporter } = await import("./exporting.ts");
  const { OpenTelemetryTracer } = await import("./otel-tracer.ts");
  const { protocol, sampling } = settings;
  logWarnings(log);
  const exporter = new LoggedExporter(await otlpExporter(protocol), log);
  const tracer = new OpenTelemetryTracer(exporter, settings, origin);
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
