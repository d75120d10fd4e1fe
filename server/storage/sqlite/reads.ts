// Reads of the SQLite store outside decisions: for display, for polls, and to find locks. Begins no transaction and
// writes nothing.

import { setImmediate as otherWork } from "node:timers/promises";
import type { Lock } from "../../core/lock.ts";
import { pageOf } from "../rows/decided-order.ts";
import { checkRows } from "../rows/invariants.ts";
import { bytesOf, rangeAfter, STATE_CODES } from "../rows/values.ts";
import { BUSY_LOCKS_PAGE, LIST_ROWS_MAX, LIST_SCAN_MAX } from "../storage-bounds.ts";
import type { LockView, Polled, Store } from "../store.ts";
import type { AtOnce, SqliteHandle } from "./handle.ts";
import { claimFromRow, countersFromRow, guardFromRow, numberOrNull, type Row, textOf } from "./rows.ts";
import { listOf, lockFromRow, type SqliteStatements } from "./statements.ts";

const LISTS = { all: "list", busy: "list_busy", limited: "list_limited" } as const;

export function reads(handle: SqliteHandle) {
  const { statements, nowUs } = handle;
  const inState = (lockId: bigint, state: number, max: number) =>
    statements.all("claims_in_state", lockId, state, max).map(claimFromRow);
  const viewOf = (lock: Lock, shown: number): LockView => ({
    lock,
    // Most locks of a long listing are idle: their counters show that there is nothing to read.
    holders: shown > 0 && lock.holders > 0 ? inState(lock.id, STATE_CODES.held, shown) : [],
    waiters: shown > 0 && lock.waiting > 0 ? inState(lock.id, STATE_CODES.waiting, shown) : [],
  });
  const found = (rows: readonly (Row | undefined)[]) => ({
    nowUs: nowUs(),
    claims: rows.filter((row) => row !== undefined).map(claimFromRow),
  });
  return {
    find: (names) => find(statements, names),

    replicas: (max) => ({
      nowUs: nowUs(),
      replicas: statements.all("replicas", max).map((row) => ({
        id: row.id as bigint,
        address: textOf(row.address),
        version: textOf(row.version),
        secret: textOf(row.secret),
        sinceUs: Number(row.started_at),
        rulesRevision: row.rules_revision as bigint,
        deadlineUs: Number(row.deadline),
      })),
    }),

    poll(lockIds, aheadUs) {
      const atLeastUs = nowUs() - handle.coarseUs;
      const rulesRevision = statements.get("rules_revision")?.rules_revision as bigint;
      const polled: Polled = { revisions: new Map(), due: [], dueSoon: new Map(), rulesRevision };
      if (lockIds.length === 0) return polled;
      for (const row of statements.all("watch", atLeastUs, listOf(lockIds), atLeastUs + aheadUs)) {
        const id = row.id as bigint;
        polled.revisions.set(id, row.revision as bigint);
        if (row.due_in === null) continue;
        const inUs = Number(row.due_in);
        if (inUs > 0) polled.dueSoon.set(id, inUs);
        else polled.due.push(id);
      }
      return polled;
    },

    claims: (keys) => found(keys.map((key) => statements.get("claim", key.lockId, key.ticketNumber))),

    claimsByRequest: (ids) => found(ids.map((id) => statements.get("claim_by_request", bytesOf(id)))),

    dueLocks(afterLockId, max) {
      const { nowUs, atLeastUs } = handle.readClock();
      const rows = statements.all("due_locks", atLeastUs, afterLockId, max);
      return { nowUs, lockIds: rows.map((row) => row.lock_id as bigint) };
    },

    queue: (lockId) => ({
      nowUs: nowUs(),
      places: statements.all("queue", lockId).map((row) => ({
        ticketNumber: row.ticket_number as bigint,
        permits: Number(row.permits),
      })),
    }),

    // In order of ticket numbers, which is the order of grants.
    holders: (lockId, max) => ({ nowUs: nowUs(), claims: inState(lockId, STATE_CODES.held, max) }),

    list({ prefix, afterName, max, which }) {
      const { from, below } = rangeAfter(prefix, afterName);
      const rowsMax = Math.min(max, LIST_ROWS_MAX);
      // Few of many rows may match, and the scan blocks this process, so it is limited to LIST_SCAN_MAX rows.
      const last = which === "all" ? undefined : statements.get("list_last", from, below, LIST_SCAN_MAX - 1);
      const lastName = last ? textOf(last.name) : null;
      const upTo = lastName === null ? below : rangeAfter("", lastName).from;
      const locks = statements.all(LISTS[which], from, upTo, rowsMax).map(guardFromRow);
      return { locks, next: locks.length === rowsMax ? (locks.at(-1)?.name ?? null) : lastName };
    },

    decidedSince({ atUs, afterLockId }, untilUs, max) {
      const readUs = nowUs();
      const meta = statements.get("meta");
      const rows = [
        ...statements.all("decided_at", atUs, afterLockId, max),
        ...statements.all("decided_after", atUs, Math.min(untilUs ?? readUs, readUs), max),
      ].map((row) => ({
        id: row.id as bigint,
        name: textOf(row.name),
        revision: row.revision as bigint,
        holders: Number(row.holders),
        waiting: Number(row.waiting),
        decidedAtUs: Number(row.decided_at),
      }));
      return {
        nowUs: readUs,
        epoch: meta?.epoch as bigint,
        ...pageOf(rows, max),
      };
    },

    waitedLocks(prefix, order, max) {
      const { from, below } = rangeAfter(prefix, null);
      return statements.all(order, from, below, max).map((row) => ({
        id: row.id as bigint,
        holders: Number(row.holders),
        waiting: Number(row.waiting),
      }));
    },

    views: (ids, shown) =>
      ids.flatMap((id) => {
        const row = statements.get("lock", id);
        return row ? viewOf(lockFromRow(statements, row), shown) : [];
      }),

    view(name, shown) {
      const row = statements.get("lock_by_name", bytesOf(name));
      return row ? viewOf(lockFromRow(statements, row), shown) : null;
    },

    limitRules: () => handle.meta().limitRules,

    checkInvariants(max) {
      const run = checkRows(nowUs(), max);
      let step = run.next();
      while (!step.done) {
        const { name, sql, values } = step.value;
        step = run.next(statements.read(name, sql, ...values));
      }
      return step.value;
    },
  } satisfies Partial<AtOnce<keyof Store>>;
}

/**
 * Reads all locks with holders or waiters in pages of some milliseconds each, between which this process does its other
 * work.
 */
export function busyLocks(handle: SqliteHandle): Pick<Store, "busyLocks"> {
  const { statements } = handle;
  return {
    async busyLocks(see) {
      for (let afterId = 0n; ; ) {
        const rows = handle.guard(() => statements.all("busy_locks", afterId, BUSY_LOCKS_PAGE));
        see(
          rows.map((row) => ({
            lock: countersFromRow(row),
            oldestWaiterSinceUs: numberOrNull(row.oldest_waiter_since),
          })),
        );
        if (rows.length < BUSY_LOCKS_PAGE) return;
        afterId = rows.at(-1)?.id as bigint;
        await otherWork();
      }
    },
  };
}

/** Returns the ids of the names that have a guard row. */
export function find(statements: SqliteStatements, names: readonly string[]): Map<string, bigint> {
  const ids = new Map<string, bigint>();
  for (const name of names) {
    const row = statements.get("lock_id", bytesOf(name));
    if (row) ids.set(name, row.id as bigint);
  }
  return ids;
}
