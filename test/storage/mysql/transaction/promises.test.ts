// How many promises and timers a decision about known locks makes, from `transact` to its end: each costs processor time,
// and the pool alone once made 19.

import { createHook } from "node:async_hooks";
import { expect, test } from "vitest";
import { type Store, StoreError } from "../../../../server/storage/store.ts";
import { mysqlFamily, reportLeftOut } from "../../../support/database.ts";
import { openStage } from "../../../support/mysql-stage.ts";
import { changeLock, lockId, NO_CHANGES, NO_PLAN, planned, raised } from "../../../support/store-fixture.ts";

reportLeftOut(mysqlFamily());

/** What one decision makes. The least of some, because other work of the process may fall into one. */
async function madeBy(store: Store, id: bigint): Promise<{ promises: number; timers: number }> {
  const least = { promises: Number.POSITIVE_INFINITY, timers: Number.POSITIVE_INFINITY };
  for (let times = 0; times < 10; times++) {
    let promises = 0;
    let timers = 0;
    const hook = createHook({
      init(_id, type) {
        if (type === "PROMISE") promises += 1;
        if (type === "Timeout") timers += 1;
      },
    });
    hook.enable();
    try {
      await store.transact({ ...NO_PLAN, impatient: true, locks: planned(id) }, (loaded) => ({
        ...NO_CHANGES,
        locks: raised(loaded),
      }));
    } catch (error) {
      // On a slow machine, the clock may have gone on too far since the decision.
      if (!(error instanceof StoreError) || error.kind !== "transient") throw error;
      continue;
    } finally {
      hook.disable();
    }
    least.promises = Math.min(least.promises, promises);
    least.timers = Math.min(least.timers, timers);
  }
  return least;
}

test.each(mysqlFamily())("on $flavour $version a decision makes few", async (server) => {
  const stage = await openStage(server);
  try {
    const store = await stage.store();
    const id = await lockId(store, "known");
    for (let times = 0; times < 4; times++) await changeLock(store, id, () => {});
    const { promises, timers } = await madeBy(store, id);
    // The last one is that of the `await` in this test.
    expect(promises).toBeLessThanOrEqual(5);
    // The time after which the connection is destroyed.
    expect(timers).toBeLessThanOrEqual(1);
  } finally {
    await stage.close();
  }
});
