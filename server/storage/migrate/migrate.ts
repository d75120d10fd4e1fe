// The schema of a database, by its URL: brings it up to date, and says where it stands. A SQLite file is opened for this
// alone and closed again, so it must not be open in a store.

import { existsSync } from "node:fs";
import { migrations } from "../../../migrations/index.ts";
import { IN_MEMORY, parseDatabaseUrl } from "../database-url.ts";
import { sqliteError } from "../sqlite/errors.ts";
import { openSqliteFile } from "../sqlite/file.ts";
import type { Applied } from "./applied.ts";
import { appliedToSqlite, migrateSqlite } from "./migrate-sqlite.ts";

export interface MigrationStatus {
  readonly applied: readonly string[];
  /** What this server needs and the database has not had. */
  readonly pending: readonly string[];
  /** What the database has had and this server does not know: the schema is a newer server's. */
  readonly unknown: readonly string[];
  /** Those of them after which this server cannot use the schema. */
  readonly breaking: readonly string[];
}

/**
 * Runs what is pending; the names of those that it ran. Of several servers that do so at once one migrates, and the
 * others wait for it. Safe to repeat. A database in memory is left alone: its store migrates it.
 */
export async function migrateUp(
  url: string,
  options?: { log?: (message: string) => void },
): Promise<readonly string[]> {
  const target = parseDatabaseUrl(url);
  if (target.dialect === "sqlite") {
    return target.path === IN_MEMORY ? [] : await withSqlite(target.path, migrateSqlite);
  }
  const { migrateMysql } = await import("./migrate-mysql.ts");
  return await migrateMysql(target, options);
}

/** Where the schema stands; one in memory is up to date by nature. Changes nothing. */
export async function migrationStatus(url: string): Promise<MigrationStatus> {
  const had = await appliedTo(url);
  const ours = migrations.map(({ name }) => name);
  const applied = had.map(({ name }) => name);
  const unknown = had.filter(({ name }) => !ours.includes(name));
  return {
    applied,
    pending: ours.filter((name) => !applied.includes(name)),
    unknown: unknown.map(({ name }) => name),
    breaking: unknown.filter(({ needs }) => !ours.includes(needs)).map(({ name }) => name),
  };
}

async function appliedTo(url: string): Promise<Applied[]> {
  const target = parseDatabaseUrl(url);
  if (target.dialect === "sqlite") {
    if (target.path === IN_MEMORY) return migrations.map(({ name }) => ({ name, needs: name }));
    // Opening it would make the file.
    if (!existsSync(target.path)) return [];
    return await withSqlite(target.path, async (database) => appliedToSqlite(database));
  }
  const { appliedToMysql } = await import("./migrate-mysql.ts");
  return await appliedToMysql(target);
}

async function withSqlite<Answer>(
  path: string,
  use: (database: ReturnType<typeof openSqliteFile>) => Promise<Answer>,
): Promise<Answer> {
  const database = openSqliteFile(path);
  try {
    return await use(database);
  } catch (error) {
    throw sqliteError(error, path);
  } finally {
    database.close();
  }
}
