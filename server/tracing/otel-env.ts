// The standard variables of OpenTelemetry that its packages do not read themselves. A value that makes no sense is a warning and not an
// error: these variables are often set for all programs of a machine at once.

export type Env = Readonly<Record<string, string | undefined>>;

export type Protocol = "grpc" | "http/protobuf";

const DEFAULT_PROTOCOL: Protocol = "http/protobuf";

/** Compose files and shells pass on unset variables as empty, so empty means unset. */
export function textOf(env: Env, name: string): string {
  return env[name]?.trim() ?? "";
}

/** Whether OTEL_SDK_DISABLED turns all of it off. */
export function isDisabled(env: Env): boolean {
  return textOf(env, "OTEL_SDK_DISABLED").toLowerCase() === "true";
}

/** Whether a variable with a list of exporters names `otlp`. */
export function namesOtlp(exporters: string): boolean {
  return exporters.split(",").some((name) => name.trim() === "otlp");
}

export function protocolOf(env: Env, signal: "TRACES" | "METRICS", warnings: string[]): Protocol {
  for (const name of [`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`, "OTEL_EXPORTER_OTLP_PROTOCOL"]) {
    const text = textOf(env, name);
    if (text === "grpc" || text === "http/protobuf") return text;
    if (text !== "") warnings.push(`${name} is "${text}", which is neither grpc nor http/protobuf.`);
  }
  return DEFAULT_PROTOCOL;
}

/** undefined: it is unset, or makes no sense. */
export function countOf(env: Env, name: string, warnings: string[]): number | undefined {
  const text = textOf(env, name);
  if (text === "") return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  warnings.push(`${name} is "${text}", which is no whole number above 0.`);
  return undefined;
}
