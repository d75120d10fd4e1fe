// The small writes outside decisions: signs of life of waiters and replicas, marks of witnesses, and changes that no
// transaction of a lock makes. None of them changes what a decision rests on, so none waits for a guard row.

import { setTimeout as sleep } from "node:timers/promises";
import { type ClaimKey, type ClaimRef, keyText } from "../../core/claim.ts";
import type { DatabaseClock } from "../../core/database-clock.ts";
import { LEVEL } from "../../core/level.ts";
import { LATEST_MIGRATION } from "../fleet.ts";
import { claimKeyFromRow } from "../rows/from-rows.ts";
import { CHANGE_COLUMNS, changeValuesAfterTime } from "../rows/kept-changes.ts";
import { bytesOf } from "../rows/values.ts";
import { MARK_AGAIN_MS } from "../storage-bounds.ts";
import { type Store, WITNESS_KEPT_US } from "../store.ts";
import { type Connection, query, rowsOf, Trip, writtenBy } from "./connection/connection.ts";
import { inTransaction, repeatedly } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";
import { askWhetherUsable, mustBeUsable } from "./connection/usable-server.ts";
import type { LockCache } from "./lock-cache.ts";
import { monotonicUs, NOW_US, waitsAt, waitsWithSecret } from "./statements.ts";

// Also extends a place that has run out but that no decision has ended: the claim still waits, and its stream is
// connected. Never sets a deadline earlier, because next_deadline would then be no lower bound.
const HEARTBEAT = `UPDATE rowlock_claim FORCE INDEX (PRIMARY)
  SET deadline = GREATEST(deadline, LEAST(${NOW_US} + ?, COALESCE(wait_until, ${NOW_US} + ?))), replica = ?
  WHERE state = 1 AND`;
const STILL_WAITING = `SELECT lock_id, ticket_number FROM rowlock_claim FORCE INDEX (PRIMARY)
  WHERE state = 1 AND`;
const REGISTER = `INSERT INTO rowlock_replica
  (id, address, version, secret, level, knows_migration, started_at, rules_revision, deadline)
  VALUES (?, ?, ?, ?, ?, ?, ${NOW_US}, ?, ${NOW_US} + ?)
  ON DUPLICATE KEY UPDATE address = ?, version = ?, rules_revision = ?, deadline = ${NOW_US} + ?`;
const FORGET = `DELETE FROM rowlock_replica WHERE deadline <= ${NOW_US} LIMIT 100`;
const MARK = `UPDATE rowlock_witness SET mark = ?, written_at = ${NOW_US} WHERE id = ? AND mark IN (?)`;
const MARK_ANEW = `INSERT INTO rowlock_witness (id, mark, written_at) VALUES (?, ?, ${NOW_US})
  ON DUPLICATE KEY UPDATE mark = ?, written_at = ${NOW_US}`;
const FORGET_MARKS = `DELETE FROM rowlock_witness WHERE written_at <= ${NOW_US} - ? LIMIT 100`;
const ADD_CHANGE = `INSERT INTO rowlock_change (${CHANGE_COLUMNS}) VALUES (${NOW_US}, ?)`;
const KNOWN = bytesOf(LATEST_MIGRATION);

/** The claims whose places were extended, and those that still wait but whose rows another transaction holds. */
interface Heartbeat {
  readonly kept: readonly ClaimRef[];
  readonly skipped: readonly ClaimKey[];
}

export function maintenance(pool: MysqlPool, cache: LockCache, clock: DatabaseClock) {
  return {
    async heartbeat(replica, claims, keepForUs) {
      if (claims.length === 0) return [];
      const beforeUs = clock.earliestUs(monotonicUs());
      const { kept, skipped } = await repeatedly(pool, async (connection): Promise<Heartbeat> => {
        if (connection.skipsLocked)
          return inTransaction(connection, () => prolongFree(connection, replica, claims, keepForUs));
        const trip = new Trip("heartbeat");
        addHeartbeat(trip, replica, claims, keepForUs);
        await connection.run(trip);
        return { kept: claims, skipped: [] };
      });
      if (beforeUs !== null) cache.prolonged(replica, kept, beforeUs + keepForUs);
      return skipped;
    },

    async register(replica, keepForUs, rulesRevision) {
      const { id, address, version, secret } = replica;
      const trip = new Trip("register");
      const usableAt = askWhetherUsable(trip);
      const place = [bytesOf(address), bytesOf(version)];
      const changing = [rulesRevision, keepForUs];
      trip.add(REGISTER, id, ...place, bytesOf(secret), LEVEL, KNOWN, ...changing, ...place, ...changing);
      trip.add(FORGET);
      await repeatedly(pool, async (connection) => {
        await mustBeUsable(connection, await connection.run(trip), usableAt);
      });
    },

    async mark(witness, expected, mark) {
      const trip = new Trip("mark");
      if (expected) trip.add(MARK, mark, witness, [...expected, mark]);
      else {
        trip.add(MARK_ANEW, witness, mark, mark);
        trip.add(FORGET_MARKS, WITNESS_KEPT_US);
      }
      const clockAt = trip.add(`SELECT ${NOW_US}`);
      const write = async () => {
        const results = await repeatedly(pool, (connection) => connection.run(trip));
        const nowUs = Number(rowsOf(results[clockAt])[0]?.[0]);
        return { isDone: expected === null || writtenBy(results[0]) > 0, nowUs };
      };
      const written = await write();
      // This node of a cluster may not have applied yet what another node has acknowledged, so try once more.
      if (written.isDone || !pool.isCluster) return written;
      await sleep(MARK_AGAIN_MS);
      return write();
    },

    async noteChange(change) {
      const values = changeValuesAfterTime(change);
      await repeatedly(pool, (connection) => query(connection, "note_change", ADD_CHANGE, values));
    },
  } satisfies Partial<Store>;
}

/** Even if the database rolled the transaction back half-way, each statement would be right by itself. */
async function prolongFree(
  connection: Connection,
  replica: bigint,
  claims: readonly ClaimRef[],
  keepForUs: number,
): Promise<Heartbeat> {
  const load = new Trip("heartbeat_load");
  const all = waitsAt(claims);
  load.add("START TRANSACTION");
  const lockedAt = load.add(`${STILL_WAITING} ${all.sql} FOR UPDATE SKIP LOCKED`, ...all.values);
  const rows = rowsOf((await connection.run(load))[lockedAt]);
  const locked = new Set(rows.map(claimKeyFromRow).map(keyText));
  const { kept = [], missing = [] } = Object.groupBy(claims, (claim) =>
    locked.has(keyText(claim)) ? "kept" : "missing",
  );
  const trip = new Trip("heartbeat");
  if (kept.length > 0) addHeartbeat(trip, replica, kept, keepForUs);
  const left = missing.length > 0 ? waitsWithSecret(missing) : null;
  const leftAt = left && trip.add(`${STILL_WAITING} ${left.sql}`, ...left.values);
  trip.addCommit();
  const results = await connection.run(trip);
  return { kept, skipped: leftAt === null ? [] : rowsOf(results[leftAt]).map(claimKeyFromRow) };
}

function addHeartbeat(trip: Trip, replica: bigint, claims: readonly ClaimRef[], keepForUs: number): void {
  const { sql, values } = waitsWithSecret(claims);
  trip.add(`${HEARTBEAT} ${sql}`, keepForUs, keepForUs, replica, ...values);
}
