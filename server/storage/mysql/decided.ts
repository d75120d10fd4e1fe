// The guard rows that were decided about lately, for those who watch locks. Takes no locks, and reads along the index by the
// time of the last decision: locks that lie still cost nothing.

import { pageOf } from "../rows/decided-page.ts";
import type { Store } from "../store.ts";
import type { MysqlPool } from "./connection/pool.ts";
import { Trip } from "./connection/trip.ts";
import { bigintOf, NOW_US, textOf } from "./rows.ts";
import { rowsOf } from "./transaction/in-transaction.ts";

const FACTS = `SELECT ${NOW_US}, epoch, rules_revision FROM rowlock_meta WHERE id = 1`;
const LOCKS = `SELECT id, name, revision, holders, waiting, decided_at
  FROM rowlock_lock FORCE INDEX (rowlock_lock_idle)`;
// In two branches, each of which is a range of the index.
const DECIDED = `(${LOCKS} WHERE decided_at = ? AND id > ? ORDER BY id LIMIT ?)
  UNION ALL (${LOCKS} WHERE decided_at > ? AND decided_at <= LEAST(?, ${NOW_US}) ORDER BY decided_at, id LIMIT ?)`;
const UNTIL_NOW = 2n ** 63n - 1n;

export function decided(pool: MysqlPool): Pick<Store, "decidedSince"> {
  return {
    async decidedSince({ atUs, afterLockId }, untilUs, max) {
      const trip = new Trip("decided_since");
      const factsAt = trip.add(FACTS);
      const locksAt = trip.add(DECIDED, atUs, afterLockId, max, atUs, untilUs ?? UNTIL_NOW, max);
      const results = await pool.use((session) => session.run(trip));
      const [facts] = rowsOf(results[factsAt]);
      if (!facts) throw new Error("The row of rowlock_meta is missing.");
      const [now, epoch, rulesRevision] = facts;
      const rows = rowsOf(results[locksAt]).map(([id, name, revision, holders, waiting, decidedAt]) => ({
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
