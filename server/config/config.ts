// Puts the configuration of a server together: file < environment < flag. Checks each value that takes effect and each
// name in every source, and reports all faults at once. Reads files only through its caller.

import type { ListenAddress } from "./listen-address.ts";
import { formatListenAddress, isLoopback } from "./listen-address.ts";
import type { SettingKey, SettingValues } from "./settings.ts";
import { CONFIG_NAME, flagOf, SETTINGS } from "./settings.ts";
import { fileSource, knownNames, sourceFaults, sourceOf } from "./sources.ts";
import type { TlsMaterial } from "./tls-material.ts";
import { readTlsMaterial } from "./tls-material.ts";

type TlsFiles = "tlsCertFile" | "tlsKeyFile" | "tlsClientCaFile";

/** A checked configuration. Durations are in milliseconds, the contents of PEM files are read. */
export interface Config extends Omit<SettingValues, TlsFiles> {
  /** null: plain text. */
  readonly tls: TlsMaterial | null;
}

export interface ConfigInput {
  /** As written, keyed by the setting's name: `{ ROWLOCK_LISTEN: "127.0.0.1:0" }`. */
  readonly argvFlags: Readonly<Record<string, string | undefined>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The text of a file; throws if it cannot be read. */
  readonly readFile: (path: string) => string;
  /** Throws an Error if the database URL cannot be used; its message may be shown. */
  readonly checkDatabaseUrl: (url: string) => void;
}

/** A configuration, or all of its faults, each a sentence for an operator. */
export type Loaded<Value> = { readonly config: Value } | { readonly faults: readonly string[] };

/** Returns the whole configuration of a server, or everything that is wrong with it; each fault says what to do. */
export function loadConfig(input: ConfigInput): Loaded<Config> {
  const { faults, written } = gather(input);
  const values: Partial<Record<SettingKey, unknown>> = {};
  for (const key of Object.keys(SETTINGS) as SettingKey[]) values[key] = check(key, written, faults);
  checkDatabaseUrl(values.databaseUrl, input, faults);
  // A setting that has a fault is undefined here, so a check across settings runs only if all of them are there.
  const checked = values as { [Key in SettingKey]: SettingValues[Key] | undefined };
  const tls = readTlsMaterial(
    {
      cert: checked.tlsCertFile ?? null,
      key: checked.tlsKeyFile ?? null,
      clientCa: checked.tlsClientCaFile ?? null,
    },
    input.readFile,
    faults,
  );
  faults.push(...contradictions(checked));
  if (faults.length > 0) return { faults };
  const { tlsCertFile, tlsKeyFile, tlsClientCaFile, ...rest } = values as unknown as SettingValues;
  return { config: { ...rest, tls } };
}

/** Returns only what commands need that work on the database and serve nothing. */
export function loadDatabaseConfig(
  input: ConfigInput,
): Loaded<Pick<Config, "databaseUrl" | "startupTimeoutMs">> {
  const { faults, written } = gather(input);
  const databaseUrl = check("databaseUrl", written, faults);
  const startupTimeoutMs = check("startupTimeoutMs", written, faults);
  checkDatabaseUrl(databaseUrl, input, faults);
  if (faults.length > 0 || databaseUrl === undefined || startupTimeoutMs === undefined) return { faults };
  return { config: { databaseUrl, startupTimeoutMs } };
}

interface Written {
  readonly text: string;
  /** Where it was written: `environment`, `flag --listen`, or the file. */
  readonly where: string;
}

/** Reads all sources, reports unknown names, and returns for each name the value that takes effect. */
function gather(input: ConfigInput): { faults: string[]; written: Map<string, Written> } {
  const faults: string[] = [];
  const file = input.argvFlags[CONFIG_NAME] ?? input.env[CONFIG_NAME] ?? "";
  const sources = [
    file === "" ? sourceOf({}, "no file") : fileSource(file, input.readFile, faults),
    sourceOf(input.env, "environment"),
    sourceOf(input.argvFlags, "flag"),
  ];
  const written = new Map<string, Written>();
  for (const source of sources) {
    faults.push(...sourceFaults(source));
    for (const name of knownNames()) {
      const text = source.values[name];
      // Compose files and shells pass on unset variables as empty, so empty means unset.
      if (text === undefined || text === "") continue;
      const where = source.where === "flag" ? `flag --${flagOf(name)}` : source.where;
      written.set(name, { text, where });
    }
  }
  return { faults, written };
}

function check<Key extends SettingKey>(
  key: Key,
  written: Map<string, Written>,
  faults: string[],
): SettingValues[Key] | undefined {
  const setting = SETTINGS[key];
  const found = written.get(setting.name);
  const result = setting.kind.schema.safeParse(found?.text ?? setting.default);
  if (result.success) return result.data as SettingValues[Key];
  const shown = "secret" in setting ? "" : ` is "${found?.text}"`;
  for (const issue of result.error.issues) {
    faults.push(`${setting.name}${shown} (${found?.where ?? "default"}): ${issue.message}.`);
  }
  return undefined;
}

function checkDatabaseUrl(url: unknown, input: ConfigInput, faults: string[]): void {
  if (typeof url !== "string") return;
  try {
    input.checkDatabaseUrl(url);
  } catch (error) {
    faults.push(`${SETTINGS.databaseUrl.name}: ${(error as Error).message}`);
  }
}

/** Log levels at which lines of level info are written. */
const AUDIBLE_LEVELS: readonly string[] = ["trace", "debug", "info"];

/**
 * Returns the faults of settings that contradict each other. A setting that has a fault of its own is undefined here.
 */
function contradictions(values: { readonly [Key in SettingKey]: SettingValues[Key] | undefined }): string[] {
  const faults: string[] = [];
  const { listen, metricsListen, lanes, poolSize, tlsCertFile, allowPlaintext, auditLog, logLevel } = values;
  if (listen && tlsCertFile === null && allowPlaintext === false && !isLoopback(listen.host)) {
    faults.push(
      `ROWLOCK_LISTEN is ${formatListenAddress(listen)}, which other machines can reach, and TLS is off: set ` +
        "ROWLOCK_TLS_CERT and ROWLOCK_TLS_KEY, or listen on 127.0.0.1, or, where the network itself is trusted, set " +
        "ROWLOCK_ALLOW_PLAINTEXT=true.",
    );
  }
  if (listen && metricsListen && sameAddress(listen, metricsListen)) {
    faults.push(
      `ROWLOCK_LISTEN and ROWLOCK_METRICS_LISTEN are both ${formatListenAddress(listen)}: give each its own port.`,
    );
  }
  if (lanes && poolSize && lanes >= poolSize) {
    faults.push(
      `ROWLOCK_LANES is ${lanes} and ROWLOCK_POOL_SIZE ${poolSize}: heartbeats and reads need a connection beside ` +
        `the lanes, so set ROWLOCK_POOL_SIZE to ${lanes + 1} or more.`,
    );
  }
  if (auditLog && logLevel && !AUDIBLE_LEVELS.includes(logLevel)) {
    faults.push(
      `ROWLOCK_AUDIT_LOG is true and ROWLOCK_LOG_LEVEL ${logLevel}: grants and releases are logged at info, so set ` +
        "ROWLOCK_LOG_LEVEL to info.",
    );
  }
  return faults;
}

function sameAddress(a: ListenAddress, b: ListenAddress): boolean {
  return a.port !== 0 && a.port === b.port && a.host === b.host;
}
