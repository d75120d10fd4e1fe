// The checks of `rowlock doctor`: whether rows agree with each other, whether the server's settings keep acknowledged
// commits, and whether the user may write. The start of a server runs the second one. Writes nothing.

import { checkNow } from "../reads/invariants.ts";
import { CHECK_MS_MAX } from "../storage-bounds.ts";
import { type Finding, type Store, StoreError } from "../store.ts";
import { type Connection, query } from "./connection/connection.ts";
import { ACCESS_DENIED } from "./connection/errors.ts";
import { onSnapshot } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";
import { run, send, stepsOn } from "./steps.ts";

const NO_TIMEOUT = `SET SESSION wait_timeout = 8
  /*!80000 , max_execution_time = 0 */ /*M!100304 , max_statement_time = 0 */`;

const SETTINGS = `SHOW VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin',
  'innodb_doublewrite', 'wsrep_on', 'wsrep_sync_wait', 'version', 'server_id')`;

export function checks(pool: MysqlPool) {
  return {
    checkInvariants: (max) =>
      pool.use(async (connection) => {
        await query(connection, "check_set_up", NO_TIMEOUT);
        try {
          return await onSnapshot(connection, () =>
            run(checkNow(max, "all"), (step) => send(connection, step)),
          );
        } finally {
          // No other caller may get this connection, because its statements have no time limit.
          connection.destroy(new Error("The checks are done."));
        }
      }, CHECK_MS_MAX),

    /** Each statement has the time limit of all statements. */
    async checkLiveClaims(max, msMax) {
      try {
        return await stepsOn(pool, null).snapshot(() => checkNow(max, "live"), { msMax });
      } catch (error) {
        if (error instanceof StoreError && error.reason === "timeout") return null;
        throw error;
      }
    },

    checkDurability: () => checkDurability(pool),
    checkRights: () => checkRights(pool),
  } satisfies Partial<Store>;
}

const WRITTEN = {
  rowlock_lock: "id",
  rowlock_claim: "lock_id",
  rowlock_record: "lock_id",
  rowlock_limit_rule: "prefix",
  rowlock_replica: "id",
  rowlock_meta: "id",
  rowlock_witness: "id",
  rowlock_history: "lock_id",
  rowlock_request: "lock_id",
  rowlock_change: "id",
};
/** Statements that need a right, and write no row. */
const NEEDS: Readonly<Record<string, (table: string, column: string) => string>> = {
  INSERT: (table, column) =>
    `INSERT IGNORE INTO ${table} (${column}) SELECT ${column} FROM ${table} WHERE FALSE`,
  UPDATE: (table, column) => `UPDATE ${table} SET ${column} = ${column} WHERE FALSE`,
  DELETE: (table) => `DELETE FROM ${table} WHERE FALSE`,
};

const OTHER_ENGINES = `SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND ENGINE <> 'InnoDB'
    AND TABLE_NAME IN ('${Object.keys(WRITTEN).join("', '")}')`;

/** Throws a StoreError if a table has an engine without transactions and row locks, by which a lock could be held twice. */
export async function mustBeInnodb(connection: Connection): Promise<void> {
  const others = await query(connection, "engines", OTHER_ENGINES);
  const [first] = others;
  if (first === undefined) return;
  const tables = others.map(([name, engine]) => `${name} (${engine})`).join(", ");
  const message =
    `Rowlock's tables must have the engine InnoDB, and these have another one: ${tables}. Stop all Rowlock servers, run ` +
    `\`ALTER TABLE ${first[0]} ENGINE = InnoDB\`, and the same for each other table.`;
  throw new StoreError("unavailable", "schema", message);
}

/** Tries each right, because grants can be of many kinds. */
async function checkRights(pool: MysqlPool): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [right, statementOn] of Object.entries(NEEDS)) {
    const denied: string[] = [];
    for (const [table, column] of Object.entries(WRITTEN)) {
      try {
        await pool.use((connection) => query(connection, "check_rights", statementOn(table, column)));
      } catch (error) {
        if (!(error instanceof StoreError) || error.reason !== ACCESS_DENIED) throw error;
        denied.push(table);
      }
    }
    if (denied.length === 0) continue;
    const message =
      `The database user may not ${right} on ${denied.join(", ")}, so a server cannot work. ` +
      "GRANT SELECT, INSERT, UPDATE, DELETE on all tables of the database to this user.";
    findings.push({ severity: "error", check: "rights", message });
  }
  return findings;
}

/** Returns findings about settings that could lose acknowledged commits. Throws a StoreError. */
export async function checkDurability(pool: MysqlPool): Promise<Finding[]> {
  const rows = await pool.use((connection) => query(connection, "durability", SETTINGS));
  const { serverChanges, isCluster } = pool;
  const settings = new Map(rows.map(([name, value]) => [String(name), String(value).toUpperCase()]));
  const findings: Finding[] = [];
  const isOn = (name: string) => ["ON", "1"].includes(settings.get(name) ?? "OFF");
  const found = (severity: Finding["severity"], message: string) =>
    findings.push({ severity, check: "durability", message });

  const flush = settings.get("innodb_flush_log_at_trx_commit");
  if (flush !== "1") {
    found(
      "error",
      `innodb_flush_log_at_trx_commit is ${flush}: commits that were acknowledged are lost when the server dies, and ` +
        "a lock can then be held twice. Set it to 1.",
    );
  }
  const sync = settings.get("sync_binlog");
  if (isOn("log_bin") && sync !== "1") {
    found(
      "error",
      `The binary log is on and sync_binlog is ${sync}: replicas and the server itself can lose commits that were ` +
        "acknowledged. Set it to 1, or turn the binary log off.",
    );
  }
  const doublewrite = settings.get("innodb_doublewrite");
  if (doublewrite === "OFF" || doublewrite === "0") {
    found(
      "warning",
      "innodb_doublewrite is off: a page that was partly written when the machine failed cannot be repaired. Leave " +
        "it on unless the file system writes pages atomically.",
    );
  }
  if (isOn("wsrep_on") && settings.get("wsrep_sync_wait") === "0") {
    found(
      "warning",
      "This is a Galera node with wsrep_sync_wait = 0: commits of other nodes may be read late here. " +
        "No lock is held twice because of it. A rowlock server decides by a new limit of a pattern once its own node has " +
        "applied it. SetLimit waits up to 7 s for this; its answer and the log report servers that are late. Connect all " +
        "rowlock servers to one node, or set wsrep_sync_wait to 1, so that each transaction waits for its node to catch up.",
    );
  }
  if (settings.get("version")?.includes("MARIADB") && settings.get("server_id") === "1" && !isCluster) {
    found(
      "warning",
      "server_id is 1, the default of every MariaDB, and only the server_id distinguishes this server from another one: a " +
        "replica that is promoted, or a backup that is restored on another server, may go unnoticed. Set a server_id that no " +
        "other server has.",
    );
  }
  if (serverChanges > 0) {
    found(
      "warning",
      `The address of the database has switched to another server ${serverChanges} times since the start. If it was ` +
        "promoted from an asynchronous replica, acknowledged commits may be lost and fencing tokens may repeat.",
    );
  }
  return findings;
}
