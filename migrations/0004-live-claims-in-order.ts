// SQLite keeps only live claims in the index of queues. Each lock has its place of its own there, so every claim that had
// ended made a page of the index to write with each commit. MySQL and MariaDB have no index of a part of the rows, and
// write by the record and not by the page.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  if (target.dialect !== "sqlite") return;
  await target.run("DROP INDEX rowlock_claim_queue");
  await target.run(
    "CREATE INDEX rowlock_claim_queue ON rowlock_claim (lock_id, state, ticket_number) WHERE state <> 3",
  );
}
