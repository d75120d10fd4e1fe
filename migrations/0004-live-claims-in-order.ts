// Restricts SQLite's queue index to live claims. Each lock has its own region of that index, so with ended claims in
// it, every claim that ended added one index page to the writes of its commit. MySQL and MariaDB have no partial
// indexes, and their logs contain changed records instead of whole pages.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  if (target.dialect !== "sqlite") return;
  await target.run("DROP INDEX rowlock_claim_queue");
  await target.run(
    "CREATE INDEX rowlock_claim_queue ON rowlock_claim (lock_id, state, ticket_number) WHERE state <> 3",
  );
}
