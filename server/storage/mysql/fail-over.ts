// Notices that the database is no longer the server through which the rows were last written, and writes that down. The
// rows carry the identity of their server, so a copy of them that is promoted or restored elsewhere tells of itself,
// also to a replica that has just started.

import { newEpochBy } from "../rows/columns.ts";
import { bytesOf } from "../rows/values.ts";
import type { FailOverNote } from "../store.ts";
import type { MysqlPool } from "./connection/pool.ts";
import type { Row, Session } from "./connection/session.ts";
import { Trip } from "./connection/trip.ts";
import { NOW_US, textOf } from "./rows.ts";
import { rowsOf } from "./transaction/in-transaction.ts";

const IDENTITY = "SELECT server_identity FROM rowlock_meta WHERE id = 1";
const ADOPT = "UPDATE rowlock_meta SET server_identity = ? WHERE id = 1 AND server_identity IS NULL";
const LONGEST_TTL = `SELECT COALESCE(MAX(ttl), 0) FROM rowlock_claim FORCE INDEX (rowlock_claim_due) WHERE state = 2`;
// Assignments are made from left to right, and the condition is tested before.
const NOTE = `UPDATE rowlock_meta
  SET epoch = ${newEpochBy("GREATEST", "?", NOW_US)}, failed_over_at = ${NOW_US},
    grants_from = GREATEST(grants_from, ${NOW_US} + LEAST(?, GREATEST(?, (${LONGEST_TTL})))),
    server_identity = COALESCE(?, server_identity)
  WHERE id = 1 AND epoch = ?`;
const PAUSE = `SELECT GREATEST(0, CAST(grants_from AS SIGNED) - ${NOW_US}) FROM rowlock_meta WHERE id = 1`;

/** Writes the server's identity to rows that have none yet. Fails where there is no schema. */
export async function adopt(session: Session): Promise<void> {
  const look = new Trip("identity");
  look.add(IDENTITY);
  const [rows] = await session.run(look);
  if (session.serverIdentity === null || rowsOf(rows)[0]?.[0] !== null) return;
  const write = new Trip("adopt");
  write.add(ADOPT, bytesOf(session.serverIdentity));
  await session.run(write);
}

/** Whether rows with this identity come from another server than the one of the session. */
export function isSuccessor(session: Session, identity: Row[number] | undefined): boolean {
  if (identity === null || identity === undefined || session.serverIdentity === null) return false;
  return textOf(identity) !== session.serverIdentity;
}

export async function failOver(pool: MysqlPool, note: FailOverNote): Promise<number> {
  const { seenEpoch, epochMin, pauseUsMin, pauseUsMax } = note;
  return pool.write(async (session) => {
    const identity = session.serverIdentity === null ? null : bytesOf(session.serverIdentity);
    const trip = new Trip("fail_over");
    trip.add(NOTE, epochMin, pauseUsMax, pauseUsMin, identity, seenEpoch);
    const pauseAt = trip.add(PAUSE);
    return Number(rowsOf((await session.run(trip))[pauseAt])[0]?.[0]);
  });
}
