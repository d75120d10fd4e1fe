// Witnesses: each server writes a mark here now and then and remembers it elsewhere. A mark that is gone tells of rows that
// were set back.

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
