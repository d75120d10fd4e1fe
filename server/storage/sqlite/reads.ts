// Polls, the search for what is due, claims by their ids, and checks of the rows.

import { checkNow } from "../reads/invariants.ts";
import { boundFromRow, dueStep, isStale } from "../rows/due-locks.ts";
import { bigintOf, claimFromRow } from "../rows/from-rows.ts";
import { bytesOf } from "../rows/values.ts";
import { CHECKED_ROWS_MAX } from "../storage-bounds.ts";
import type { Polled, Store } from "../store.ts";
import type { SqliteHandle } from "./handle.ts";
import { claimByRequest, listOf, type SqliteStatements } from "./statements.ts";
import { stepsOn } from "./steps.ts";

export function reads(handle: SqliteHandle) {
  const { statements, nowUs } = handle;
  const on = stepsOn(handle);
  return {
    find: async (names) => find(statements, names),

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

    limitRules: async () => handle.meta().limitRules,

    checkInvariants: (max) => on.read(checkNow(max, "all")),

    async checkLiveClaims(max) {
      const [[count] = []] = statements.read("check_size", CHECKED_ROWS, []);
      // This process does nothing else during a check, so its length is bounded by the rows and not by the time.
      return Number(count) > CHECKED_ROWS_MAX ? null : on.read(checkNow(max, "live"));
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
