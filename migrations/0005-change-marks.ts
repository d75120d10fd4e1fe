// Adds the marks by which a repeated change recognises itself (server/core/changes.ts), and the version from which a
// lock's next record continues after the previous record was deleted. Only adds.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const isMysql = target.dialect === "mysql";
  // While ALTER TABLE waits for an open transaction, all other statements on the table wait behind it. So it waits at
  // most 3 s, and the migrator retries it.
  if (isMysql) await target.run("SET SESSION lock_wait_timeout = 3");
  const counter = isMysql ? "BIGINT UNSIGNED NOT NULL DEFAULT 0" : "INTEGER NOT NULL DEFAULT 0";
  await target.addColumn("rowlock_lock", "change_mark", counter);
  await target.addColumn("rowlock_lock", "record_floor", counter);
  await target.addColumn("rowlock_limit_rule", "change_mark", counter);
}
