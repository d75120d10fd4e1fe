// Reads outside transactions: for polls, for the sweep and for display. Only the sweep locks rows, to write bounds. A result may be outdated when it
// is used, so code that acts on it must decide again.

import { partsOf } from "../../core/bounds.ts";
import { type Claim, inOrder } from "../../core/claim.ts";
import type { DatabaseClock } from "../../core/database-clock.ts";
import type { Lock } from "../../core/lock.ts";
import { ROLLED_BACK, retry } from "../retry.ts";
import {
  CLAIM_LIST,
  CLAIMS_OF_PRINCIPALS,
  earliestDeadlineBy,
  exactBoundBy,
  HAS_HOLDER,
  HISTORY_LIST,
  HOLDER_LIST,
  LOCK_LIST,
  RECORDS_OF_PRINCIPALS,
  REPLICAS,
  waitedLocksBy,
} from "../rows/columns.ts";
import { boundFromRow, dueStep, isStale } from "../rows/due-locks.ts";
import {
  bigintOf,
  claimFromRow,
  claimsOfPrincipalFromRow,
  countersFromRow,
  guardFromRow,
  hasRecord,
  placeFromRow,
  recordsOf,
  recordsOfPrincipalFromRow,
  replicaFromRow,
  waitedLockFromRow,
} from "../rows/from-rows.ts";
import { HOLDERS_IN_ORDER, WAITERS_IN_ORDER, waitingPlaceIn } from "../rows/places.ts";
import { bytesOf, rangeAfter } from "../rows/values.ts";
import { BRANCHES_MAX, LIST_ROWS_MAX } from "../storage-bounds.ts";
import type { LockView, Polled, Store } from "../store.ts";
import { addCaughtUp, runCaughtUp } from "./caught-up.ts";
import { type Connection, query, type Row, Trip } from "./connection/connection.ts";
import { inTransaction, onSnapshot, rowsOf } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";
import type { SqlValue } from "./connection/sql-text.ts";
import { readRules } from "./meta.ts";
import { type Branch, claimsByKey, claimsByRequest, monotonicUs, NOW_US, RECORDS } from "./statements.ts";
import { mustStillBeOpen, WHILE_OPEN } from "./transaction/assertions.ts";

const CLOCK = `SELECT ${NOW_US}`;
const WAKES = `rowlock_record FORCE INDEX (rowlock_record_wake) WHERE wakes_at <= ${NOW_US}`;
const WAKES_IN = `IF(has_record = 1, (SELECT r.wakes_at FROM rowlock_record r WHERE r.lock_id = id) - ${NOW_US}, NULL)`;
const RULES_REVISION = "SELECT NULL, rules_revision, NULL FROM rowlock_meta WHERE id = 1";
const POLL = `${RULES_REVISION} UNION ALL SELECT id, revision, ${WAKES_IN} FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id IN (?)
  UNION ALL SELECT l.id, NULL, ${earliestDeadlineBy("LEAST")} - ${NOW_US} FROM rowlock_lock l FORCE INDEX (PRIMARY)
    WHERE l.id IN (?) AND l.next_deadline <= ${NOW_US} + ?
  UNION ALL SELECT l.id, NULL, 0 FROM rowlock_meta m JOIN rowlock_lock l FORCE INDEX (PRIMARY)
    ON l.decided_at < m.grants_from AND l.waiting > 0
    WHERE m.id = 1 AND m.grants_from > 0 AND m.grants_from <= ${NOW_US} AND l.id IN (?)`;
const EXACT_BOUND = exactBoundBy("LEAST");
const PASSED = `SELECT l.id, ${EXACT_BOUND} FROM
  (SELECT id FROM rowlock_lock FORCE INDEX (rowlock_lock_due) WHERE next_deadline <= ${NOW_US} AND id > ? ORDER BY id LIMIT ?) p
  JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = p.id ORDER BY l.id`;
const WOKEN = `SELECT lock_id FROM ${WAKES} AND lock_id > ? ORDER BY lock_id LIMIT ?`;
const STALE_LOCK = "SELECT id FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY id FOR UPDATE";
// A statement of its own after the row locks, so that it sees every claim that was committed before them.
const WRITE_BOUNDS = `UPDATE rowlock_lock l FORCE INDEX (PRIMARY) SET l.next_deadline = ${EXACT_BOUND}
  WHERE l.id IN (?) ${WHILE_OPEN}`;
const LISTS = { holder: HOLDER_LIST, claim: CLAIM_LIST, history: HISTORY_LIST };
const CLAIMS = `SELECT ${CLAIM_LIST} FROM rowlock_claim c FORCE INDEX (PRIMARY) WHERE c.lock_id = ?`;
const QUEUE = `SELECT c.ticket_number, c.permits FROM rowlock_claim c FORCE INDEX (PRIMARY)
  WHERE c.lock_id = ? AND ${WAITERS_IN_ORDER}`;
const FIRST_HOLDER = `SELECT ${HOLDER_LIST} FROM rowlock_lock l FORCE INDEX (PRIMARY) WHERE l.id = ? AND ${HAS_HOLDER}`;
const HOLDERS_AFTER = `${CLAIMS} AND c.ticket_number > ? AND ${HOLDERS_IN_ORDER} LIMIT ?`;
const WAITERS_AFTER = `${CLAIMS} AND c.place > ${waitingPlaceIn("?")} AND ${WAITERS_IN_ORDER} LIMIT ?`;
const HOLDERS = `${CLAIMS} AND ${HOLDERS_IN_ORDER} LIMIT ?`;
const WAITERS = `${CLAIMS} AND ${WAITERS_IN_ORDER} LIMIT ?`;
const LOCK = `SELECT ${LOCK_LIST} FROM rowlock_lock l WHERE l.name = ?`;
const LOCKS = `SELECT ${LOCK_LIST} FROM rowlock_lock l WHERE l.id IN (?)`;
const UNDER_PREFIX = `SELECT ${LOCK_LIST} FROM rowlock_lock l FORCE INDEX (rowlock_lock_name)
  WHERE l.name >= ? AND l.name < ?`;
const WHICH = {
  all: "",
  busy: "AND (l.holders > 0 OR l.waiting > 0)",
  limited: "AND l.limit_value IS NOT NULL",
};
const WAITED_LOCKS = {
  longest_wait: waitedLocksBy("longest_wait"),
  most_waiters: waitedLocksBy("most_waiters"),
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
          : await read("watch", POLL, lockIds, lockIds, aheadUs, lockIds);
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
      const trip = new Trip("due_locks");
      const passedAt = trip.add(PASSED, afterLockId, max);
      const wokenAt = trip.add(WOKEN, afterLockId, max);
      const clockAt = trip.add(CLOCK);
      const results = await pool.use((connection) => connection.run(trip));
      const nowUs = Number(rowsOf(results[clockAt])[0]?.[0]);
      clock.read(nowUs, askedUs, monotonicUs());
      const bounds = rowsOf(results[passedAt]).map(boundFromRow);
      const woken = rowsOf(results[wokenAt]).map(([id]) => bigintOf(id));
      const step = dueStep(bounds, woken, nowUs, max);
      const stale = bounds.filter((bound) => isStale(bound, nowUs)).map(({ id }) => id);
      try {
        if (stale.length > 0) await writeBounds(pool, stale);
      } catch (error) {
        // What is due must be decided nevertheless. The bounds are still lower bounds, and the next step writes them.
        if (step.lockIds.length === 0) throw error;
      }
      return { nowUs, ...step };
    },

    async claims(keys) {
      return claimsAt(await timedUnion(pool, "claims", claimsByKey(LISTS, keys)));
    },

    async claimsByRequest(requestIds) {
      if (requestIds.length === 0) return claimsAt(await timed(pool, "clock"));
      const { sql, values } = unionOf(claimsByRequest(LISTS, requestIds));
      return await pool.use(async (connection) => {
        const trip = new Trip("claims_by_request");
        const rowsAt = addCaughtUp(connection, trip, sql, ...values);
        const clockAt = trip.add(CLOCK);
        const results = await runCaughtUp(connection, trip);
        const found = claimsAt({
          nowUs: Number(rowsOf(results[clockAt])[0]?.[0]),
          rows: rowsOf(results[rowsAt]),
        });
        return { ...found, claims: found.claims.filter(({ requestId }) => requestIds.includes(requestId)) };
      });
    },

    async queue(lockId) {
      const { nowUs, rows } = await timed(pool, "queue", QUEUE, lockId);
      return { nowUs, places: rows.map(placeFromRow) };
    },

    async holders(lockId, max) {
      const branches = [[`(${FIRST_HOLDER})`, lockId] as const, [`(${HOLDERS})`, lockId, max] as const];
      const { nowUs, claims } = claimsAt(await timedUnion(pool, "holders", branches));
      return { nowUs, claims: claims.slice(0, max) };
    },

    async liveClaimsOf(lockId, afterTicket, max) {
      const branches = [
        [`(${FIRST_HOLDER} AND l.holder_ticket_number > ?)`, lockId, afterTicket] as const,
        [`(${HOLDERS_AFTER})`, lockId, afterTicket, max] as const,
        [`(${WAITERS_AFTER})`, lockId, afterTicket, max] as const,
      ];
      return claimsAt(await timedUnion(pool, "live_claims", branches)).claims.slice(0, max);
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
      const found = await onSnapshotViews(pool, shown, false, "views", LOCKS, ids);
      const byId = new Map(found.map((view) => [view.lock.id, view]));
      return ids.flatMap((id) => byId.get(id) ?? []);
    },

    async view(name, shown) {
      // Whoever compares and sets must not read what is older than what he has seen elsewhere.
      const [view] = await onSnapshotViews(pool, shown, true, "view", LOCK, bytesOf(name));
      return view ?? null;
    },

    async limitRules() {
      const { limitRules } = await pool.use(readRules);
      return limitRules;
    },

    async claimsOfPrincipals() {
      const rows = await read("claims_of_principals", CLAIMS_OF_PRINCIPALS);
      return rows.map(claimsOfPrincipalFromRow).filter(({ principal }) => principal !== "");
    },

    async recordsOfPrincipals() {
      const rows = await read("records_of_principals", RECORDS_OF_PRINCIPALS);
      return rows.map(recordsOfPrincipalFromRow);
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
  // SQL does not guarantee the order of a union.
  return { nowUs, claims: inOrder(rows.map(claimFromRow)) };
}

/** Returns locks with their first holders and waiters, all as of one moment. */
function onSnapshotViews(
  pool: MysqlPool,
  shown: number,
  isCaughtUp: boolean,
  name: string,
  sql: string,
  ...values: readonly SqlValue[]
): Promise<LockView[]> {
  const read = async (connection: Connection) => {
    const locks = await withRecords(connection, await query(connection, name, sql, ...values));
    const claims = shown > 0 ? await firstClaims(connection, locks, shown) : [];
    const claimsOf = Map.groupBy(claims, ({ lockId }) => lockId);
    return locks.map((lock) => {
      const own = claimsOf.get(lock.id) ?? [];
      return {
        lock,
        holders: own.filter(({ state }) => state === "held").slice(0, shown),
        waiters: own.filter(({ state }) => state === "waiting"),
      };
    });
  };
  return pool.use((connection) => onSnapshot(connection, () => read(connection), isCaughtUp));
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
  const branches = locks.flatMap(({ id, firstHolder, holders, waiting }): Branch[] => [
    ...(firstHolder === null ? [] : [[`(${FIRST_HOLDER})`, id] as const]),
    ...(holders > (firstHolder === null ? 0 : 1) ? [[`(${HOLDERS})`, id, shown] as const] : []),
    ...(waiting > 0 ? [[`(${WAITERS})`, id, shown] as const] : []),
  ]);
  const claims: Claim[] = [];
  for (const part of partsOf(branches, BRANCHES_MAX)) {
    const { sql, values } = unionOf(part);
    claims.push(...(await query(connection, "shown_claims", sql, ...values)).map(claimFromRow));
  }
  return inOrder(claims);
}

/**
 * Writes the exact bounds of these locks. Where rows can be skipped, those that another transaction holds keep theirs
 * until the next step.
 */
async function writeBounds(pool: MysqlPool, ids: readonly bigint[]): Promise<void> {
  await retry(ROLLED_BACK, () =>
    pool.write((connection) =>
      inTransaction(connection, async () => {
        const lock = new Trip("due_locks_load");
        lock.add("START TRANSACTION");
        const lockedAt = lock.add(connection.skipsLocked ? `${STALE_LOCK} SKIP LOCKED` : STALE_LOCK, ids);
        const locked = rowsOf((await connection.run(lock))[lockedAt]).map(([id]) => bigintOf(id));
        const save = new Trip("due_locks_save");
        if (locked.length > 0) save.add(WRITE_BOUNDS, locked);
        save.addCommit();
        mustStillBeOpen((await connection.run(save)).slice(0, -1));
      }),
    ),
  );
}

function unionOf(branches: readonly Branch[]): { sql: string; values: SqlValue[] } {
  return {
    sql: branches.map(([sql]) => sql).join(" UNION ALL "),
    values: branches.flatMap(([, ...values]) => values),
  };
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

/** As `timed`, with one statement of these branches; without branches only the clock. */
function timedUnion(pool: MysqlPool, name: string, branches: readonly Branch[]): Promise<Timed> {
  if (branches.length === 0) return timed(pool, "clock");
  const { sql, values } = unionOf(branches);
  return timed(pool, name, sql, ...values);
}
