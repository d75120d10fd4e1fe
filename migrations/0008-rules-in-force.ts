// By which limit rules each server decides, as far as it has said so: whoever changes a rule waits for the others. The column
// is only added, and a server that does not write it counts as one that has said nothing.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const rulesRevision =
    target.dialect === "sqlite" ? "INTEGER NOT NULL DEFAULT -1" : "BIGINT NOT NULL DEFAULT -1";
  await target.addColumn("rowlock_replica", "rules_revision", rulesRevision);
}
