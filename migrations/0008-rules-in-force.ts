// Adds the revision of the limit rules that each replica last reported to decide by: a server that changes a rule waits
// for the other replicas. Only adds a column. A server that does not write it counts as one that has reported nothing
// (-1).

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const rulesRevision =
    target.dialect === "sqlite" ? "INTEGER NOT NULL DEFAULT -1" : "BIGINT NOT NULL DEFAULT -1";
  await target.addColumn("rowlock_replica", "rules_revision", rulesRevision);
}
