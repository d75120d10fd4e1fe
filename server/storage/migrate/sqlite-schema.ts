// The schema of a SQLite file. Each migration is one transaction. No other server can migrate the file, because it is
// open in this process only.

import type { DatabaseSync } from "node:sqlite";
import type { MigrationTarget } from "../../../migrations/target.ts";
import type { Schema } from "./schema.ts";

const TABLE = `CREATE TABLE IF NOT EXISTS rowlock_migration (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  migrated_at INTEGER NOT NULL,
  needs TEXT
) STRICT`;
const ADD_COLUMN = "ALTER TABLE rowlock_migration ADD COLUMN needs TEXT";

export function sqliteSchema(database: DatabaseSync): Schema {
  const run = async (statement: string) => database.exec(statement);
  const addColumn: MigrationTarget["addColumn"] = (table, column, definition) =>
    run(`ALTER TABLE ${table} ADD COLUMN ${column} ${definition}`);
  return {
    async applied() {
      const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'rowlock_migration'").get();
      if (!table) return [];
      const rows = database.prepare("SELECT * FROM rowlock_migration ORDER BY id").all();
      return rows.map(({ name, needs }) => ({ name: String(name), needs: String(needs ?? name) }));
    },

    inTurn: (work) => work(),

    async run({ name, needs, up }) {
      database.exec("BEGIN IMMEDIATE");
      try {
        database.exec(TABLE);
        const columns = database.prepare("SELECT name FROM pragma_table_info('rowlock_migration')").all();
        if (!columns.some((column) => column.name === "needs")) database.exec(ADD_COLUMN);
        await up({ dialect: "sqlite", run, addColumn });
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
