// The first schema: guard rows, claims, limit rules, the register of replicas, and the single row of server-wide values.
// Plain SQL per dialect, because the column types are part of the contract: names are bytes, numbers are 64-bit, times
// are UTC microseconds.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  for (const statement of target.dialect === "sqlite" ? SQLITE : MYSQL) await target.run(statement);
}

// MySQL commits each schema statement by itself, so an interrupted migration leaves part of its changes behind. Each
// statement must therefore be harmless when it runs a second time.
const MYSQL = [
  `CREATE TABLE IF NOT EXISTS rowlock_lock (
     id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
     name VARBINARY(255) NOT NULL,
     limit_value INT UNSIGNED NULL,
     limit_version BIGINT UNSIGNED NOT NULL DEFAULT 0,
     limit_reason VARBINARY(255) NOT NULL DEFAULT '',
     next_ticket BIGINT UNSIGNED NOT NULL DEFAULT 1,
     last_token BIGINT UNSIGNED NOT NULL DEFAULT 0,
     held_permits BIGINT UNSIGNED NOT NULL DEFAULT 0,
     shared_holders INT UNSIGNED NOT NULL DEFAULT 0,
     exclusive_holders INT UNSIGNED NOT NULL DEFAULT 0,
     holders INT UNSIGNED NOT NULL DEFAULT 0,
     waiting INT UNSIGNED NOT NULL DEFAULT 0,
     waiting_permits BIGINT UNSIGNED NOT NULL DEFAULT 0,
     revision BIGINT UNSIGNED NOT NULL DEFAULT 0,
     decided_at BIGINT NOT NULL DEFAULT 0,
     UNIQUE KEY rowlock_lock_name (name),
     KEY rowlock_lock_idle (decided_at)
   ) ENGINE=InnoDB`,
  `CREATE TABLE IF NOT EXISTS rowlock_claim (
     lock_id BIGINT UNSIGNED NOT NULL,
     ticket_number BIGINT UNSIGNED NOT NULL,
     secret VARBINARY(22) NOT NULL,
     request_id VARBINARY(128) NOT NULL,
     state TINYINT UNSIGNED NOT NULL,
     mode TINYINT UNSIGNED NOT NULL,
     permits INT UNSIGNED NOT NULL,
     owner VARBINARY(255) NOT NULL,
     labels BLOB NOT NULL,
     requested_at BIGINT NOT NULL,
     wait_until BIGINT NULL,
     ttl BIGINT NULL,
     deadline BIGINT NULL,
     replica BIGINT UNSIGNED NULL,
     provisional TINYINT UNSIGNED NOT NULL,
     fencing_token BIGINT UNSIGNED NOT NULL,
     granted_at BIGINT NULL,
     ended_at BIGINT NULL,
     end_reason TINYINT UNSIGNED NULL,
     end_note VARBINARY(255) NOT NULL,
     PRIMARY KEY (lock_id, ticket_number),
     UNIQUE KEY rowlock_claim_request (request_id),
     KEY rowlock_claim_queue (lock_id, state, ticket_number),
     KEY rowlock_claim_due (state, deadline)
   ) ENGINE=InnoDB`,
  `CREATE TABLE IF NOT EXISTS rowlock_limit_rule (
     prefix VARBINARY(255) NOT NULL PRIMARY KEY,
     limit_value INT UNSIGNED NULL,
     version BIGINT UNSIGNED NOT NULL,
     reason VARBINARY(255) NOT NULL
   ) ENGINE=InnoDB`,
  `CREATE TABLE IF NOT EXISTS rowlock_replica (
     id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
     address VARBINARY(255) NOT NULL,
     version VARBINARY(64) NOT NULL,
     started_at BIGINT NOT NULL,
     deadline BIGINT NOT NULL,
     KEY rowlock_replica_deadline (deadline)
   ) ENGINE=InnoDB`,
  `CREATE TABLE IF NOT EXISTS rowlock_meta (
     id TINYINT UNSIGNED NOT NULL PRIMARY KEY,
     rules_revision BIGINT UNSIGNED NOT NULL,
     token_floor BIGINT UNSIGNED NOT NULL,
     server_identity VARBINARY(255) NULL,
     epoch BIGINT UNSIGNED NOT NULL DEFAULT 0,
     failed_over_at BIGINT NOT NULL DEFAULT 0,
     grants_from BIGINT NOT NULL DEFAULT 0
   ) ENGINE=InnoDB`,
  "INSERT IGNORE INTO rowlock_meta (id, rules_revision, token_floor) VALUES (1, 0, 0)",
];

// SQLite's INTEGER holds all of these types. AUTOINCREMENT keeps the id of a deleted guard row from being reused. Ids
// and tokens stay below 2^63, because SQLite's INTEGER is signed.
const SQLITE = [
  `CREATE TABLE rowlock_lock (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     name BLOB NOT NULL UNIQUE,
     limit_value INTEGER NULL,
     limit_version INTEGER NOT NULL DEFAULT 0,
     limit_reason BLOB NOT NULL DEFAULT x'',
     next_ticket INTEGER NOT NULL DEFAULT 1,
     last_token INTEGER NOT NULL DEFAULT 0,
     held_permits INTEGER NOT NULL DEFAULT 0,
     shared_holders INTEGER NOT NULL DEFAULT 0,
     exclusive_holders INTEGER NOT NULL DEFAULT 0,
     holders INTEGER NOT NULL DEFAULT 0,
     waiting INTEGER NOT NULL DEFAULT 0,
     waiting_permits INTEGER NOT NULL DEFAULT 0,
     revision INTEGER NOT NULL DEFAULT 0,
     decided_at INTEGER NOT NULL DEFAULT 0
   ) STRICT`,
  "CREATE INDEX rowlock_lock_idle ON rowlock_lock (decided_at)",
  `CREATE TABLE rowlock_claim (
     lock_id INTEGER NOT NULL,
     ticket_number INTEGER NOT NULL,
     secret BLOB NOT NULL,
     request_id BLOB NOT NULL UNIQUE,
     state INTEGER NOT NULL,
     mode INTEGER NOT NULL,
     permits INTEGER NOT NULL,
     owner BLOB NOT NULL,
     labels BLOB NOT NULL,
     requested_at INTEGER NOT NULL,
     wait_until INTEGER NULL,
     ttl INTEGER NULL,
     deadline INTEGER NULL,
     replica INTEGER NULL,
     provisional INTEGER NOT NULL,
     fencing_token INTEGER NOT NULL,
     granted_at INTEGER NULL,
     ended_at INTEGER NULL,
     end_reason INTEGER NULL,
     end_note BLOB NOT NULL,
     PRIMARY KEY (lock_id, ticket_number)
   ) STRICT, WITHOUT ROWID`,
  "CREATE INDEX rowlock_claim_queue ON rowlock_claim (lock_id, state, ticket_number)",
  "CREATE INDEX rowlock_claim_due ON rowlock_claim (state, deadline)",
  `CREATE TABLE rowlock_limit_rule (
     prefix BLOB NOT NULL PRIMARY KEY,
     limit_value INTEGER NULL,
     version INTEGER NOT NULL,
     reason BLOB NOT NULL
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE rowlock_replica (
     id INTEGER PRIMARY KEY,
     address BLOB NOT NULL,
     version BLOB NOT NULL,
     started_at INTEGER NOT NULL,
     deadline INTEGER NOT NULL
   ) STRICT`,
  "CREATE INDEX rowlock_replica_deadline ON rowlock_replica (deadline)",
  `CREATE TABLE rowlock_meta (
     id INTEGER PRIMARY KEY,
     rules_revision INTEGER NOT NULL,
     token_floor INTEGER NOT NULL,
     server_identity BLOB NULL,
     epoch INTEGER NOT NULL DEFAULT 0,
     failed_over_at INTEGER NOT NULL DEFAULT 0,
     grants_from INTEGER NOT NULL DEFAULT 0
   ) STRICT`,
  "INSERT INTO rowlock_meta (id, rules_revision, token_floor) VALUES (1, 0, 0)",
];
