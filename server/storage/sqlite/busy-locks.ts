// Reads all locks with holders or waiters, for gauges: in pages of some milliseconds each, between which this process
// does its other work.

import { setImmediate as otherWork } from "node:timers/promises";
import { BUSY_LOCKS_PAGE } from "../storage-bounds.ts";
import type { Store } from "../store.ts";
import type { SqliteHandle } from "./handle.ts";
import { countersFromRow, numberOrNull } from "./rows.ts";

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
