// The one runner of migrations: one server at a time runs what is pending, in order. How a database does its part is in
// `sqliteSchema` and in mysql-schema.ts.

import type { DatabaseSync } from "node:sqlite";
import { FIRST_OF_TRIAL, type Migration, migrations } from "../../../migrations/index.ts";
import type { MigrationTarget } from "../../../migrations/target.ts";
import { type Fleet, whyNotMigrate } from "../fleet.ts";
import { LEVEL_MIN_LIST } from "../rows/columns.ts";
import { levelMinFromRow, type Row } from "../rows/from-rows.ts";
import { StoreError } from "../store.ts";

const SQLITE_TABLE = `CREATE TABLE IF NOT EXISTS rowlock_migration (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  migrated_at INTEGER NOT NULL,
  needs TEXT
) STRICT`;

/** StoreError.reason if older servers run over the database. They may be stopped, so it is worth another attempt. */
export const OLDER_SERVERS = "older_servers";

/** What to do with a database of a version from before the first release. */
export const OF_TRIAL =
  "This database is of a trial version of Rowlock from before the first release, whose tables this version cannot take over. " +
  "Note its limits (`rowlock limit`) and records with that version, stop all servers, and start with an empty " +
  "database: move an SQLite file away with its -wal and -shm, or create another database on MySQL or MariaDB. If you " +
  "store fencing tokens, run `rowlock migrate up` and `rowlock restored --pause 0s` before the first server: then new " +
  "tokens are higher than all old ones.";

/** Whether a version from before the first release has made the tables. */
export function isOfTrial(applied: readonly Pick<Applied, "name">[]): boolean {
  return applied.some(({ name }) => name === FIRST_OF_TRIAL);
}

export interface Applied {
  readonly name: string;
  /** The latest migration that a server must know to use the schema after this one. */
  readonly needs: string;
}

export interface Schema {
  /** Returns the migrations that the database has had, in order. Changes nothing. */
  applied(): Promise<Applied[]>;
  /** Returns which servers use the database, whatever its schema. Changes nothing. */
  fleet(): Promise<Fleet>;
  /** Runs `work` while no other server migrates the database. May run it again if another server got in its way. */
  inTurn<Answer>(work: () => Promise<Answer>): Promise<Answer>;
  run(migration: Migration): Promise<void>;
}

/**
 * Runs the pending migrations; returns the names of those that it ran, none if another server was first. Safe to
 * repeat. Throws a StoreError, `older_servers`, before it changes anything if that would break servers that run.
 */
export async function runPending(schema: Schema): Promise<string[]> {
  if ((await pendingOf(schema)).length === 0) return [];
  return await schema.inTurn(async () => {
    const pending = await pendingOf(schema);
    if (isOfTrial(await schema.applied())) throw new StoreError("unavailable", "schema", OF_TRIAL);
    const why = whyNotMigrate(pending, (await schema.fleet()).members);
    if (why !== null) throw new StoreError("unavailable", OLDER_SERVERS, why);
    for (const migration of pending) await schema.run(migration);
    return pending.map(({ name }) => name);
  });
}

export async function pendingOf(schema: Schema): Promise<readonly Migration[]> {
  const applied = await schema.applied();
  return migrations.filter(({ name }) => !applied.some((had) => had.name === name));
}

/** The schema of a SQLite file, which is open in this process only. Each migration is one transaction. */
export function sqliteSchema(database: DatabaseSync): Schema {
  const run = async (statement: string) => database.exec(statement);
  const target: MigrationTarget = {
    dialect: "sqlite",
    run,
    addColumn: (table, column, definition) => run(`ALTER TABLE ${table} ADD COLUMN ${column} ${definition}`),
  };
  return {
    async applied() {
      if (!database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'rowlock_migration'").get()) return [];
      const rows = database.prepare("SELECT * FROM rowlock_migration ORDER BY id").all();
      return rows.map(({ name, needs }) => ({ name: String(name), needs: String(needs ?? name) }));
    },

    async fleet() {
      const table = "SELECT 1 FROM sqlite_schema WHERE name = 'rowlock_meta'";
      const row = database.prepare(table).get()
        ? database.prepare(`SELECT ${LEVEL_MIN_LIST} FROM rowlock_meta WHERE id = 1`).get()
        : undefined;
      // No other server has the file open, so whatever the register says, none uses it.
      return { levelMin: levelMinFromRow(row && (Object.values(row) as Row)), members: [] };
    },

    inTurn: (work) => work(),

    async run({ name, needs, up }) {
      database.exec("BEGIN IMMEDIATE");
      try {
        database.exec(SQLITE_TABLE);
        await up(target);
        database
          .prepare("INSERT INTO rowlock_migration (name, migrated_at, needs) VALUES (?, ?, ?)")
          .run(name, Date.now() * 1000, needs ?? null);
        database.exec("COMMIT");
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK");
        throw error;
      }
    },
  };
}
