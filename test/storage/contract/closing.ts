// Contract: a closed store stays closed.

import { describe, expect, test } from "vitest";
import type { Store } from "../../../server/storage/store.ts";
import type { FreshStore } from "../../support/store-fixture.ts";
import { lockId, NO_CHANGES, NO_PLAN } from "../../support/store-fixture.ts";

const USES: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  resolve: (store) => store.resolve(["a"]),
  find: (store) => store.find(["a"]),
  claimsOfPrincipals: (store) => store.claimsOfPrincipals(),
  recordsOfPrincipals: (store) => store.recordsOfPrincipals(),
  transact: (store) => store.transact(NO_PLAN, () => NO_CHANGES),
  heartbeat: (store) => store.heartbeat(1n, [{ lockId: 1n, ticketNumber: 1n, secret: "" }], 1),
  register: (store) => store.register({ id: 1n, address: "", version: "", secret: "" }, 1, 0n),
  replicas: (store) => store.replicas(1),
  retire: (store) => store.retire(1n),
  poll: (store) => store.poll([1n], 0),
  claims: (store) => store.claims([{ lockId: 1n, ticketNumber: 1n }]),
  claimsByRequest: (store) => store.claimsByRequest(["a"]),
  dueLocks: (store) => store.dueLocks(0n, 1),
  purgeClaims: (store) => store.purgeClaims(1, 1),
  purgeLocks: (store) => store.purgeLocks(1, 1),
  queue: (store) => store.queue(1n),
  holders: (store) => store.holders(1n, 1),
  list: (store) => store.list({ prefix: "", afterName: null, max: 1, which: "all" }),
  views: (store) => store.views([1n], 1),
  waitedLocks: (store) => store.waitedLocks("", "longest_wait", 1),
  view: (store) => store.view("a", 1),
  limitRules: (store) => store.limitRules(),
  busyLocks: (store) => store.busyLocks(() => {}),
  furtherClaims: (store) => store.furtherClaims(() => {}),
  claimTimes: (store) => store.claimTimes(() => {}),
  checkInvariants: (store) => store.checkInvariants(1),
  checkLiveClaims: (store) => store.checkLiveClaims(1, 1_000),
};

export function contractOfClosing(openFreshStore: () => Promise<FreshStore>): void {
  describe("closing", () => {
    test("reports its kind and its number of connections while it is open", async () => {
      const fresh = await openFreshStore();
      const { store } = fresh;
      expect(store.product).toMatch(/^(SQLite|MariaDB|MySQL) \d+\.\d+/);
      expect(store.lanes).toBeGreaterThanOrEqual(1);
      await lockId(store, "a");
      expect(store.pool().open).toBeGreaterThanOrEqual(1);
      expect(Array.isArray(await store.checkDurability())).toBe(true);
      await fresh.close();
    });

    test("can be repeated, and refuses everything afterwards", async () => {
      const fresh = await openFreshStore();
      await lockId(fresh.store, "a");
      await Promise.all([fresh.store.close(), fresh.store.close()]);
      await fresh.store.close();
      for (const [name, use] of Object.entries(USES)) {
        const refused = { name: "StoreError", kind: "unavailable", reason: "closed" };
        await expect(use(fresh.store), name).rejects.toMatchObject(refused);
      }
      expect(fresh.store.pool()).toEqual({ open: 0, idle: 0, waiting: 0 });
      await fresh.close();
    });
  });
}
