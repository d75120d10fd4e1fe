// All tables. docs/decisions/layout.md has each table's key and the reason for it, and what comes. One text for all
// databases, but for the types: names are bytes, numbers are 64-bit, times are UTC microseconds.
//
// MySQL commits each of these statements by itself, so an interrupted migration leaves some of the tables behind. Each
// statement does no harm when it runs again.

import type { MigrationTarget } from "./target.ts";

export async function up(target: MigrationTarget): Promise<void> {
  const types = target.dialect === "sqlite" ? SQLITE : MYSQL;
  for (const table of tablesOf(types))
    for (const statement of types.create(table)) await target.run(statement);
  await target.run(
    `${types.insertOnce} INTO rowlock_meta (id, rules_revision, token_floor) VALUES (1, 0, 0)`,
  );
  for (const view of viewsOf(types)) await target.run(view);
}

interface Table {
  readonly name: string;
  /** The columns and the keys that are constraints, as SQL. */
  readonly columns: string;
  /** Columns by the name of the index. */
  readonly indexes?: Readonly<Record<string, string>>;
  /** SQLite: conditions by the name of the index, which has no other rows. So most writes leave it alone. */
  readonly partial?: Readonly<Record<string, string>>;
  /** SQLite: the rows are not in the order of the primary key, because it is a single number, or they are long. */
  readonly hasRowId?: true;
}

interface Types {
  /** A number that an id of its own identifies. */
  readonly id: string;
  /** A row's key that counts up and is never used again. */
  readonly countedId: string;
  readonly number: string;
  readonly time: string;
  readonly count: string;
  readonly small: string;
  readonly bytes: (max: number) => string;
  readonly key: (length: number) => string;
  readonly noBytes: string;
  readonly create: (table: Table) => string[];
  readonly insertOnce: string;
  readonly createView: string;
  readonly textOf: (column: string) => string;
  readonly timeOf: (column: string) => string;
}

const MYSQL: Types = {
  id: "BIGINT UNSIGNED NOT NULL PRIMARY KEY",
  countedId: "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY",
  number: "BIGINT UNSIGNED",
  time: "BIGINT",
  count: "INT UNSIGNED",
  small: "TINYINT UNSIGNED",
  bytes: (max) => `VARBINARY(${max})`,
  key: (length) => `BINARY(${length})`,
  noBytes: "''",
  create: ({ name, columns, indexes = {} }) => {
    const keys = Object.entries(indexes).map(([index, of]) => `, KEY ${index} (${of})`);
    return [`CREATE TABLE IF NOT EXISTS ${name} (${columns}${keys.join("")}) ENGINE=InnoDB`];
  },
  insertOnce: "INSERT IGNORE",
  createView: "CREATE OR REPLACE SQL SECURITY INVOKER VIEW",
  textOf: (column) => `CONVERT(${column} USING utf8mb4)`,
  timeOf: (column) => `TIMESTAMPADD(MICROSECOND, ${column}, '1970-01-01')`,
};

/** All ids and tokens stay below 2^63, because INTEGER is signed. */
const SQLITE: Types = {
  id: "INTEGER PRIMARY KEY",
  countedId: "INTEGER PRIMARY KEY AUTOINCREMENT",
  number: "INTEGER",
  time: "INTEGER",
  count: "INTEGER",
  small: "INTEGER",
  bytes: () => "BLOB",
  key: () => "BLOB",
  noBytes: "x''",
  create: ({ name, columns, indexes = {}, partial = {}, hasRowId }) => [
    `CREATE TABLE ${name} (${columns}) STRICT${hasRowId ? "" : ", WITHOUT ROWID"}`,
    ...Object.entries(indexes).map(([index, of]) => {
      const condition = partial[index];
      return `CREATE INDEX ${index} ON ${name} (${of})${condition ? ` WHERE ${condition}` : ""}`;
    }),
  ],
  insertOnce: "INSERT",
  createView: "CREATE VIEW",
  textOf: (column) => `CAST(${column} AS TEXT)`,
  timeOf: (column) => `strftime('%Y-%m-%d %H:%M:%f', ${column} / 1000000.0, 'unixepoch')`,
};

function tablesOf(types: Types): Table[] {
  const { id, countedId, number, time, count, small, bytes, key, noBytes } = types;
  const counter = `${number} NOT NULL DEFAULT 0`;
  const countOf = `${count} NOT NULL DEFAULT 0`;
  const flag = `${small} NOT NULL DEFAULT 0`;
  const instant = `${time} NOT NULL DEFAULT 0`;
  const text = (max: number) => `${bytes(max)} NOT NULL DEFAULT ${noBytes}`;
  return [
    {
      name: "rowlock_lock",
      hasRowId: true,
      columns: `
        id ${countedId},
        name ${bytes(255)} NOT NULL,
        limit_value ${count} NULL,
        limit_version ${counter},
        limit_reason ${text(255)},
        next_ticket ${number} NOT NULL DEFAULT 1,
        last_token ${counter},
        held_permits ${counter},
        shared_holders ${countOf},
        exclusive_holders ${countOf},
        holders ${countOf},
        waiting ${countOf},
        waiting_permits ${counter},
        entering ${countOf},
        entering_permits ${counter},
        counting ${number} NULL,
        revision ${counter},
        has_record ${flag},
        change_mark ${counter},
        record_floor ${counter},
        rate_permits ${count} NULL,
        rate_per ${time} NULL,
        rate_burst ${count} NULL,
        rate_until ${instant},
        queue_rules ${bytes(192)} NULL,
        shared_by ${bytes(128)} NULL,
        order_key ${instant},
        wakes_at ${time} NULL,
        decided_at ${instant},
        next_deadline ${time} NULL,
        holder_ticket_number ${counter},
        holder_secret ${text(22)},
        holder_request_id ${text(128)},
        holder_mode ${flag},
        holder_permits ${countOf},
        holder_owner ${text(255)},
        holder_principal ${text(255)},
        holder_labels BLOB NULL,
        holder_terms BLOB NULL,
        holder_requested_at ${instant},
        holder_wait_until ${time} NULL,
        holder_state ${flag},
        holder_ttl ${time} NULL,
        holder_deadline ${time} NULL,
        holder_replica ${counter},
        holder_provisional ${flag},
        holder_fencing_token ${counter},
        holder_granted_at ${instant},
        holder_levels ${bytes(255)} NULL,
        holder_members BLOB NULL,
        CONSTRAINT rowlock_lock_name UNIQUE (name)`,
      indexes: { rowlock_lock_idle: "decided_at", rowlock_lock_due: "next_deadline" },
    },
    {
      name: "rowlock_claim",
      columns: `
        lock_id ${number} NOT NULL,
        place ${number} NOT NULL,
        ${claimColumns(types)},
        state ${small} NOT NULL,
        deadline ${time} NULL,
        levels ${bytes(255)} NULL,
        pool_id ${number} NULL,
        pool_rank ${number} NULL,
        turn ${number} NULL,
        PRIMARY KEY (lock_id, place, ticket_number)`,
      indexes: { rowlock_claim_pool: "pool_id, pool_rank", rowlock_claim_turn: "lock_id, turn" },
      partial: { rowlock_claim_pool: "pool_id IS NOT NULL", rowlock_claim_turn: "turn IS NOT NULL" },
    },
    {
      name: "rowlock_history",
      columns: `
        lock_id ${number} NOT NULL,
        ${claimColumns(types)},
        ended_at ${time} NOT NULL,
        end_reason ${small} NOT NULL,
        end_note ${bytes(255)} NOT NULL,
        ended_by ${bytes(255)} NOT NULL,
        kept_for ${count} NOT NULL,
        PRIMARY KEY (kept_for, ended_at, lock_id, ticket_number)`,
      indexes: { rowlock_history_claim: "lock_id, ticket_number" },
    },
    {
      name: "rowlock_request",
      columns: `
        request_key ${key(16)} NOT NULL PRIMARY KEY,
        lock_id ${number} NOT NULL,
        ticket_number ${number} NOT NULL`,
    },
    {
      name: "rowlock_record",
      hasRowId: true,
      columns: `
        lock_id ${id},
        folder ${bytes(255)} NOT NULL,
        name ${bytes(255)} NOT NULL,
        status ${bytes(63)} NOT NULL,
        due_at ${time} NULL,
        not_before ${time} NULL,
        attempts_left ${count} NULL,
        attempts_since ${counter},
        version ${number} NOT NULL,
        run_owner ${bytes(255)} NULL,
        run_token ${number} NULL,
        run_granted_at ${time} NULL,
        run_ended_at ${time} NULL,
        run_end ${small} NULL,
        run_status ${bytes(63)} NULL,
        principal ${text(255)},
        failures ${countOf},
        success_owner ${bytes(255)} NULL,
        success_token ${number} NULL,
        success_granted_at ${time} NULL,
        success_ended_at ${time} NULL,
        success_status ${bytes(63)} NULL`,
      indexes: {
        rowlock_record_due: "folder, status, due_at, name",
        rowlock_record_principal: "principal",
      },
    },
    {
      name: "rowlock_change",
      columns: `
        changed_at ${time} NOT NULL,
        id ${number} NOT NULL,
        kind ${small} NOT NULL,
        target ${bytes(256)} NOT NULL,
        is_pattern ${small} NOT NULL,
        changed_by ${bytes(255)} NOT NULL,
        from_value ${bytes(4096)} NOT NULL,
        to_value ${bytes(4096)} NOT NULL,
        reason ${bytes(255)} NOT NULL,
        PRIMARY KEY (changed_at, id)`,
      indexes: { rowlock_change_target: "target, changed_at, id" },
    },
    {
      name: "rowlock_limit_rule",
      columns: `
        prefix ${bytes(255)} NOT NULL PRIMARY KEY,
        limit_value ${count} NULL,
        rate_permits ${count} NULL,
        rate_per ${time} NULL,
        rate_burst ${count} NULL,
        queue_rules ${bytes(192)} NULL,
        version ${number} NOT NULL,
        reason ${bytes(255)} NOT NULL,
        change_mark ${counter},
        pool_id ${number} NULL`,
    },
    {
      name: "rowlock_replica",
      hasRowId: true,
      columns: `
        id ${id},
        address ${bytes(255)} NOT NULL,
        version ${bytes(64)} NOT NULL,
        secret ${text(22)},
        level ${countOf},
        knows_migration ${text(255)},
        started_at ${time} NOT NULL,
        rules_revision ${time} NOT NULL DEFAULT -1,
        deadline ${time} NOT NULL`,
      indexes: { rowlock_replica_deadline: "deadline" },
    },
    {
      name: "rowlock_witness",
      hasRowId: true,
      columns: `
        id ${id},
        mark ${number} NOT NULL,
        written_at ${time} NOT NULL`,
    },
    {
      name: "rowlock_meta",
      hasRowId: true,
      columns: `
        id ${id},
        rules_revision ${number} NOT NULL,
        token_floor ${number} NOT NULL,
        server_identity ${bytes(255)} NULL,
        epoch ${counter},
        failed_over_at ${instant},
        grants_from ${instant},
        level_min ${countOf},
        level_min_by ${text(255)},
        kept_by ${text(255)},
        claims_from ${instant},
        changes_from ${instant}`,
    },
  ];
}

/** What a claim keeps of itself when it ends. */
function claimColumns({ number, time, count, small, bytes }: Types): string {
  return `
        ticket_number ${number} NOT NULL,
        secret ${bytes(22)} NOT NULL,
        request_id ${bytes(128)} NOT NULL,
        mode ${small} NOT NULL,
        permits ${count} NOT NULL,
        owner ${bytes(255)} NOT NULL,
        principal ${bytes(255)} NOT NULL,
        labels BLOB NOT NULL,
        terms BLOB NULL,
        requested_at ${time} NOT NULL,
        wait_until ${time} NULL,
        ttl ${time} NULL,
        replica ${number} NOT NULL,
        provisional ${small} NOT NULL,
        fencing_token ${number} NOT NULL,
        granted_at ${time} NOT NULL,
        members BLOB NULL`;
}

const MODE = "CASE mode WHEN 1 THEN 'permit' WHEN 2 THEN 'shared' ELSE 'exclusive' END";

/** For people: names as text, and times in UTC. The rights of the user who reads them apply. */
function viewsOf({ createView, textOf, timeOf }: Types): string[] {
  const facts = (at: string) => `l.name AS lock_bytes, ${at}ticket_number AS ticket_number,
    ${at}fencing_token AS fencing_token, ${at}owner AS owner_bytes,
    ${at}principal AS principal_bytes, ${at}labels AS label_bytes, ${at}mode AS mode,
    ${at}permits AS permits, ${at}requested_at AS requested_us, ${at}granted_at AS granted_us,
    ${at}deadline AS deadline_us, ${at}wait_until AS wait_until_us`;
  const shown = `${textOf("lock_bytes")} AS lock_name, ticket_number, ${textOf("owner_bytes")} AS owner,
    ${textOf("principal_bytes")} AS principal, ${textOf("label_bytes")} AS labels, ${MODE} AS mode, permits,
    ${timeOf("requested_us")} AS requested_at`;
  const claims = "rowlock_lock l JOIN rowlock_claim c ON c.lock_id = l.id";
  return [
    `${createView} rowlock_lease AS SELECT ${shown}, fencing_token, ${timeOf("granted_us")} AS granted_at,
      ${timeOf("deadline_us")} AS expires_at FROM (
        SELECT ${facts("l.holder_")} FROM rowlock_lock l WHERE l.holder_state = 2
        UNION ALL SELECT ${facts("c.")} FROM ${claims} WHERE c.state = 2) holders`,
    `${createView} rowlock_queue AS SELECT ${shown}, ${timeOf("wait_until_us")} AS wait_until FROM (
        SELECT ${facts("c.")} FROM ${claims} WHERE c.state = 1) waiters`,
  ];
}
