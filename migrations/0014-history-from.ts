// Adds from when on ended claims and changes are kept, and by which settings: a server with others begins anew, because
// what was written before may end earlier than it says. Only adds columns.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const [time, text] =
    target.dialect === "sqlite"
      ? ["INTEGER NOT NULL DEFAULT 0", "BLOB NOT NULL DEFAULT x''"]
      : ["BIGINT NOT NULL DEFAULT 0", "VARBINARY(255) NOT NULL DEFAULT ''"];
  await target.addColumn("rowlock_meta", "kept_by", text);
  await target.addColumn("rowlock_meta", "claims_from", time);
  await target.addColumn("rowlock_meta", "changes_from", time);
}
