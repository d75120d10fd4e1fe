// Moves each claim to the table that belongs to its state: a lock's first holder to its guard row, ended claims to
// rowlock_history, and the request ids of clients to rowlock_request; waiters and further holders stay in rowlock_claim.
// Docs: docs/decisions/first-holder-in-its-guard-row.md.
//
// No server may run meanwhile. On MySQL the migration may be interrupted and run again: no statement before the exchange
// of the tables changes what an older server reads, and each does the same when it is repeated. Two nodes of a cluster may
// run it at once: each of these statements names a column that only the old table has, so none can follow the exchange.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const isMysql = target.dialect === "mysql";
  const types = isMysql ? MYSQL_TYPES : SQLITE_TYPES;
  const isOld = () => target.hasColumn("rowlock_claim", OLD_COLUMN);
  if (await isOld()) {
    try {
      await move(target, types);
    } catch (error) {
      // Another node has exchanged the tables meanwhile.
      if (await isOld()) throw error;
    }
  }
  if (isMysql) await target.run("DROP TABLE IF EXISTS rowlock_claim_old, rowlock_claim_live");
  for (const view of isMysql ? MYSQL_VIEWS : SQLITE_VIEWS) await target.run(view);
}

const OLD_COLUMN = "end_reason";
/** A condition that always holds, on a row of the old table; on a new one it is an error. */
const IS_OLD = `COALESCE(c.${OLD_COLUMN}, 0) >= 0`;

interface Types {
  readonly number: string;
  readonly time: string;
  readonly small: string;
  readonly count: string;
  readonly bytes: (max: number) => string;
  readonly long: string;
  readonly noBytes: string;
  readonly ofTable: string;
}

const MYSQL_TYPES: Types = {
  number: "BIGINT UNSIGNED",
  time: "BIGINT",
  small: "TINYINT UNSIGNED",
  count: "INT UNSIGNED",
  bytes: (max) => `VARBINARY(${max})`,
  long: "BLOB",
  noBytes: "''",
  ofTable: "ENGINE=InnoDB",
};

const SQLITE_TYPES: Types = {
  number: "INTEGER",
  time: "INTEGER",
  small: "INTEGER",
  count: "INTEGER",
  bytes: () => "BLOB",
  long: "BLOB",
  noBytes: "x''",
  ofTable: "STRICT, WITHOUT ROWID",
};

interface Column {
  readonly name: string;
  readonly type: string;
  readonly isNullable?: boolean;
  /** The value in a guard row that has had no holder yet. */
  readonly none?: string;
  /** The old table has no such column. */
  readonly isNew?: boolean;
}

/** The columns of a claim, except its lock. */
function claimColumns({ number, time, small, count, bytes, long, noBytes }: Types): Column[] {
  return [
    { name: "ticket_number", type: number, none: "0" },
    { name: "secret", type: bytes(22), none: noBytes },
    { name: "request_id", type: bytes(128), none: noBytes },
    { name: "mode", type: small, none: "0" },
    { name: "permits", type: count, none: "0" },
    { name: "owner", type: bytes(255), none: noBytes },
    { name: "principal", type: bytes(255), none: noBytes, isNew: true },
    // MySQL allows no default for a BLOB.
    { name: "labels", type: long },
    { name: "terms", type: long, isNullable: true },
    { name: "requested_at", type: time, none: "0" },
    { name: "wait_until", type: time, isNullable: true },
    { name: "state", type: small, none: "0" },
    { name: "ttl", type: time, isNullable: true },
    { name: "deadline", type: time, isNullable: true },
    { name: "replica", type: number, none: "0" },
    { name: "provisional", type: small, none: "0" },
    { name: "fencing_token", type: number, none: "0" },
    { name: "granted_at", type: time, none: "0" },
  ];
}

/** The value of a column of an old row `c`, which may be NULL where new rows contain 0. */
function oldValueOf({ name, none, isNew }: Column): string {
  if (isNew) return none as string;
  return none === "0" ? `COALESCE(c.${name}, 0)` : `c.${name}`;
}

const namesOf = (columns: readonly Column[]) => columns.map(({ name }) => name).join(", ");
const oldValuesOf = (columns: readonly Column[]) => columns.map(oldValueOf).join(", ");

async function move(target: MigrationTarget, types: Types): Promise<void> {
  const columns = claimColumns(types);
  await addColumnsOfHolder(target, types, columns);
  await addTables(target, types, columns);
  await copyEnded(target, columns, types);
  await fillGuardRows(target, columns);
  await exchange(target, columns);
}

async function addColumnsOfHolder(target: MigrationTarget, { number, time }: Types, columns: Column[]) {
  for (const { name, type, none } of columns) {
    const definition = none === undefined ? "NULL" : `NOT NULL DEFAULT ${none}`;
    await target.addColumn("rowlock_lock", `holder_${name}`, `${type} ${definition}`);
  }
  await target.addColumn("rowlock_lock", "queue_from", `${number} NOT NULL DEFAULT 1`);
  await target.addColumn("rowlock_lock", "next_deadline", `${time} NULL`);
  await target.addIndex("rowlock_lock", "rowlock_lock_due", "next_deadline");
}

/** The new table of live claims has another name until the exchange. */
async function addTables(target: MigrationTarget, types: Types, columns: Column[]) {
  const { number, time, small, count, bytes, ofTable } = types;
  const defined = ({ name, type, isNullable }: Column) =>
    `${name} ${type} ${isNullable ? "NULL" : "NOT NULL"}`;
  const definitions = (list: readonly Column[]) => list.map(defined).join(", ");
  await target.run(`CREATE TABLE IF NOT EXISTS rowlock_claim_live (
    lock_id ${number} NOT NULL,
    ${definitions(columns)},
    PRIMARY KEY (lock_id, ticket_number)) ${ofTable}`);
  await target.run(`CREATE TABLE IF NOT EXISTS rowlock_history (
    lock_id ${number} NOT NULL,
    ${definitions(columns.filter(isOfHistory))},
    ended_at ${time} NOT NULL,
    end_reason ${small} NOT NULL,
    end_note ${bytes(255)} NOT NULL,
    ended_by ${bytes(255)} NOT NULL,
    kept_for ${count} NOT NULL,
    PRIMARY KEY (kept_for, ended_at, lock_id, ticket_number)) ${ofTable}`);
  await target.addIndex("rowlock_history", "rowlock_history_claim", "lock_id, ticket_number");
  await target.run(`CREATE TABLE IF NOT EXISTS rowlock_request (
    request_id ${bytes(128)} NOT NULL PRIMARY KEY,
    lock_id ${number} NOT NULL,
    ticket_number ${number} NOT NULL) ${ofTable}`);
}

/** The columns that an ended claim has as a live one has them. */
function isOfHistory({ name }: Column): boolean {
  return name !== "state" && name !== "deadline";
}

const put = ({ dialect }: MigrationTarget) => (dialect === "mysql" ? "REPLACE INTO" : "INSERT INTO");

/** How long the ended claim `c` was to be kept, in seconds, rounded up. */
const KEPT_FOR = `CASE WHEN c.deadline > COALESCE(c.ended_at, 0)
  THEN ROUND((c.deadline - COALESCE(c.ended_at, 0)) / 1000000.0 + 0.4999995) ELSE 0 END`;

async function copyEnded(target: MigrationTarget, columns: Column[], { noBytes }: Types) {
  const kept = columns.filter(isOfHistory);
  await target.run(`${put(target)} rowlock_history
      (lock_id, ${namesOf(kept)}, ended_at, end_reason, end_note, ended_by, kept_for)
    SELECT c.lock_id, ${oldValuesOf(kept)}, COALESCE(c.ended_at, 0), COALESCE(c.end_reason, 0), c.end_note, ${noBytes},
      ${target.dialect === "mysql" ? KEPT_FOR : `CAST(${KEPT_FOR} AS INTEGER)`}
    FROM rowlock_claim c WHERE c.state = 3`);
  // The ids that servers made begin with one NUL; no client can repeat them.
  await target.run(`${put(target)} rowlock_request (request_id, lock_id, ticket_number)
    SELECT c.request_id, c.lock_id, c.ticket_number FROM rowlock_claim c
    WHERE ${IS_OLD} AND (SUBSTR(c.request_id, 1, 1) <> x'00' OR SUBSTR(c.request_id, 1, 2) = x'0000')`);
}

async function fillGuardRows(target: MigrationTarget, columns: Column[]) {
  const isMysql = target.dialect === "mysql";
  const lock = isMysql ? "rowlock_lock l" : "rowlock_lock AS l";
  // An interrupted run may have left a holder that has released the lock since.
  await target.run(`UPDATE ${lock} SET holder_state = 0 WHERE holder_state <> 0
    AND NOT EXISTS (SELECT 1 FROM rowlock_claim c WHERE c.lock_id = l.id AND c.state = 2 AND ${IS_OLD})`);
  const first = `(SELECT lock_id, MIN(ticket_number) AS ticket_number
    FROM rowlock_claim WHERE state = 2 GROUP BY lock_id) f
    JOIN rowlock_claim c ON c.lock_id = f.lock_id AND c.ticket_number = f.ticket_number AND ${IS_OLD}`;
  const holder = columns.map((column) => `holder_${column.name} = ${oldValueOf(column)}`).join(", ");
  await target.run(
    isMysql
      ? `UPDATE ${first} JOIN ${lock} ON l.id = f.lock_id SET ${holder}`
      : `UPDATE rowlock_lock SET ${holder} FROM ${first} WHERE rowlock_lock.id = f.lock_id`,
  );
  // The plus signs keep SQLite from reading an index of all claims in the order of the minimum, for each lock anew.
  const ofLock = `FROM rowlock_claim c WHERE c.lock_id = l.id AND ${IS_OLD}`;
  await target.run(`UPDATE ${lock} SET
    queue_from = COALESCE((SELECT MIN(+c.ticket_number) ${ofLock} AND c.state = 1), next_ticket),
    next_deadline = COALESCE((SELECT MIN(+c.deadline) ${ofLock} AND c.state IN (1, 2)), ${Number.MAX_SAFE_INTEGER})
    WHERE holders > 0 OR waiting > 0`);
}

async function exchange(target: MigrationTarget, columns: Column[]) {
  const isFurther = `c.state IN (1, 2) AND ${IS_OLD}
    AND NOT (l.holder_state = 2 AND l.holder_ticket_number = c.ticket_number)`;
  await target.run(`${put(target)} rowlock_claim_live (lock_id, ${namesOf(columns)})
    SELECT c.lock_id, ${oldValuesOf(columns)} FROM rowlock_claim c
    JOIN rowlock_lock l ON l.id = c.lock_id WHERE ${isFurther}`);
  if (target.dialect === "sqlite") {
    await target.run("DROP TABLE rowlock_claim");
    await target.run("ALTER TABLE rowlock_claim_live RENAME TO rowlock_claim");
    return;
  }
  // An interrupted run may have left claims that have ended since.
  await target.run(`DELETE v FROM rowlock_claim_live v LEFT JOIN (rowlock_claim c JOIN rowlock_lock l ON l.id = c.lock_id)
    ON c.lock_id = v.lock_id AND c.ticket_number = v.ticket_number AND ${isFurther} WHERE c.lock_id IS NULL`);
  await target.run("RENAME TABLE rowlock_claim TO rowlock_claim_old, rowlock_claim_live TO rowlock_claim");
}

// For people: names as text, and times in UTC. The rights of the user who reads them apply.

const MODE = "CASE mode WHEN 1 THEN 'permit' WHEN 2 THEN 'shared' ELSE 'exclusive' END";

function views(create: string, text: (column: string) => string, time: (column: string) => string): string[] {
  const facts = (at: string) => `l.name AS lock_bytes, ${at}ticket_number AS ticket_number,
    ${at}fencing_token AS fencing_token, ${at}owner AS owner_bytes,
    ${at}principal AS principal_bytes, ${at}labels AS label_bytes, ${at}mode AS mode,
    ${at}permits AS permits, ${at}requested_at AS requested_us, ${at}granted_at AS granted_us,
    ${at}deadline AS deadline_us, ${at}wait_until AS wait_until_us`;
  const shown = `${text("lock_bytes")} AS lock_name, ticket_number, ${text("owner_bytes")} AS owner,
    ${text("principal_bytes")} AS principal, ${text("label_bytes")} AS labels, ${MODE} AS mode, permits, ${time("requested_us")} AS requested_at`;
  const further = "rowlock_lock l JOIN rowlock_claim c ON c.lock_id = l.id";
  return [
    `${create} rowlock_lease AS SELECT ${shown}, fencing_token, ${time("granted_us")} AS granted_at,
      ${time("deadline_us")} AS expires_at FROM (
        SELECT ${facts("l.holder_")} FROM rowlock_lock l WHERE l.holder_state = 2
        UNION ALL SELECT ${facts("c.")} FROM ${further} WHERE c.state = 2) holders`,
    `${create} rowlock_queue AS SELECT ${shown}, ${time("wait_until_us")} AS wait_until FROM (
        SELECT ${facts("c.")} FROM ${further} WHERE c.state = 1) waiters`,
  ];
}

const MYSQL_VIEWS = views(
  "CREATE OR REPLACE SQL SECURITY INVOKER VIEW",
  (column) => `CONVERT(${column} USING utf8mb4)`,
  (column) => `TIMESTAMPADD(MICROSECOND, ${column}, '1970-01-01')`,
);

const SQLITE_VIEWS = views(
  "CREATE VIEW",
  (column) => `CAST(${column} AS TEXT)`,
  (column) => `strftime('%Y-%m-%d %H:%M:%f', ${column} / 1000000.0, 'unixepoch')`,
);
