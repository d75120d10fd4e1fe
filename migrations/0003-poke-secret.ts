// Adds the secret that a server needs to poke another server. It is in the register, which only servers and operators
// read.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const secret =
    target.dialect === "sqlite" ? "BLOB NOT NULL DEFAULT x''" : "VARBINARY(22) NOT NULL DEFAULT ''";
  await target.addColumn("rowlock_replica", "secret", secret);
}
