// Reads outside transactions: for polls, for the sweep and for display. Locks nothing. A result may be outdated when it
// is used, so code that acts on it must decide again.

import { partsOf } from "../../core/bounds.ts";
import type { Claim } from "../../core/claim.ts";
import type { DatabaseClock } from "../../core/database-clock.ts";
import type { Lock } from "../../core/lock.ts";
import { CLAIM_LIST, LOCK_LIST, REPLICAS, waitedLocksBy } from "../rows/columns.ts";
import {
  bigintOf,
  claimFromRow,
  countersFromRow,
  guardFromRow,
  hasRecord,
  placeFromRow,
  replicaFromRow,
  waitedLockFromRow,
} from "../rows/from-rows.ts";
import { bytesOf, rangeAfter, STATE_CODES } from "../rows/values.ts";
import { BRANCHES_MAX, LIST_ROWS_MAX } from "../storage-bounds.ts";
import type { LockView, Polled, Store } from "../store.ts";
import { type Connection, query, type Row, type SqlValue, Trip } from "./connection/connection.ts";
import type { MysqlPool } from "./connection/pool.ts";
import { readRules } from "./meta.ts";
import { hasKey, monotonicUs, NOW_US, RECORDS } from "./statements.ts";
import { onSnapshot, rowsOf } from "./transaction/in-transaction.ts";
import { recordsOf } from "./transaction/records.ts";

const CLOCK = `SELECT ${NOW_US}`;
const LIVE_AND_DUE = `rowlock_claim FORCE INDEX (rowlock_claim_due)
  WHERE state IN (1, 2) AND deadline <= ${NOW_US}`;
const WAKES = `rowlock_record FORCE INDEX (rowlock_record_wake) WHERE wakes_at <= ${NOW_US}`;
const WAKES_IN = `IF(has_record = 1, (SELECT r.wakes_at FROM rowlock_record r WHERE r.lock_id = id) - ${NOW_US}, NULL)`;
const RULES_REVISION = "SELECT NULL, rules_revision, NULL FROM rowlock_meta WHERE id = 1";
const POLL = `${RULES_REVISION} UNION ALL SELECT id, revision, ${WAKES_IN} FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id IN (?)
  UNION ALL SELECT lock_id, NULL, MIN(deadline) - ${NOW_US} FROM ${LIVE_AND_DUE} + ? AND lock_id IN (?) GROUP BY lock_id
  UNION ALL SELECT l.id, NULL, 0 FROM rowlock_meta m JOIN rowlock_lock l FORCE INDEX (PRIMARY)
    ON l.decided_at < m.grants_from AND l.waiting > 0
    WHERE m.id = 1 AND m.grants_from > 0 AND m.grants_from <= ${NOW_US} AND l.id IN (?)`;
const DUE_LOCKS = `(SELECT DISTINCT lock_id FROM ${LIVE_AND_DUE} AND lock_id > ? ORDER BY lock_id LIMIT ?)
  UNION (SELECT lock_id FROM ${WAKES} AND lock_id > ? ORDER BY lock_id LIMIT ?) ORDER BY lock_id LIMIT ?`;
const CLAIMS = `SELECT ${CLAIM_LIST} FROM rowlock_claim FORCE INDEX (PRIMARY) WHERE`;
const BY_REQUEST = `SELECT ${CLAIM_LIST} FROM rowlock_claim FORCE INDEX (rowlock_claim_request) WHERE request_id IN (?)`;
const QUEUE = `SELECT ticket_number, permits FROM rowlock_claim FORCE INDEX (rowlock_claim_queue)
  WHERE lock_id = ? AND state = 1 ORDER BY ticket_number`;
const IN_STATE = `SELECT ${CLAIM_LIST} FROM rowlock_claim FORCE INDEX (rowlock_claim_queue)
  WHERE lock_id = ? AND state = ? ORDER BY ticket_number LIMIT ?`;
const LOCK = `SELECT ${LOCK_LIST} FROM rowlock_lock l WHERE l.name = ?`;
const LOCKS = `SELECT ${LOCK_LIST} FROM rowlock_lock l WHERE l.id IN (?)`;
const UNDER_PREFIX = `SELECT ${LOCK_LIST} FROM rowlock_lock l FORCE INDEX (rowlock_lock_name)
  WHERE l.name >= ? AND l.name < ?`;
const WHICH = {
  all: "",
  busy: "AND (l.holders > 0 OR l.waiting > 0)",
  limited: "AND l.limit_value IS NOT NULL",
};
const WAITING = "FORCE INDEX (rowlock_claim_due)";
const WAITED_LOCKS = {
  longest_wait: waitedLocksBy(WAITING, "longest_wait"),
  most_waiters: waitedLocksBy(WAITING, "most_waiters"),
};

export function reads(pool: MysqlPool, clock: DatabaseClock) {
  const read = (name: string, sql: string, ...values: readonly SqlValue[]) =>
    pool.use((connection) => query(connection, name, sql, ...values));
  return {
    async poll(lockIds, aheadUs) {
      const revisions = new Map<bigint, bigint>();
      const dueIn = new Map<bigint, number>();
      let rulesRevision = -1n;
      const rows =
        lockIds.length === 0
          ? await read("watch_rules", RULES_REVISION)
          : await read("watch", POLL, lockIds, aheadUs, lockIds, lockIds);
      for (const [id, revision, inUs] of rows) {
        if (id === null) {
          rulesRevision = bigintOf(revision);
          continue;
        }
        const lockId = bigintOf(id);
        if (revision !== null) revisions.set(lockId, bigintOf(revision));
        if (inUs === null || Number(inUs) > aheadUs) continue;
        dueIn.set(lockId, Math.min(Number(inUs), dueIn.get(lockId) ?? Number.POSITIVE_INFINITY));
      }
      return polledOf(revisions, dueIn, rulesRevision);
    },

    async dueLocks(afterLockId, max) {
      const askedUs = monotonicUs();
      const { nowUs, rows } = await timed(
        pool,
        "due_locks",
        DUE_LOCKS,
        ...[afterLockId, max, afterLockId, max, max],
      );
      clock.read(nowUs, askedUs, monotonicUs());
      return { nowUs, lockIds: rows.map(([id]) => bigintOf(id)) };
    },

    async claims(keys) {
      if (keys.length === 0) return claimsAt(await timed(pool, "clock"));
      const key = hasKey(keys);
      return claimsAt(await timed(pool, "claims", `${CLAIMS} ${key.sql}`, ...key.values));
    },

    async claimsByRequest(requestIds) {
      if (requestIds.length === 0) return claimsAt(await timed(pool, "clock"));
      return claimsAt(await timed(pool, "claims_by_request", BY_REQUEST, requestIds.map(bytesOf)));
    },

    async queue(lockId) {
      const { nowUs, rows } = await timed(pool, "queue", QUEUE, lockId);
      return { nowUs, places: rows.map(placeFromRow) };
    },

    // In order of ticket numbers, which is the order of grants.
    async holders(lockId, max) {
      return claimsAt(await timed(pool, "holders", IN_STATE, lockId, STATE_CODES.held, max));
    },

    async list({ prefix, afterName, max, which }) {
      const { from, below } = rangeAfter(prefix, afterName);
      const rowsMax = Math.min(max, LIST_ROWS_MAX);
      const sql = `${UNDER_PREFIX} ${WHICH[which]} ORDER BY l.name LIMIT ?`;
      const locks = (await read("list", sql, from, below, rowsMax)).map(guardFromRow);
      return { locks, next: locks.length === rowsMax ? (locks.at(-1)?.name ?? null) : null };
    },

    async waitedLocks(prefix, order, max) {
      const { from, below } = rangeAfter(prefix, null);
      return (await read("waited_locks", WAITED_LOCKS[order], from, below, max)).map(waitedLockFromRow);
    },

    async views(ids, shown) {
      if (ids.length === 0) return [];
      const found = await onSnapshotViews(pool, shown, "views", LOCKS, ids);
      const byId = new Map(found.map((view) => [view.lock.id, view]));
      return ids.flatMap((id) => byId.get(id) ?? []);
    },

    async view(name, shown) {
      const [view] = await onSnapshotViews(pool, shown, "view", LOCK, bytesOf(name));
      return view ?? null;
    },

    async limitRules() {
      const { limitRules } = await pool.use(readRules);
      return limitRules;
    },

    async replicas(max) {
      const { nowUs, rows } = await timed(pool, "replicas", `${REPLICAS} ?`, max);
      return { nowUs, replicas: rows.map(replicaFromRow) };
    },
  } satisfies Partial<Store>;
}

/** `dueIn`: for each lock that has something due soon, in how many microseconds. */
function polledOf(
  revisions: Map<bigint, bigint>,
  dueIn: ReadonlyMap<bigint, number>,
  rulesRevision: bigint,
): Polled {
  const polled: Polled = { revisions, due: [], dueSoon: new Map(), rulesRevision };
  for (const [lockId, inUs] of dueIn) {
    if (inUs > 0) polled.dueSoon.set(lockId, inUs);
    else polled.due.push(lockId);
  }
  return polled;
}

function claimsAt({ nowUs, rows }: Timed): { nowUs: number; claims: Claim[] } {
  return { nowUs, claims: rows.map(claimFromRow) };
}

/** Returns locks with their first holders and waiters, all as of one moment. */
function onSnapshotViews(
  pool: MysqlPool,
  shown: number,
  name: string,
  sql: string,
  ...values: readonly SqlValue[]
): Promise<LockView[]> {
  return pool.use((connection) =>
    onSnapshot(connection, async () => {
      const locks = await withRecords(connection, await query(connection, name, sql, ...values));
      const claims = shown > 0 ? await firstClaims(connection, locks, shown) : [];
      const claimsOf = Map.groupBy(claims, ({ lockId }) => lockId);
      return locks.map((lock) => {
        const own = claimsOf.get(lock.id) ?? [];
        return {
          lock,
          holders: own.filter(({ state }) => state === "held"),
          waiters: own.filter(({ state }) => state === "waiting"),
        };
      });
    }),
  );
}

/** Returns the locks of these guard rows, with their records. */
async function withRecords(connection: Connection, rows: readonly Row[]): Promise<Lock[]> {
  const recorded = rows.filter(hasRecord).map(([id]) => bigintOf(id));
  const guards = rows.map(countersFromRow);
  if (recorded.length === 0) return guards.map((guard) => ({ ...guard, record: null }));
  const records = recordsOf(recorded, await query(connection, "shown_records", RECORDS, recorded));
  return guards.map((guard) => ({ ...guard, record: records.get(guard.id) ?? null }));
}

/** Skips queues and holders that are empty according to the counters. */
async function firstClaims(connection: Connection, locks: readonly Lock[], shown: number): Promise<Claim[]> {
  const wanted = locks.flatMap((lock) => [
    ...(lock.holders > 0 ? [[lock.id, STATE_CODES.held] as const] : []),
    ...(lock.waiting > 0 ? [[lock.id, STATE_CODES.waiting] as const] : []),
  ]);
  const claims: Claim[] = [];
  for (const part of partsOf(wanted, BRANCHES_MAX)) {
    const sql = part.map(() => `(${IN_STATE})`).join(" UNION ALL ");
    const values = part.flatMap(([id, state]) => [id, state, shown]);
    claims.push(...(await query(connection, "shown_claims", sql, ...values)).map(claimFromRow));
  }
  // Each branch is in order, but SQL does not guarantee the order of the union.
  return claims.sort((a, b) => (a.ticketNumber < b.ticketNumber ? -1 : 1));
}

interface Timed {
  readonly nowUs: number;
  readonly rows: readonly Row[];
}

/** Returns rows and a clock that was read after them, so that no remaining time is reported too long. */
async function timed(
  pool: MysqlPool,
  name: string,
  sql?: string,
  ...values: readonly SqlValue[]
): Promise<Timed> {
  const trip = new Trip(name);
  const rowsAt = sql === undefined ? null : trip.add(sql, ...values);
  const clockAt = trip.add(CLOCK);
  const results = await pool.use((connection) => connection.run(trip));
  return {
    nowUs: Number(rowsOf(results[clockAt])[0]?.[0]),
    rows: rowsAt === null ? [] : rowsOf(results[rowsAt]),
  };
}
