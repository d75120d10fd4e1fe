// Adds what people have changed: limits, records, forced releases, policies; who did it, when, from what to what, and why.
// The ids are random, so that two nodes of a cluster never write the same row. Only adds.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const isMysql = target.dialect === "mysql";
  const [time, number, small] = isMysql
    ? ["BIGINT", "BIGINT UNSIGNED", "TINYINT UNSIGNED"]
    : ["INTEGER", "INTEGER", "INTEGER"];
  const bytes = (max: number) => (isMysql ? `VARBINARY(${max})` : "BLOB");
  await target.run(`CREATE TABLE IF NOT EXISTS rowlock_change (
    changed_at ${time} NOT NULL,
    id ${number} NOT NULL,
    kind ${small} NOT NULL,
    target ${bytes(256)} NOT NULL,
    is_pattern ${small} NOT NULL,
    changed_by ${bytes(255)} NOT NULL,
    from_value ${bytes(4096)} NOT NULL,
    to_value ${bytes(4096)} NOT NULL,
    reason ${bytes(255)} NOT NULL,
    PRIMARY KEY (changed_at, id)) ${isMysql ? "ENGINE=InnoDB" : "STRICT, WITHOUT ROWID"}`);
  await target.addIndex("rowlock_change", "rowlock_change_target", "target, changed_at, id");
}
