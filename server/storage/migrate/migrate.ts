// Brings the schema of a database up to date, and reports its state. It opens a SQLite file only for this and closes it
// again, so the file must not be open in a store.

import { existsSync } from "node:fs";
import { migrations } from "../../../migrations/index.ts";
import { type DatabaseLogin, IN_MEMORY, parseDatabaseUrl } from "../database-url.ts";
import type { Fleet } from "../fleet.ts";
import { sqliteError } from "../sqlite/errors.ts";
import { openSqliteFile } from "../sqlite/file.ts";
import { type Applied, isOfTrial, runPending, type Schema, sqliteSchema } from "./schema.ts";

export interface MigrationStatus {
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Migrations that the database has had and this server does not know: a newer server made the schema. */
  readonly unknown: readonly string[];
  /** The unknown migrations after which this server cannot use the schema. */
  readonly breaking: readonly string[];
  /** Whether a version from before the first release made the schema. Then nothing else is known of it. */
  readonly isOfTrial: boolean;
  readonly fleet: Fleet;
}

/**
 * Runs the pending migrations; returns the names of those that this call ran. If several servers start at once, one
 * migrates and the others wait, with messages to `log`. Does nothing for a database in memory: its store migrates it.
 */
export async function migrateUp(
  url: string,
  { login, ...patience }: { log?: (message: string) => void; login?: DatabaseLogin | undefined } = {},
): Promise<readonly string[]> {
  const target = parseDatabaseUrl(url);
  if (target.dialect === "sqlite") {
    return target.path === IN_MEMORY ? [] : await withSqliteSchema(target.path, runPending);
  }
  const { withMysqlSchema } = await import("./mysql-schema.ts");
  return await withMysqlSchema({ ...target, login }, "be brought up to date", runPending, patience);
}

/** Returns the state of the schema. One in memory is always up to date. Changes nothing. */
export async function migrationStatus(url: string, login?: DatabaseLogin): Promise<MigrationStatus> {
  const { had, fleet } = await foundIn(url, login);
  const ours = migrations.map(({ name }) => name);
  const applied = had.map(({ name }) => name);
  const unknown = had.filter(({ name }) => !ours.includes(name));
  return {
    applied,
    pending: ours.filter((name) => !applied.includes(name)),
    unknown: unknown.map(({ name }) => name),
    breaking: unknown.filter(({ needs }) => !ours.includes(needs)).map(({ name }) => name),
    isOfTrial: isOfTrial(had),
    fleet,
  };
}

type Found = { readonly had: readonly Applied[]; readonly fleet: Fleet };

const NOTHING: Found = { had: [], fleet: { levelMin: { level: 0, by: "" }, members: [] } };

async function foundIn(url: string, login: DatabaseLogin | undefined): Promise<Found> {
  const target = parseDatabaseUrl(url);
  const find = async (schema: Schema) => {
    const had = await schema.applied();
    return { had, fleet: isOfTrial(had) ? NOTHING.fleet : await schema.fleet() };
  };
  if (target.dialect === "sqlite") {
    if (target.path === IN_MEMORY)
      return { ...NOTHING, had: migrations.map(({ name }) => ({ name, needs: name })) };
    // Opening it would create the file.
    return existsSync(target.path) ? await withSqliteSchema(target.path, find) : NOTHING;
  }
  const { withMysqlSchema } = await import("./mysql-schema.ts");
  return await withMysqlSchema({ ...target, login }, "be read", find);
}

async function withSqliteSchema<Answer>(
  path: string,
  use: (schema: Schema) => Promise<Answer>,
): Promise<Answer> {
  const database = openSqliteFile(path);
  try {
    return await use(sqliteSchema(database));
  } catch (error) {
    throw sqliteError(error, path);
  } finally {
    database.close();
  }
}
