// Brings a SQLite schema up to date. Does not use knex, which has no dialect for Node's own SQLite. The file is open in
// this process only and its schema changes can be rolled back, so a migration library would add nothing.

import type { DatabaseSync } from "node:sqlite";
import { migrations } from "../../../migrations/index.ts";
import type { MigrationTarget } from "../../../migrations/target.ts";
import type { Applied } from "./applied.ts";

const TABLE = `CREATE TABLE IF NOT EXISTS rowlock_migration (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  migrated_at INTEGER NOT NULL,
  needs TEXT
) STRICT`;
const ADD_COLUMN = "ALTER TABLE rowlock_migration ADD COLUMN needs TEXT";

/** Runs the pending migrations, each in its own transaction; returns the names of those that it ran. */
export async function migrateSqlite(database: DatabaseSync): Promise<string[]> {
  const known = new Set(appliedToSqlite(database).map(({ name }) => name));
  const pending = migrations.filter(({ name }) => !known.has(name));
  for (const migration of pending) {
    database.exec("BEGIN IMMEDIATE");
    try {
      database.exec(TABLE);
      const columns = database.prepare("SELECT name FROM pragma_table_info('rowlock_migration')").all();
      if (!columns.some(({ name }) => name === "needs")) database.exec(ADD_COLUMN);
      const run = async (statement: string) => database.exec(statement);
      const addColumn: MigrationTarget["addColumn"] = (table, column, definition) =>
        run(`ALTER TABLE ${table} ADD COLUMN ${column} ${definition}`);
      await migration.up({ dialect: "sqlite", run, addColumn });
      database
        .prepare("INSERT INTO rowlock_migration (name, migrated_at, needs) VALUES (?, ?, ?)")
        .run(migration.name, Date.now() * 1000, migration.needs ?? null);
      database.exec("COMMIT");
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  }
  return pending.map(({ name }) => name);
}

/** Returns the migrations that the database has had, in order. */
export function appliedToSqlite(database: DatabaseSync): Applied[] {
  const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'rowlock_migration'").get();
  if (!table) return [];
  return database
    .prepare("SELECT * FROM rowlock_migration ORDER BY id")
    .all()
    .map(({ name, needs }) => ({ name: String(name), needs: String(needs ?? name) }));
}
