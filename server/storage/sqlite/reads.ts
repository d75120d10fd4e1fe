// Reads of the SQLite store outside decisions: for display, for polls, and to find locks. Begins no transaction and
// writes nothing.

import { setImmediate as otherWork } from "node:timers/promises";
import { partsOf } from "../../core/bounds.ts";
import { pageOf } from "../rows/decided-order.ts";
import { boundFromRow, dueStep, isStale } from "../rows/due-locks.ts";
import {
  bigintOf,
  busyLockFromRow,
  claimFromRow,
  claimsOfPrincipalFromRow,
  claimTimesFromRow,
  furtherClaimFromRow,
  guardFromRow,
  placeFromRow,
  type Row,
  recordsOfPrincipalFromRow,
  replicaFromRow,
  textOf,
  waitedLockFromRow,
} from "../rows/from-rows.ts";
import { checkRows, type InvariantQuery } from "../rows/invariants.ts";
import { bytesOf, rangeAfter } from "../rows/values.ts";
import { BUSY_LOCKS_PAGE, CHECKED_ROWS_MAX, LIST_ROWS_MAX, LIST_SCAN_MAX } from "../storage-bounds.ts";
import type { LockView, Polled, Store } from "../store.ts";
import type { SqliteHandle } from "./handle.ts";
import {
  claimByRequest,
  guardFrom,
  holdersOf,
  listOf,
  type SqliteStatements,
  type StatementName,
  waitersOf,
} from "./statements.ts";

const LISTS = { all: "list", busy: "list_busy", limited: "list_limited" } as const;

export function reads(handle: SqliteHandle) {
  const { statements, nowUs } = handle;
  const viewOf = (row: Row, shown: number): LockView => {
    const guard = guardFrom(statements, row);
    const { lock } = guard;
    return {
      lock,
      // Most locks of a long listing are idle: their counters show that there is nothing to read.
      holders: shown > 0 && lock.holders > 0 ? holdersOf(statements, guard, shown) : [],
      waiters: shown > 0 && lock.waiting > 0 ? waitersOf(statements, guard, shown) : [],
    };
  };
  // Pages of some milliseconds each, between which this process does its other work.
  const eachBusyPage = async (name: StatementName, see: (page: readonly Row[]) => void) => {
    const ids = statements.all("busy_ids").map(([id]) => bigintOf(id));
    for (const part of partsOf(ids, BUSY_LOCKS_PAGE)) {
      see(statements.all(name, listOf(part)));
      await otherWork();
    }
  };
  const eachClaimPage = async (name: StatementName, see: (page: readonly Row[]) => void) => {
    for (let after = [0n, 0n, 0n]; ; ) {
      const page = statements.all(name, ...after);
      see(page);
      const last = page.at(-1);
      if (!last || page.length < BUSY_LOCKS_PAGE) return;
      after = last.slice(-3).map(bigintOf);
      await otherWork();
    }
  };
  const answerTo = ({ name, sql, values }: InvariantQuery) => statements.read(name, sql, values);
  return {
    find: async (names) => find(statements, names),

    async claimsOfPrincipals() {
      const rows = statements.all("claims_of_principals").map(claimsOfPrincipalFromRow);
      return rows.filter(({ principal }) => principal !== "");
    },

    async recordsOfPrincipals() {
      return statements.all("records_of_principals").map(recordsOfPrincipalFromRow);
    },

    replicas: async (max) => ({
      nowUs: nowUs(),
      replicas: statements.all("replicas", max).map(replicaFromRow),
    }),

    async poll(lockIds, aheadUs) {
      const atLeastUs = nowUs() - handle.coarseUs;
      const { rulesRevision } = handle.meta();
      const polled: Polled = { revisions: new Map(), due: [], dueSoon: new Map(), rulesRevision };
      if (lockIds.length === 0) return polled;
      for (const row of statements.all("watch", atLeastUs, listOf(lockIds), atLeastUs + aheadUs)) {
        const [id, revision, inUs] = row;
        const lockId = bigintOf(id);
        polled.revisions.set(lockId, bigintOf(revision));
        if (inUs === null) continue;
        if (Number(inUs) > 0) polled.dueSoon.set(lockId, Number(inUs));
        else polled.due.push(lockId);
      }
      return polled;
    },

    claims: async (keys) => {
      const rows = keys.map((key) => statements.get("claim", key.lockId, key.ticketNumber));
      return { nowUs: nowUs(), claims: rows.filter((row) => row !== undefined).map(claimFromRow) };
    },

    claimsByRequest: async (ids) => {
      const claims = ids.flatMap((id) => claimByRequest(statements, id) ?? []);
      return { nowUs: nowUs(), claims: claims.filter(({ requestId }) => ids.includes(requestId)) };
    },

    async dueLocks(afterLockId, max) {
      const { nowUs, atLeastUs } = handle.readClock();
      const bounds = statements.all("due_locks", atLeastUs, afterLockId, max).map(boundFromRow);
      const stale = bounds.filter((bound) => isStale(bound, atLeastUs));
      if (stale.length > 0) {
        handle.inTransaction(() => {
          for (const { id, atUs } of stale) {
            statements.run("write_bound", atUs, id);
            handle.times.setBound(id, atUs);
          }
        });
      }
      const woken = statements.all("woken_locks", atLeastUs, afterLockId, max).map(([id]) => bigintOf(id));
      return { nowUs, ...dueStep(bounds, woken, atLeastUs, max) };
    },

    queue: async (lockId) => ({ nowUs: nowUs(), places: statements.all("queue", lockId).map(placeFromRow) }),

    async holders(lockId, max) {
      const row = statements.get("lock", lockId);
      return { nowUs: nowUs(), claims: row ? holdersOf(statements, guardFrom(statements, row), max) : [] };
    },

    async list({ prefix, afterName, max, which }) {
      const { from, below } = rangeAfter(prefix, afterName);
      const rowsMax = Math.min(max, LIST_ROWS_MAX);
      // Few of many rows may match, and the scan blocks this process, so it is limited to LIST_SCAN_MAX rows.
      const last = which === "all" ? undefined : statements.get("list_last", from, below, LIST_SCAN_MAX - 1);
      const lastName = last ? textOf(last[0]) : null;
      const upTo = lastName === null ? below : rangeAfter("", lastName).from;
      const locks = statements.all(LISTS[which], from, upTo, rowsMax).map(guardFromRow);
      return { locks, next: locks.length === rowsMax ? (locks.at(-1)?.name ?? null) : lastName };
    },

    async decidedSince({ atUs, afterLockId }, untilUs, max) {
      const readUs = nowUs();
      const { epoch } = handle.meta().failOver;
      const rows = [
        ...statements.all("decided_at", atUs, afterLockId, max),
        ...statements.all("decided_after", atUs, untilUs ?? readUs, max),
      ];
      return { nowUs: readUs, epoch, ...pageOf(rows, max) };
    },

    async waitedLocks(prefix, order, max) {
      const { from, below } = rangeAfter(prefix, null);
      return statements.all(order, from, below, max).map(waitedLockFromRow);
    },

    views: async (ids, shown) =>
      ids.flatMap((id) => {
        const row = statements.get("lock", id);
        return row ? viewOf(row, shown) : [];
      }),

    async view(name, shown) {
      const row = statements.get("lock_by_name", bytesOf(name));
      return row ? viewOf(row, shown) : null;
    },

    limitRules: async () => handle.meta().limitRules,

    busyLocks: (see) => eachBusyPage("busy_locks", (page) => see(page.map(busyLockFromRow))),

    furtherClaims: (see) => eachClaimPage("further_claims", (page) => see(page.map(furtherClaimFromRow))),

    async claimTimes(see) {
      const seePage = (page: readonly Row[]) => see(page.map(claimTimesFromRow));
      await eachBusyPage("holder_times", seePage);
      await eachClaimPage("claim_times", seePage);
    },

    checkInvariants: async (max) => {
      const run = checkRows(nowUs(), max);
      let step = run.next();
      while (!step.done) step = run.next(answerTo(step.value));
      return step.value;
    },

    async checkLiveClaims(max) {
      const [[count] = []] = statements.read("check_size", CHECKED_ROWS, []);
      // This process does nothing else during a check, so its length is bounded by the rows and not by the time.
      if (Number(count) > CHECKED_ROWS_MAX) return null;
      const run = checkRows(nowUs(), max, "live");
      let step = run.next();
      while (!step.done) {
        const { isWhole } = step.value;
        step = run.next(answerTo(step.value));
        if (isWhole) await otherWork();
      }
      return step.value;
    },
  } satisfies Partial<Store>;
}

/** As many guard rows and live claims as may be checked beside decisions, or one more. */
const CHECKED_ROWS = `SELECT COUNT(*) FROM (SELECT 1 FROM rowlock_lock UNION ALL SELECT 1 FROM rowlock_claim
  LIMIT ${CHECKED_ROWS_MAX + 1})`;

/** Returns the ids of the names that have a guard row. */
export function find(statements: SqliteStatements, names: readonly string[]): Map<string, bigint> {
  const ids = new Map<string, bigint>();
  for (const name of names) {
    const row = statements.get("lock_id", bytesOf(name));
    if (row) ids.set(name, bigintOf(row[0]));
  }
  return ids;
}
