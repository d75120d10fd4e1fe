// Who holds a guard row: for people who ask why nothing moves. The database says it to users with the right PROCESS
// (MariaDB), or with the right to read performance_schema (MySQL); to others it does not, which is no fault.

import { setTimeout as sleep } from "node:timers/promises";
import { bigintOf, textOf } from "../rows/from-rows.ts";
import { ROW_HOLDER_LOOK_MS, ROW_HOLDER_LOOKS_MAX, ROW_HOLDER_REST_MS } from "../storage-bounds.ts";
import { isRowLocked, type RowHolder, type Store, StoreError } from "../store.ts";
import { query, rowsOf, Trip } from "./connection/connection.ts";
import { ACCESS_DENIED } from "./connection/errors.ts";
import type { MysqlPool } from "./connection/pool.ts";

// A lock on the gap before the row does not hold the row.
const MYSQL = `SELECT t.PROCESSLIST_ID, CAST(t.PROCESSLIST_USER AS BINARY) FROM performance_schema.data_locks d
  JOIN performance_schema.threads t ON t.THREAD_ID = d.THREAD_ID
  WHERE d.OBJECT_SCHEMA = DATABASE() AND d.OBJECT_NAME = 'rowlock_lock' AND d.INDEX_NAME = 'PRIMARY'
    AND d.LOCK_STATUS = 'GRANTED' AND d.LOCK_MODE NOT LIKE '%,GAP%' AND CAST(d.LOCK_DATA AS UNSIGNED) = ?
    AND t.PROCESSLIST_ID NOT IN (?) LIMIT 1`;
const MARIADB = `SELECT t.trx_mysql_thread_id, CAST(p.USER AS BINARY) FROM information_schema.INNODB_LOCKS d
  JOIN information_schema.INNODB_TRX t ON t.trx_id = d.lock_trx_id
  JOIN information_schema.PROCESSLIST p ON p.ID = t.trx_mysql_thread_id
  WHERE d.lock_table = CONCAT('\`', DATABASE(), '\`.\`rowlock_lock\`') AND d.lock_index = 'PRIMARY'
    AND CAST(d.lock_data AS UNSIGNED) = ? AND d.lock_id <> COALESCE(t.trx_requested_lock_id, '')
    AND t.trx_mysql_thread_id NOT IN (?) LIMIT 1`;
const PROBE = "SELECT id FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id = ? FOR UPDATE";

export function rowHolder(pool: MysqlPool): Pick<Store, "rowHolder" | "waitForRows"> {
  let asking: Promise<RowHolder | null> | null = null;
  let deniedMs = Number.NEGATIVE_INFINITY;

  const ask = async (lockId: bigint) => {
    if (performance.now() < deniedMs + ROW_HOLDER_REST_MS) return null;
    try {
      return await pool.use(async (connection) => {
        const { setsPatience: isMariadb } = connection;
        const find = async () => {
          const trip = new Trip("row_holder");
          trip.mayBeDenied = true;
          trip.add(isMariadb ? MARIADB : MYSQL, lockId, pool.connectionIds);
          const [row] = rowsOf((await connection.run(trip))[0]);
          return row ? { connectionId: bigintOf(row[0]), user: textOf(row[1]) } : null;
        };
        return (await find()) ?? (isMariadb ? await findBeside(waitForRow(pool, lockId), find) : null);
      });
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== ACCESS_DENIED) throw error;
      deniedMs = performance.now();
      return null;
    }
  };

  return {
    /** One question at a time, because each needs up to two connections. */
    async rowHolder(lockId) {
      // Whoever asked gets the error.
      while (asking) await asking.catch(() => {});
      asking = ask(lockId).finally(() => {
        asking = null;
      });
      return await asking;
    },
    async waitForRows(lockIds) {
      for (const lockId of lockIds) await waitForRow(pool, lockId);
    },
  };
}

/** MariaDB shows only locks that somebody waits for. So `find` looks while another connection waits for the row. */
async function findBeside(
  waiting: Promise<void>,
  find: () => Promise<RowHolder | null>,
): Promise<RowHolder | null> {
  let isOver = false;
  const probe = waiting.finally(() => {
    isOver = true;
  });
  // It may fail before it is awaited, when the store is closed. Without this, the failure would end the process.
  probe.catch(() => {});
  let found: RowHolder | null = null;
  try {
    for (let look = 0; look < ROW_HOLDER_LOOKS_MAX && !found && !isOver; look++) {
      await sleep(ROW_HOLDER_LOOK_MS);
      found = await find();
    }
  } finally {
    await probe;
  }
  return found;
}

/** Waits for LOCK_WAIT_S at most. If nobody holds the row, the connection gets it, and releases it at once. */
async function waitForRow(pool: MysqlPool, lockId: bigint): Promise<void> {
  try {
    await pool.use((connection) => {
      connection.isPatient = true;
      return query(connection, "row_probe", PROBE, lockId);
    });
  } catch (error) {
    // Somebody holds it, which is the question.
    if (!isRowLocked(error)) throw error;
  }
}
