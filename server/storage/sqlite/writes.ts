// Writes of the SQLite store outside decisions: new names, fail-overs, signs of life of waiters and of the replica,
// marks of witnesses, changes that no transaction of a lock makes, and the deletion of guard rows that nothing needs.

import { LEVEL } from "../../core/level.ts";
import { LATEST_MIGRATION } from "../fleet.ts";
import { IdleScan } from "../rows/decided-order.ts";
import { bigintOf, type Row } from "../rows/from-rows.ts";
import { changeValues } from "../rows/kept-changes.ts";
import { bytesOf } from "../rows/values.ts";
import { type Store, WITNESS_KEPT_US } from "../store.ts";
import type { SqliteHandle } from "./handle.ts";
import { find } from "./reads.ts";
import { listOf } from "./statements.ts";

const KNOWN = bytesOf(LATEST_MIGRATION);

export function writes(handle: SqliteHandle) {
  const { statements, cache, times, nowUs } = handle;
  const scan = new IdleScan();
  return {
    async resolve(names, mayMake = (missing) => missing) {
      const found = find(statements, names);
      const unknown = [...new Set(names.filter((name) => !found.has(name)))];
      if (unknown.length === 0) return found;
      const missing = mayMake(unknown);
      handle.inTransaction(() => {
        for (const name of missing)
          found.set(name, bigintOf(statements.get("add_lock", bytesOf(name), nowUs())?.[0]));
      });
      return found;
    },

    async failOver({ seenEpoch, epochMin, pauseUsMin, pauseUsMax }) {
      const notedUs = nowUs();
      handle.inTransaction(() =>
        statements.run("fail_over", notedUs, epochMin, pauseUsMin, pauseUsMax, seenEpoch),
      );
      handle.forgetMeta();
      return Math.max(0, handle.meta().failOver.grantsFromUs - notedUs);
    },

    async heartbeat(replica, claims, keepForUs) {
      const untilUs = nowUs() + keepForUs;
      handle.inTransaction(() => {
        for (const { lockId, ticketNumber, secret } of claims) {
          statements.run("heartbeat", replica, untilUs, lockId, ticketNumber, bytesOf(secret));
        }
      });
      cache.prolonged(replica, claims, untilUs);
      return [];
    },

    register: async ({ id, address, version, secret }, keepForUs, rulesRevision) =>
      handle.inTransaction(() => {
        const atUs = nowUs();
        const texts = [address, version, secret].map(bytesOf);
        statements.run("register", id, ...texts, LEVEL, KNOWN, atUs, rulesRevision, atUs + keepForUs);
        statements.run("forget_replicas", atUs);
      }),

    async raiseLevelMin({ level, by }) {
      handle.inTransaction(() => statements.run("raise_level_min", level, bytesOf(by)));
      handle.forgetMeta();
    },

    mark: async (witness, expected, mark) =>
      handle.inTransaction(() => {
        const atUs = nowUs();
        const list = expected === null ? null : listOf(expected);
        const isDone = statements.run("mark", witness, mark, atUs, list) > 0;
        if (expected === null) statements.run("forget_marks", atUs - WITNESS_KEPT_US);
        return { isDone, nowUs: atUs };
      }),

    async noteChange(change) {
      handle.inTransaction(() => statements.run("add_change", ...changeValues(change, nowUs())));
    },

    purgeLocks: async (idleUs, max) =>
      handle.inTransaction(() => {
        const { decidedAtUs, id } = scan.after;
        const old = statements.all("old_locks", decidedAtUs, id, nowUs() - idleUs);
        const idle = scan.take(old.map(oldLockFromRow), max);
        for (const row of idle) {
          statements.run("raise_token_floor", row.lastToken, row.recordFloor);
          statements.run("remove_lock", row.id);
          cache.forget(row.id);
          times.forget(row.id);
        }
        return idle.length;
      }),
  } satisfies Partial<Store>;
}

function oldLockFromRow([id, decidedAt, isIdle, lastToken, recordFloor]: Row) {
  return {
    id: bigintOf(id),
    decidedAtUs: Number(decidedAt),
    isIdle: Number(isIdle) === 1,
    lastToken: bigintOf(lastToken),
    recordFloor: bigintOf(recordFloor),
  };
}
