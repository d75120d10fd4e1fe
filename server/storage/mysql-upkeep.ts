// The small writes outside decisions: signs of life of waiters and replicas, and the deletion of what nobody needs any
// more. None of them changes what a decision rests on, so none takes a guard row.

import type { ClaimKey } from "../core/claim.ts";
import { mustBeWritable, WRITABLE } from "./mysql-connect.ts";
import { hasKey } from "./mysql-keys.ts";
import type { MysqlPool } from "./mysql-pool.ts";
import { repeatedly } from "./mysql-repeat.ts";
import { bigintOf, NOW_US } from "./mysql-rows.ts";
import { rowsOf, writtenBy } from "./mysql-transaction.ts";
import { Trip } from "./mysql-trip.ts";
import { bytesOf } from "./row-values.ts";
import type { ReplicaRow } from "./store.ts";
import { StoreError } from "./store.ts";

// Prolongs a place, too, that has run out but that nobody has ended yet: it still waits, and its stream is there.
const HEARTBEAT = `UPDATE rowlock_claim FORCE INDEX (PRIMARY)
  SET deadline = LEAST(${NOW_US} + ?, COALESCE(wait_until, ${NOW_US} + ?)), replica = ?
  WHERE state = 1 AND`;
const BEAT = `INSERT INTO rowlock_replica (id, address, version, started_at, deadline)
  VALUES (?, ?, ?, ${NOW_US}, ${NOW_US} + ?)
  ON DUPLICATE KEY UPDATE address = ?, version = ?, deadline = ${NOW_US} + ?`;
const FORGET = `DELETE FROM rowlock_replica WHERE deadline <= ${NOW_US} LIMIT 100`;
const RETIRE = "DELETE FROM rowlock_replica WHERE id = ?";
const ENDED = `SELECT lock_id, ticket_number FROM rowlock_claim FORCE INDEX (rowlock_claim_due)
  WHERE state = 3 AND deadline <= ${NOW_US} ORDER BY deadline LIMIT ?`;
const PURGE = "DELETE rowlock_claim FROM rowlock_claim FORCE INDEX (PRIMARY) WHERE state = 3 AND";

export async function heartbeat(
  pool: MysqlPool,
  replica: bigint,
  keys: readonly ClaimKey[],
  keepForUs: number,
): Promise<void> {
  if (keys.length === 0) return;
  const trip = new Trip("heartbeat");
  const key = hasKey(keys);
  trip.add(`${HEARTBEAT} ${key.sql}`, keepForUs, keepForUs, replica, ...key.values);
  await repeatedly(pool, (session) => session.run(trip));
}

export async function beat(pool: MysqlPool, replica: ReplicaRow, keepForUs: number): Promise<void> {
  const { id } = replica;
  const address = bytesOf(replica.address);
  const version = bytesOf(replica.version);
  const trip = new Trip("beat");
  const writableAt = trip.add(WRITABLE);
  trip.add(BEAT, id, address, version, keepForUs, address, version, keepForUs);
  trip.add(FORGET);
  try {
    await repeatedly(pool, async (session) => mustBeWritable((await session.run(trip))[writableAt]));
  } catch (error) {
    // It was switched over under our connections, which this user's rights might let it go on writing through.
    if (error instanceof StoreError && error.reason === "read_only") pool.renew();
    throw error;
  }
}

export async function retire(pool: MysqlPool, replica: bigint): Promise<void> {
  const trip = new Trip("retire");
  trip.add(RETIRE, replica);
  await repeatedly(pool, (session) => session.run(trip));
}

/** Looks first and deletes by primary key, so that it locks nothing but what it deletes. */
export async function purgeClaims(pool: MysqlPool, max: number): Promise<number> {
  const look = new Trip("ended_claims");
  look.add(ENDED, max);
  const [ended] = await pool.use((session) => session.run(look));
  const keys = rowsOf(ended).map(([lockId, ticketNumber]) => ({
    lockId: bigintOf(lockId),
    ticketNumber: bigintOf(ticketNumber),
  }));
  if (keys.length === 0) return 0;
  const purge = new Trip("purge_claims");
  const key = hasKey(keys);
  purge.add(`${PURGE} ${key.sql}`, ...key.values);
  const [purged] = await repeatedly(pool, (session) => session.run(purge));
  return writtenBy(purged);
}
