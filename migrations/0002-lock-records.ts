// Adds lock records: a table of records, a flag on the guard row that says whether the lock has one, and the terms of a
// claim. Only adds, so servers of the previous version keep working during the migration. The migration is instant
// where the database adds a column without rewriting rows (MySQL from 8.0.29, MariaDB from 10.3, SQLite).

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const isMysql = target.dialect === "mysql";
  // While ALTER TABLE waits for an open transaction, all other statements on the table wait behind it. So it waits at
  // most 3 s, and the migrator retries it.
  if (isMysql) await target.run("SET SESSION lock_wait_timeout = 3");
  const flag = isMysql ? "TINYINT UNSIGNED NOT NULL DEFAULT 0" : "INTEGER NOT NULL DEFAULT 0";
  await target.addColumn("rowlock_lock", "has_record", flag);
  await target.addColumn("rowlock_claim", "terms", "BLOB NULL");
  for (const statement of isMysql ? MYSQL : SQLITE) await target.run(statement);
}

// `folder` is the name up to and including its last slash. `due_at` is the time from which an unheld lock without
// waiters may be granted; NULL if the lock cannot be taken. The index rowlock_record_due therefore finds due locks
// without reading the others.
const MYSQL = [
  `CREATE TABLE IF NOT EXISTS rowlock_record (
     lock_id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
     folder VARBINARY(255) NOT NULL,
     name VARBINARY(255) NOT NULL,
     status VARBINARY(63) NOT NULL,
     due_at BIGINT NULL,
     not_before BIGINT NULL,
     attempts_left INT UNSIGNED NULL,
     version BIGINT UNSIGNED NOT NULL,
     wakes_at BIGINT NULL,
     run_owner VARBINARY(255) NULL,
     run_token BIGINT UNSIGNED NULL,
     run_granted_at BIGINT NULL,
     run_ended_at BIGINT NULL,
     run_end TINYINT UNSIGNED NULL,
     run_status VARBINARY(63) NULL,
     KEY rowlock_record_due (folder, status, due_at, name),
     KEY rowlock_record_wake (wakes_at)
   ) ENGINE=InnoDB`,
];

const SQLITE = [
  `CREATE TABLE rowlock_record (
     lock_id INTEGER PRIMARY KEY,
     folder BLOB NOT NULL,
     name BLOB NOT NULL,
     status BLOB NOT NULL,
     due_at INTEGER NULL,
     not_before INTEGER NULL,
     attempts_left INTEGER NULL,
     version INTEGER NOT NULL,
     wakes_at INTEGER NULL,
     run_owner BLOB NULL,
     run_token INTEGER NULL,
     run_granted_at INTEGER NULL,
     run_ended_at INTEGER NULL,
     run_end INTEGER NULL,
     run_status BLOB NULL
   ) STRICT`,
  "CREATE INDEX rowlock_record_due ON rowlock_record (folder, status, due_at, name)",
  "CREATE INDEX rowlock_record_wake ON rowlock_record (wakes_at)",
];
