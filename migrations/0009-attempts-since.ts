// From which grant on attempts are counted: a lease that nobody was told of gives back the attempt that it took, unless
// attempts were set after its grant. Only adds.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const isMysql = target.dialect === "mysql";
  // As in 0002: it does not wait for long, and comes back.
  if (isMysql) await target.run("SET SESSION lock_wait_timeout = 3");
  const token = isMysql ? "BIGINT UNSIGNED NOT NULL DEFAULT 0" : "INTEGER NOT NULL DEFAULT 0";
  await target.addColumn("rowlock_record", "attempts_since", token);
}
