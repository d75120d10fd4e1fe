// Polls, the search for what is due, and claims by their ids: reads that others than people wait for. Only the search locks
// rows, to write bounds. A result may be outdated when it is used, so code that acts on it must decide again.

import { type Claim, inOrder } from "../../core/claim.ts";
import type { DatabaseClock } from "../../core/database-clock.ts";
import { CLAIM_LIST, earliestDueBy, exactBoundBy, HISTORY_LIST, HOLDER_LIST } from "../rows/columns.ts";
import { bigintOf, claimFromRow } from "../rows/from-rows.ts";
import { boundFromRow, dueStep, isStale } from "../rows/guard-scans.ts";
import type { Store } from "../store.ts";
import { type Connection, query, rowsOf, runCaughtUp, Trip } from "./connection/connection.ts";
import { inTransaction, repeatedly } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";
import type { SqlValue } from "./connection/sql-text.ts";
import { readRules } from "./meta.ts";
import { type Branch, claimsByKey, claimsByRequest, monotonicUs, NOW_US } from "./statements.ts";
import { mustStillBeOpen, WHILE_OPEN } from "./transaction/assertions.ts";

const CLOCK = `SELECT ${NOW_US}`;
const RULES_REVISION = "SELECT NULL, rules_revision, NULL FROM rowlock_meta WHERE id = 1";
const POLL = `${RULES_REVISION} UNION ALL SELECT id, revision, NULL FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id IN (?)
  UNION ALL SELECT l.id, NULL, ${earliestDueBy("LEAST")} - ${NOW_US} FROM rowlock_lock l FORCE INDEX (PRIMARY)
    WHERE l.id IN (?) AND l.next_deadline <= ${NOW_US} + ?
  UNION ALL SELECT l.id, NULL, 0 FROM rowlock_meta m JOIN rowlock_lock l FORCE INDEX (PRIMARY)
    ON l.decided_at < m.grants_from AND l.waiting > 0
    WHERE m.id = 1 AND m.grants_from > 0 AND m.grants_from <= ${NOW_US} AND l.id IN (?)`;
const EXACT_BOUND = exactBoundBy("LEAST");
const PASSED = `SELECT l.id, ${EXACT_BOUND} FROM
  (SELECT id FROM rowlock_lock FORCE INDEX (rowlock_lock_due) WHERE next_deadline <= ${NOW_US} AND id > ? ORDER BY id LIMIT ?) p
  JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = p.id ORDER BY l.id`;
const STALE_LOCK = "SELECT id FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY id FOR UPDATE";
// A statement of its own after the row locks, so that it sees every claim that was committed before them.
const WRITE_BOUNDS = `UPDATE rowlock_lock l FORCE INDEX (PRIMARY) SET l.next_deadline = ${EXACT_BOUND}
  WHERE l.id IN (?) ${WHILE_OPEN}`;
const LISTS = { holder: HOLDER_LIST, claim: CLAIM_LIST, history: HISTORY_LIST };

export function reads(pool: MysqlPool, clock: DatabaseClock) {
  const read = (name: string, sql: string, ...values: readonly SqlValue[]) =>
    pool.use((connection) => query(connection, name, sql, ...values));
  return {
    async poll(lockIds, aheadUs) {
      const revisions = new Map<bigint, bigint>();
      let rulesRevision = -1n;
      /** For each lock that has something due soon, in how many microseconds. */
      const dueIn = new Map<bigint, number>();
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
      const soon = [...dueIn].filter(([, inUs]) => inUs > 0);
      const due = [...dueIn].flatMap(([lockId, inUs]) => (inUs > 0 ? [] : [lockId]));
      return { revisions, due, dueSoon: new Map(soon), rulesRevision };
    },

    async dueLocks(afterLockId, max) {
      const askedUs = monotonicUs();
      const trip = new Trip("due_locks");
      const passedAt = trip.add(PASSED, afterLockId, max);
      const clockAt = trip.add(CLOCK);
      const results = await pool.use((connection) => connection.run(trip));
      const nowUs = Number(rowsOf(results[clockAt])[0]?.[0]);
      clock.read(nowUs, askedUs, monotonicUs());
      const bounds = rowsOf(results[passedAt]).map(boundFromRow);
      const step = dueStep(bounds, nowUs, max);
      const stale = bounds.filter((bound) => isStale(bound, nowUs)).map(({ id }) => id);
      try {
        if (stale.length > 0) await writeBounds(pool, stale);
      } catch (error) {
        // What is due must be decided nevertheless. The bounds are still lower bounds, and the next step writes them.
        if (step.lockIds.length === 0) throw error;
      }
      return { nowUs, ...step };
    },

    claims: (keys) => claimsAt(pool, "claims", claimsByKey(LISTS, keys)),

    async claimsByRequest(requestIds) {
      const found = await claimsAt(pool, "claims_by_request", claimsByRequest(LISTS, requestIds), true);
      return { ...found, claims: found.claims.filter(({ requestId }) => requestIds.includes(requestId)) };
    },

    limitRules: async () => (await pool.use(readRules)).limitRules,
  } satisfies Partial<Store>;
}

/** Returns the claims of all branches, and a clock that was read after them, so that no remaining time is too long. */
function claimsAt(
  pool: MysqlPool,
  name: string,
  branches: readonly Branch[],
  isCaughtUp = false,
): Promise<{ nowUs: number; claims: Claim[] }> {
  const sql = branches.map(([text]) => text).join(" UNION ALL ");
  const values = branches.flatMap(([, ...own]) => own);
  return pool.use(async (connection) => {
    if (sql === "") return { nowUs: Number((await query(connection, "clock", CLOCK))[0]?.[0]), claims: [] };
    const trip = new Trip(name);
    const claimsAt = isCaughtUp ? trip.addCaughtUp(connection, sql, ...values) : trip.add(sql, ...values);
    const clockAt = trip.add(CLOCK);
    const results = await runCaughtUp(connection, trip);
    // SQL does not guarantee the order of a union.
    const claims = inOrder(rowsOf(results[claimsAt]).map(claimFromRow));
    return { nowUs: Number(rowsOf(results[clockAt])[0]?.[0]), claims };
  });
}

/** Writes the exact bounds of these locks. Where rows can be skipped, those that are locked keep theirs until the next step. */
async function writeBounds(pool: MysqlPool, ids: readonly bigint[]): Promise<void> {
  const write = async (connection: Connection) => {
    const lock = new Trip("due_locks_load");
    lock.add("START TRANSACTION");
    const lockedAt = lock.add(connection.skipsLocked ? `${STALE_LOCK} SKIP LOCKED` : STALE_LOCK, ids);
    const locked = rowsOf((await connection.run(lock))[lockedAt]).map(([id]) => bigintOf(id));
    const save = new Trip("due_locks_save");
    if (locked.length > 0) save.add(WRITE_BOUNDS, locked);
    save.addCommit();
    mustStillBeOpen((await connection.run(save)).slice(0, -1));
  };
  await repeatedly(pool, (connection) => inTransaction(connection, () => write(connection)));
}
