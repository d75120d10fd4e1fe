// Adds witnesses: each server writes a mark to this table now and then, and also remembers the mark outside the
// database. If the mark is missing from the table, the rows were set back to an older state.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  await target.run(
    target.dialect === "sqlite"
      ? `CREATE TABLE rowlock_witness (
           id INTEGER PRIMARY KEY,
           mark INTEGER NOT NULL,
           written_at INTEGER NOT NULL
         ) STRICT`
      : `CREATE TABLE IF NOT EXISTS rowlock_witness (
           id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
           mark BIGINT UNSIGNED NOT NULL,
           written_at BIGINT NOT NULL
         ) ENGINE=InnoDB`,
  );
}
