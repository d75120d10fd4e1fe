// By what a repeated change recognises itself (server/core/changes.ts), and from where the versions of a lock's records
// go on counting when one was deleted. Only adds.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const isMysql = target.dialect === "mysql";
  // While it waits for a transaction that is open somewhere, everybody else waits behind it. So it does not wait for long,
  // and comes back.
  if (isMysql) await target.run("SET SESSION lock_wait_timeout = 3");
  const counter = isMysql ? "BIGINT UNSIGNED NOT NULL DEFAULT 0" : "INTEGER NOT NULL DEFAULT 0";
  await target.addColumn("rowlock_lock", "change_mark", counter);
  await target.addColumn("rowlock_lock", "record_floor", counter);
  await target.addColumn("rowlock_limit_rule", "change_mark", counter);
}
