// Puts the configuration of a server together: file < environment < flag. Checks each value that takes effect and each
// name in every source, and reports all faults at once. Reads files only through its caller. A new kind of file that a
// server reads again has an entry here, for `rowlock doctor`, which checks them without a server.

import { isDeepStrictEqual } from "node:util";
import type { AccessFiles } from "./access-config.ts";
import { accessConfig, keysFile, metricsTokenFile, policyFile, tokensFile } from "./access-config.ts";
import { formatListenAddress, isLoopback } from "./addresses.ts";
import { type DatabaseLogin, type DatabasePlace, readDatabaseLogin } from "./database-login.ts";
import type { Reloadable } from "./reloaded-files.ts";
import { Refusal } from "./setting-kinds.ts";
import type { Checked, Setting, SettingKey, SettingValues } from "./settings.ts";
import { DATABASE_KEYS, nameOf, SETTINGS } from "./settings.ts";
import { readSources, type SourcesInput } from "./sources.ts";
import { readTlsMaterial, type TlsMaterial, tlsFiles } from "./tls-files.ts";

/** The settings that name them. */
export const FILE_KEYS = [
  "tlsCert",
  "tlsKey",
  "tlsClientCa",
  "tlsClientCrl",
  "metricsTokenFile",
  "tokensFile",
  "policyFile",
  "jwtKeys",
] as const satisfies readonly SettingKey[];

export function checkedFiles(values: Checked): Reloadable<unknown>[] {
  const files = [tlsFiles, metricsTokenFile, tokensFile, policyFile, keysFile].map((of) => of(values));
  return files.filter((each) => each !== null);
}

/** A checked configuration. Durations are in milliseconds, the contents of files are read. */
export interface Config extends Omit<SettingValues, ReadSetting> {
  /** null: plain text. */
  readonly tls: TlsMaterial | null;
  /** Any of them opens /metrics; null: it is open. */
  readonly metricsTokens: readonly string[] | null;
  /** null: nobody is asked who they are. */
  readonly access: AccessFiles | null;
  readonly reflection: boolean;
  readonly databaseLogin: DatabaseLogin;
}

/** Settings that other fields stand for. */
type ReadSetting = "reflection" | Exclude<(typeof DATABASE_KEYS)[number], "databaseUrl">;

export type DatabaseConfig = Pick<Config, "databaseUrl" | "databaseLogin">;

export interface ConfigInput extends SourcesInput {
  /** Throws an Error if the database URL cannot be used; its message may be shown. */
  readonly parseDatabaseUrl: (url: string) => DatabasePlace;
}

/** A configuration, or all of its faults, each a sentence for an operator. */
export type Loaded<Value> = { readonly config: Value } | { readonly faults: readonly string[] };

export function loadConfig(input: ConfigInput): Loaded<Config> {
  const { values, place, faults } = valuesOf(Object.keys(SETTINGS) as SettingKey[], input);
  const { databaseCa, databaseCert, databaseKey, databaseVerifyName, databasePasswordFile, ...rest } = values;
  const reading = { readFile: input.readFile, faults };
  const databaseLogin = readDatabaseLogin(values, place, reading);
  const tls = readTlsMaterial(values, reading);
  const tokens = metricsTokenFile(values)?.load(input.readFile) ?? { value: null };
  if ("faults" in tokens) faults.push(...tokens.faults);
  const access = accessConfig(values, reading);
  faults.push(...contradictions(values));
  if (faults.length > 0 || "faults" in tokens) return { faults };
  const { reflection, ...checked } = rest as SettingValues;
  const isOpen = access === null || isLoopback(checked.listen.host);
  const put = { databaseLogin, tls, metricsTokens: tokens.value, access, reflection: reflection ?? isOpen };
  return { config: { ...checked, ...put } };
}

export function loadDatabaseConfig(input: ConfigInput): Loaded<DatabaseConfig> {
  const { values, place, faults } = valuesOf(DATABASE_KEYS, input);
  const databaseLogin = readDatabaseLogin(values, place, { readFile: input.readFile, faults });
  if (faults.length > 0) return { faults };
  return { config: { databaseUrl: values.databaseUrl as string, databaseLogin } };
}

/** Returns the files that a server over these settings reads again; values with faults are left out. */
export function loadCheckedFiles(input: ConfigInput): Reloadable<unknown>[] {
  return checkedFiles(valuesOf(FILE_KEYS, input).values);
}

/** `place`: null if the URL cannot be used. */
function valuesOf(keys: readonly SettingKey[], input: ConfigInput) {
  const faults: string[] = [];
  const written = readSources(input, faults);
  const values: Partial<Record<SettingKey, unknown>> = {};
  for (const key of keys) {
    const { kind, default: usual = kind.usual ?? "", secret }: Setting<unknown> = SETTINGS[key];
    const name = nameOf(key);
    const { text, where } = written.get(name) ?? { text: usual, where: "default" };
    if (text === null) continue;
    const value = kind.read(text);
    if (!(value instanceof Refusal)) values[key] = value;
    else faults.push(`${name}${secret ? "" : ` is "${text}"`} (${where}): ${value.message}.`);
  }
  const checked = values as Checked;
  let place: DatabasePlace | null = null;
  try {
    if (checked.databaseUrl !== undefined) place = input.parseDatabaseUrl(checked.databaseUrl);
  } catch (error) {
    faults.push(`ROWLOCK_DATABASE_URL: ${(error as Error).message}`);
  }
  return { values: checked, place, faults };
}

/** Log levels at which lines of level info are written. */
const AUDIBLE_LEVELS: readonly string[] = ["trace", "debug", "info"];

function contradictions(values: Checked): string[] {
  const faults: string[] = [];
  const { listen, metricsListen, lanes, poolSize, tlsCert, allowPlaintext, auditLog, logLevel } = values;
  if (values.metricsTls && tlsCert === null)
    faults.push(
      "ROWLOCK_METRICS_TLS is true without ROWLOCK_TLS_CERT: set ROWLOCK_TLS_CERT and ROWLOCK_TLS_KEY, which both " +
        "listeners use.",
    );
  if (listen && tlsCert === null && allowPlaintext === false && !isLoopback(listen.host)) {
    faults.push(
      `ROWLOCK_LISTEN is ${formatListenAddress(listen)}, which other machines can reach, and TLS is off: set ` +
        "ROWLOCK_TLS_CERT and ROWLOCK_TLS_KEY, or listen on 127.0.0.1, or, where the network itself is trusted, set " +
        "ROWLOCK_ALLOW_PLAINTEXT=true.",
    );
  }
  if (listen && metricsListen && listen.port !== 0 && isDeepStrictEqual(listen, metricsListen)) {
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
