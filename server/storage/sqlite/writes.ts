// Writes of the SQLite store outside decisions: new names, fail-overs, signs of life of waiters and of the replica,
// marks of witnesses, and the deletion of rows that nothing needs any more.

import { IdleScan } from "../rows/decided-order.ts";
import { bytesOf } from "../rows/values.ts";
import { type Store, WITNESS_KEPT_US } from "../store.ts";
import type { AtOnce, SqliteHandle } from "./handle.ts";
import { find } from "./reads.ts";
import type { Row } from "./rows.ts";
import { listOf } from "./statements.ts";

export function writes(handle: SqliteHandle) {
  const { statements, nowUs } = handle;
  const scan = new IdleScan();
  const inTransaction: SqliteHandle["inTransaction"] = (run) => handle.inTransaction(run);
  return {
    resolve(names, roomFor = (missing) => missing) {
      const found = find(statements, names);
      const unknown = [...new Set(names.filter((name) => !found.has(name)))];
      if (unknown.length === 0) return found;
      const missing = unknown.slice(0, roomFor(unknown.length));
      inTransaction(() => {
        for (const name of missing) {
          found.set(name, statements.get("add_lock", bytesOf(name), nowUs())?.id as bigint);
        }
      });
      return found;
    },

    failOver({ seenEpoch, epochMin, pauseUsMin, pauseUsMax }) {
      const notedUs = nowUs();
      statements.run("fail_over", notedUs, epochMin, pauseUsMin, pauseUsMax, seenEpoch);
      return Math.max(0, Number(statements.get("meta")?.grants_from) - notedUs);
    },

    heartbeat: (replica, claims, keepForUs) =>
      inTransaction(() => {
        const untilUs = nowUs() + keepForUs;
        for (const { lockId, ticketNumber, secret } of claims) {
          statements.run("heartbeat", replica, untilUs, lockId, ticketNumber, bytesOf(secret));
        }
        return [];
      }),

    register: ({ id, address, version, secret }, keepForUs, rulesRevision) =>
      inTransaction(() => {
        const atUs = nowUs();
        const texts = [address, version, secret].map(bytesOf);
        statements.run("register", id, ...texts, atUs, rulesRevision, atUs + keepForUs);
        statements.run("forget_replicas", atUs);
      }),

    mark: (witness, expected, mark) =>
      inTransaction(() => {
        const atUs = nowUs();
        const list = expected === null ? null : listOf(expected);
        const isDone = statements.run("mark", witness, mark, atUs, list) > 0;
        if (expected === null) statements.run("forget_marks", atUs - WITNESS_KEPT_US);
        return { isDone, nowUs: atUs };
      }),

    retire: (replica) =>
      inTransaction(() => {
        statements.run("retire", replica);
        statements.run("unmark", replica);
      }),

    purgeClaims: (untilUs, max) => statements.run("purge_claims", Math.min(untilUs, nowUs()), max),

    purgeLocks: (idleUs, max) =>
      inTransaction(() => {
        const { decidedAtUs, id } = scan.after;
        const old = statements.all("old_locks", decidedAtUs, id, nowUs() - idleUs);
        const idle = scan.take(old.map(oldRow), max);
        for (const row of idle) {
          statements.run("raise_token_floor", row.lastToken, row.recordFloor);
          statements.run("remove_lock", row.id);
        }
        return idle.length;
      }),
  } satisfies Partial<AtOnce<keyof Store>>;
}

function oldRow(row: Row) {
  return {
    id: row.id as bigint,
    decidedAtUs: Number(row.decided_at),
    isIdle: row.is_idle === 1n,
    lastToken: row.last_token as bigint,
    recordFloor: row.record_floor as bigint,
  };
}
