// Opens a store that a server can rely on: reachable, with the right schema, and durable. Retries within a bound while
// the database is away. Every problem that it cannot fix becomes a StoreError whose message says what to do.

import { LEVEL_MIN, TOO_OLD, whyTooOld } from "../core/level.ts";
import { type DatabaseLogin, describeDatabaseUrl, parseDatabaseUrl } from "./database-url.ts";
import { whyNotBeside } from "./fleet.ts";
import { type MigrationStatus, migrateUp, migrationStatus } from "./migrate/migrate.ts";
import { OF_TRIAL, OLDER_SERVERS } from "./migrate/schema.ts";
import { durabilityOf, openStore } from "./open.ts";
import { type RetryPolicy, retry } from "./retry.ts";
import { START_PAUSE_MS, START_PAUSE_MS_MAX } from "./storage-bounds.ts";
import type { Finding, ServersEvent, Store, StoreObserver, StoreOptions } from "./store.ts";
import { StoreError } from "./store.ts";

export interface ReadyOptions
  extends Required<Pick<StoreOptions, "poolSize" | "lanes">>,
    Pick<StoreOptions, "cachedLocks"> {
  readonly databaseUrl: string;
  readonly version: string;
  readonly databaseLogin?: DatabaseLogin;
  readonly startupTimeoutMs: number;
  /** Whether to bring the schema up to date. If false, an outdated schema is an error. */
  readonly migrate: boolean;
  /** Accept database settings that may lose acknowledged commits. */
  readonly weakDurability: boolean;
}

/** Errors whose message needs the user, the server and the name of the database to be understood. */
const OF_URL = new Set(["access_denied", "no_database"]);

/** Receives what an operator should know of the opening; the process's log is one. */
export interface OpeningLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Errors that waiting cannot fix. */
const FINAL_REASONS = new Set([
  "access_denied",
  "tls",
  "schema",
  "newer_schema",
  TOO_OLD,
  "no_database",
  "weak_durability",
  "session_settings",
]);

/** Logs the durability findings as warnings. Throws a StoreError, the last one if retries run out. */
export async function openReadyStore(
  options: ReadyOptions,
  observer: StoreObserver,
  log: OpeningLog,
): Promise<Store> {
  const { databaseUrl, databaseLogin: login, poolSize, lanes, cachedLocks, version } = options;
  const { store, findings } = await persistently(options, log, async () => {
    // First, so that nothing is created in a database that is then refused.
    const found = await durabilityOf(databaseUrl, login);
    refuseWeakDurability(found, options);
    await settleSchema(options, log);
    const opened = await openStore(databaseUrl, {
      observer: withServersLogged(observer, log),
      poolSize,
      lanes,
      cachedLocks,
      login,
    });
    await opened.raiseLevelMin({ level: LEVEL_MIN, by: version }).catch(async (error: unknown) => {
      await opened.close();
      throw error;
    });
    return { store: opened, findings: found };
  });
  for (const { check, message } of findings) log.warn({ check }, message);
  return store;
}

function withServersLogged(observer: StoreObserver, log: OpeningLog): StoreObserver {
  const servers = (event: ServersEvent) => {
    observer.servers?.(event);
    if (event.kind === "moved") {
      const { from, to, why, afterMs } = event;
      if (from === null) log.info({ to }, `the database server ${to} is used. ${why}`);
      else log.warn({ from, to, afterMs }, `moved from the database server ${from} to ${to}: ${why}`);
    } else if (event.kind === "fault") {
      const { address, reason, message } = event;
      log.warn(
        { address, reason },
        `the database server ${address} could not be used if it were needed: ${message}`,
      );
    } else if (event.others.length === 0) log.info({}, "only one database server can be written again");
    else
      log.warn(
        { chosen: event.chosen, others: event.others },
        "database servers that are no nodes of one cluster can be written at once: make all but one read-only",
      );
  };
  return { ...observer, servers };
}

async function settleSchema(
  { databaseUrl, databaseLogin: login, migrate }: ReadyOptions,
  log: OpeningLog,
): Promise<void> {
  const status = await migrationStatus(databaseUrl, login);
  refuseUnusable(status);
  const { unknown, pending, fleet } = status;
  const tooNew = whyNotBeside(fleet.members);
  if (tooNew !== null) throw new StoreError("unavailable", OLDER_SERVERS, tooNew);
  if (unknown.length > 0)
    log.info({ migrations: unknown }, "the schema is newer than this server, but compatible");
  if (pending.length === 0) return;
  if (!migrate) {
    throw new StoreError(
      "unavailable",
      "schema",
      `The database's schema lacks ${pending.join(", ")}, and ROWLOCK_MIGRATE is false. Run \`rowlock migrate up\`.`,
    );
  }
  const done = await migrateUp(databaseUrl, { log: (message) => log.info({}, message), login });
  if (done.length > 0) log.info({ migrations: done }, "schema brought up to date");
}

/**
 * Throws a StoreError if a later version made the database's schema, or rules this one out, or it is of a trial
 * version.
 */
export function refuseUnusable({ isOfTrial, breaking, fleet }: MigrationStatus): void {
  if (isOfTrial) throw new StoreError("unavailable", "schema", OF_TRIAL);
  if (breaking.length > 0) {
    throw new StoreError(
      "unavailable",
      "newer_schema",
      `The database's schema is newer than this server: this server does not support ${breaking.join(", ")}. ` +
        "Start a server of the version that migrated it, or of a later one.",
    );
  }
  const tooOld = whyTooOld(fleet.levelMin);
  if (tooOld !== null) throw new StoreError("unavailable", TOO_OLD, tooOld);
}

function refuseWeakDurability(findings: readonly Finding[], { weakDurability }: ReadyOptions): void {
  const errors = findings.filter(({ severity }) => severity === "error");
  if (errors.length === 0 || weakDurability) return;
  throw new StoreError(
    "unavailable",
    "weak_durability",
    [
      "The database may lose commits that it has acknowledged, and with them leases:",
      ...errors.map(({ message }) => `  ${message}`),
      "Correct these settings. If two holders of one lock do less harm than a slower database, set " +
        "ROWLOCK_WEAK_DURABILITY=true instead.",
    ].join("\n"),
  );
}

/** Retries `attempt` while the database is away, for at most `startupTimeoutMs`. A SQLite file is never away. */
async function persistently<Value>(
  { databaseUrl, startupTimeoutMs }: ReadyOptions,
  log: OpeningLog,
  attempt: () => Promise<Value>,
): Promise<Value> {
  const target = parseDatabaseUrl(databaseUrl);
  const isAway = (error: unknown): error is StoreError =>
    target.dialect !== "sqlite" && error instanceof StoreError && !FINAL_REASONS.has(error.reason);
  const policy: RetryPolicy<StoreError> = {
    attempts: Number.POSITIVE_INFINITY,
    longestMs: startupTimeoutMs,
    pauseMs: (tries) => Math.min(START_PAUSE_MS * 2 ** (tries - 1), START_PAUSE_MS_MAX),
    isWorthIt: isAway,
  };
  try {
    return await retry(policy, attempt, (error) => {
      log.warn({ reason: error.reason }, `${error.message} Trying again.`);
      log.debug({ err: error }, "why the attempt failed");
    });
  } catch (error) {
    const url = describeDatabaseUrl(target);
    if (error instanceof StoreError && OF_URL.has(error.reason))
      throw new StoreError(error.kind, error.reason, `${error.message} ROWLOCK_DATABASE_URL is ${url}`, {
        cause: error,
      });
    if (!isAway(error)) throw error;
    const database = `the database of ROWLOCK_DATABASE_URL, ${url},`;
    const gaveUp = `${error.message} Gave up after ${startupTimeoutMs / 1_000} s (ROWLOCK_STARTUP_TIMEOUT).`;
    if (error.reason === OLDER_SERVERS)
      throw new StoreError("unavailable", error.reason, gaveUp, { cause: error });
    const advice =
      error.reason === "read_only"
        ? `Make ${database} writable, or name the server that is.`
        : `Check that ${database} is running and can be reached.`;
    throw new StoreError("unavailable", error.reason, `${gaveUp} ${advice}`, { cause: error });
  }
}
