// Reads the guard rows that were decided about lately, for watches. Locks nothing and reads along the index by the time
// of the last decision, so idle locks cost nothing. A node of Galera first applies what the cluster committed before
// the read began: otherwise rows could appear later with an earlier time, and no read would find them.

import { pageOf } from "../rows/decided-page.ts";
import type { Store } from "../store.ts";
import type { MysqlPool } from "./connection/pool.ts";
import type { Row, Session } from "./connection/session.ts";
import { type SqlValue, Trip } from "./connection/trip.ts";
import { bigintOf, NOW_US, textOf } from "./rows.ts";
import { rowsOf } from "./transaction/in-transaction.ts";

const FACTS = `SELECT ${NOW_US}, epoch, rules_revision FROM rowlock_meta WHERE id = 1`;
const LOCKS = `SELECT id, name, revision, holders, waiting, decided_at
  FROM rowlock_lock FORCE INDEX (rowlock_lock_idle)`;
// In two branches, so that each is one range of the index.
const DECIDED = `(${LOCKS} WHERE decided_at = ? AND id > ? ORDER BY id LIMIT ?)
  UNION ALL (${LOCKS} WHERE decided_at > ? AND decided_at <= LEAST(?, ${NOW_US}) ORDER BY decided_at, id LIMIT ?)`;
const UNTIL_NOW = 2n ** 63n - 1n;
const CATCH_UP = "SET SESSION wsrep_sync_wait = 1";
const NO_MORE = "SET SESSION wsrep_sync_wait = DEFAULT";

export function decided(pool: MysqlPool): Pick<Store, "decidedSince"> {
  return {
    async decidedSince({ atUs, afterLockId }, untilUs, max) {
      const values = [atUs, afterLockId, max, atUs, untilUs ?? UNTIL_NOW, max];
      const [[facts], locks] = await pool.use((session) => factsAndLocks(session, values));
      if (!facts) throw new Error("The row of rowlock_meta is missing.");
      const [now, epoch, rulesRevision] = facts;
      const rows = locks.map(([id, name, revision, holders, waiting, decidedAt]) => ({
        id: bigintOf(id),
        name: textOf(name),
        revision: bigintOf(revision),
        holders: Number(holders),
        waiting: Number(waiting),
        decidedAtUs: Number(decidedAt),
      }));
      return {
        nowUs: Number(now),
        epoch: bigintOf(epoch),
        rulesRevision: bigintOf(rulesRevision),
        ...pageOf(rows, max),
      };
    },
  };
}

async function factsAndLocks(
  session: Session,
  values: readonly SqlValue[],
): Promise<[facts: readonly Row[], locks: readonly Row[]]> {
  const trip = new Trip("decided_since");
  if (session.mayLag) trip.add(CATCH_UP);
  const factsAt = trip.add(FACTS);
  if (session.mayLag) trip.add(NO_MORE);
  const locksAt = trip.add(DECIDED, ...values);
  try {
    const results = await session.run(trip);
    return [rowsOf(results[factsAt]), rowsOf(results[locksAt])];
  } catch (error) {
    // After a failure the session may keep wsrep_sync_wait = 1, and a later decision on it must not wait for the node
    // to catch up.
    if (session.mayLag) session.destroy(error);
    throw error;
  }
}
