// Detects that the database is no longer the server through which the rows were last written, and records a fail-over.
// The rows contain the identity of their server, so a copy that was promoted or restored elsewhere reveals itself, even
// to a replica that has just started.

import { newEpochBy } from "../rows/columns.ts";
import { bytesOf } from "../rows/values.ts";
import type { FailOverNote } from "../store.ts";
import { type Connection, query, type Row } from "./connection/connection.ts";
import type { MysqlPool } from "./connection/pool.ts";
import { Trip } from "./connection/trip.ts";
import { NOW_US, textOf } from "./rows.ts";
import { rowsOf } from "./transaction/in-transaction.ts";

const IDENTITY = "SELECT server_identity FROM rowlock_meta WHERE id = 1";
const ADOPT = "UPDATE rowlock_meta SET server_identity = ? WHERE id = 1 AND server_identity IS NULL";
const LONGEST_TTL = `SELECT COALESCE(MAX(ttl), 0) FROM rowlock_claim FORCE INDEX (rowlock_claim_due) WHERE state = 2`;
// The database evaluates assignments from left to right, after the condition.
const NOTE = `UPDATE rowlock_meta
  SET epoch = ${newEpochBy("GREATEST", "?", NOW_US)}, failed_over_at = ${NOW_US},
    grants_from = GREATEST(grants_from, ${NOW_US} + LEAST(?, GREATEST(?, (${LONGEST_TTL})))),
    server_identity = COALESCE(?, server_identity)
  WHERE id = 1 AND epoch = ?`;
const PAUSE = `SELECT GREATEST(0, CAST(grants_from AS SIGNED) - ${NOW_US}) FROM rowlock_meta WHERE id = 1`;

/** Writes the server's identity to rows that have none yet. Throws a StoreError if the schema is missing. */
export async function adopt(connection: Connection): Promise<void> {
  const [meta] = await query(connection, "identity", IDENTITY);
  if (connection.serverIdentity === null || meta?.[0] !== null) return;
  await query(connection, "adopt", ADOPT, bytesOf(connection.serverIdentity));
}

/** Whether rows with this identity were written through another server than the connection's. */
export function isSuccessor(connection: Connection, identity: Row[number] | undefined): boolean {
  if (identity === null || identity === undefined || connection.serverIdentity === null) return false;
  return textOf(identity) !== connection.serverIdentity;
}

/** Store.failOver. If `seenEpoch` is no longer the epoch, changes nothing and returns what is left of the pause. */
export async function failOver(pool: MysqlPool, note: FailOverNote): Promise<number> {
  const { seenEpoch, epochMin, pauseUsMin, pauseUsMax } = note;
  return pool.write(async (connection) => {
    const identity = connection.serverIdentity === null ? null : bytesOf(connection.serverIdentity);
    const trip = new Trip("fail_over");
    trip.add(NOTE, epochMin, pauseUsMax, pauseUsMin, identity, seenEpoch);
    const pauseAt = trip.add(PAUSE);
    return Number(rowsOf((await connection.run(trip))[pauseAt])[0]?.[0]);
  });
}
