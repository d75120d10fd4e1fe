// What servers know of each other: their register, and the guard rows that any of them decided about lately, for the feed of
// changes.

import { LEVEL_MIN_LIST } from "../rows/columns.ts";
import { bigintOf, levelMinFromRow, type Row, textOf } from "../rows/from-rows.ts";
import { DECIDED_LIST, pageOf } from "../rows/guard-scans.ts";
import type { RegisteredReplica, Store } from "../store.ts";
import { answers, type Query, type Runner, rowsOf, type Steps, timed, written } from "./steps.ts";

const META = "SELECT :now, epoch FROM rowlock_meta WHERE id = 1";
// Each of the two is one range of the index, so idle locks cost nothing.
const DECIDED = `SELECT ${DECIDED_LIST} FROM rowlock_lock FORCE INDEX (rowlock_lock_idle)`;
const DECIDED_AT = `${DECIDED} WHERE decided_at = :atUs AND id > :afterLockId ORDER BY id LIMIT :max`;
const DECIDED_AFTER = `${DECIDED} WHERE decided_at > :atUs AND decided_at <= COALESCE(:untilUs, :now)
  ORDER BY decided_at, id LIMIT :max`;
const REPLICAS = `SELECT id, address, version, secret, started_at, rules_revision, level, deadline
  FROM rowlock_replica ORDER BY started_at, id LIMIT :max`;
const LEVEL_MIN = `SELECT ${LEVEL_MIN_LIST} FROM rowlock_meta WHERE id = 1`;
const RETIRE = "DELETE FROM rowlock_replica WHERE id = :id";
const UNMARK = "DELETE FROM rowlock_witness WHERE id = :id";

export function otherServers(on: Runner) {
  return {
    async decidedSince({ atUs, afterLockId }, untilUs, max) {
      // A node of Galera first applies what the cluster committed before: otherwise rows could appear later with an earlier
      // time, and no read would find them.
      const queries: Query[] = [
        [DECIDED_AT, { atUs, afterLockId, max }],
        [DECIDED_AFTER, { atUs, untilUs, max }],
      ];
      const lists: Query[][] = [[[META]], queries];
      const [[meta] = [], rows = []] = await on.read(
        answers({ name: "decided_since", lists, isCaughtUp: true }),
      );
      if (!meta) throw new Error("The row of rowlock_meta is missing.");
      return { nowUs: Number(meta[0]), epoch: bigintOf(meta[1]), ...pageOf(rows, max) };
    },

    async replicas(max) {
      const { nowUs, rows } = await on.read(timed("replicas", [REPLICAS, { max }]));
      return { nowUs, replicas: rows.map(replicaFromRow) };
    },

    levelMin: async () => levelMinFromRow((await on.read(rowsOf("level_min", [LEVEL_MIN])))[0]),

    retire: (replica) => on.write(retire(replica)),
  } satisfies Partial<Store>;
}

function* retire(id: bigint): Steps<void> {
  yield* written("retire", RETIRE, { id });
  yield* written("retire", UNMARK, { id });
}

/** A row of REPLICAS. */
function replicaFromRow(row: Row): RegisteredReplica {
  return {
    id: bigintOf(row[0]),
    address: textOf(row[1]),
    version: textOf(row[2]),
    secret: textOf(row[3]),
    sinceUs: Number(row[4]),
    rulesRevision: bigintOf(row[5]),
    level: Number(row[6]),
    deadlineUs: Number(row[7]),
  };
}
