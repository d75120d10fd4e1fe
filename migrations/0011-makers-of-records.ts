// Adds whose each record is: the principal whose call made it, for the quota `records`. The index serves to count them.
// Only adds. Records from before belong to nobody.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const isMysql = target.dialect === "mysql";
  // Short wait for the same reason as in 0002; the migrator retries.
  if (isMysql) await target.run("SET SESSION lock_wait_timeout = 3");
  const principal = isMysql ? "VARBINARY(255) NOT NULL DEFAULT ''" : "BLOB NOT NULL DEFAULT x''";
  await target.addColumn("rowlock_record", "principal", principal);
  await target.addIndex("rowlock_record", "rowlock_record_principal", "principal");
}
