// Reads the guard rows that were decided about lately, for the feed of changes. Locks nothing and reads along the
// index by the time of the last decision, so idle locks cost nothing. A node of Galera first applies what the cluster
// committed before the read began: otherwise rows could appear later with an earlier time, and no read would find
// them.

import { DECIDED_LIST, pageOf } from "../rows/decided-order.ts";
import { bigintOf } from "../rows/from-rows.ts";
import type { Store } from "../store.ts";
import { addCaughtUp, runCaughtUp } from "./caught-up.ts";
import { type Connection, type Row, Trip } from "./connection/connection.ts";
import { rowsOf } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";
import type { SqlValue } from "./connection/sql-text.ts";
import { NOW_US } from "./statements.ts";

const META = `SELECT ${NOW_US}, epoch FROM rowlock_meta WHERE id = 1`;
const LOCKS = `SELECT ${DECIDED_LIST} FROM rowlock_lock FORCE INDEX (rowlock_lock_idle)`;
// In two branches, so that each is one range of the index.
const DECIDED = `(${LOCKS} WHERE decided_at = ? AND id > ? ORDER BY id LIMIT ?)
  UNION ALL (${LOCKS} WHERE decided_at > ? AND decided_at <= COALESCE(?, ${NOW_US}) ORDER BY decided_at, id LIMIT ?)`;

export function decided(pool: MysqlPool): Pick<Store, "decidedSince"> {
  return {
    async decidedSince({ atUs, afterLockId }, untilUs, max) {
      const values = [atUs, afterLockId, max, atUs, untilUs, max];
      const [[meta], locks] = await pool.use((connection) => metaAndLocks(connection, values));
      if (!meta) throw new Error("The row of rowlock_meta is missing.");
      const [now, epoch] = meta;
      return { nowUs: Number(now), epoch: bigintOf(epoch), ...pageOf(locks, max) };
    },
  };
}

async function metaAndLocks(
  connection: Connection,
  values: readonly SqlValue[],
): Promise<[meta: readonly Row[], locks: readonly Row[]]> {
  const trip = new Trip("decided_since");
  const metaAt = addCaughtUp(connection, trip, META);
  const locksAt = trip.add(DECIDED, ...values);
  const results = await runCaughtUp(connection, trip);
  return [rowsOf(results[metaAt]), rowsOf(results[locksAt])];
}
