// Adds what servers of several versions must know of each other: in the register, each server's level and the latest
// migration that it knows; beside the other facts, the lowest level that may decide and the version that raised it. A
// server that does not write them counts as one of level 0. Only adds columns.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const [number, text] =
    target.dialect === "sqlite"
      ? ["INTEGER NOT NULL DEFAULT 0", "BLOB NOT NULL DEFAULT x''"]
      : ["INT UNSIGNED NOT NULL DEFAULT 0", "VARBINARY(255) NOT NULL DEFAULT ''"];
  await target.addColumn("rowlock_replica", "level", number);
  await target.addColumn("rowlock_replica", "knows_migration", text);
  await target.addColumn("rowlock_meta", "level_min", number);
  await target.addColumn("rowlock_meta", "level_min_by", text);
}
