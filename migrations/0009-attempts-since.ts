// Adds the token after which grants count against a record's attempts. If no client learned of a lease, the lease gives
// back the attempt that it took, unless attempts were set after its grant. Only adds.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const isMysql = target.dialect === "mysql";
  // Short wait for the same reason as in 0002; the migrator retries.
  if (isMysql) await target.run("SET SESSION lock_wait_timeout = 3");
  const token = isMysql ? "BIGINT UNSIGNED NOT NULL DEFAULT 0" : "INTEGER NOT NULL DEFAULT 0";
  await target.addColumn("rowlock_record", "attempts_since", token);
}
