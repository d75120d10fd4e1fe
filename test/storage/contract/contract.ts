// The contract of server/storage/store.ts as tests, run once for each database. A store that passes them can serve the
// engine.

import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import type { FreshStore } from "../../support/store-fixture.ts";
import { BIG, empty } from "../../support/store-fixture.ts";
import { contractOfByStatus } from "./by-status.ts";
import { contractOfClosing } from "./closing.ts";
import { contractOfDecided } from "./decided.ts";
import { contractOfFailOver } from "./fail-over.ts";
import { contractOfFreeLocks } from "./free-locks.ts";
import { contractOfHistory } from "./history.ts";
import { contractOfInvariants } from "./invariants.ts";
import { contractOfKeptChanges } from "./kept-changes.ts";
import { contractOfListings } from "./listings.ts";
import { contractOfMaintenance } from "./maintenance.ts";
import { contractOfNames } from "./names.ts";
import { contractOfPools } from "./pools.ts";
import { contractOfRecords } from "./records.ts";
import { contractOfRows } from "./rows.ts";
import { contractOfRules } from "./rules.ts";
import { contractOfTransactions } from "./transactions.ts";

/** Runs the contract on one database, which is emptied before each test. */
export function runStoreContract(name: string, openFreshStore: () => Promise<FreshStore>): void {
  describe(`the store contract on ${name}`, () => {
    let fresh: FreshStore;
    beforeAll(async () => {
      fresh = await openFreshStore();
      // All locks of the suite then get ids that a double cannot hold.
      await fresh.tamper("INSERT INTO rowlock_lock (id, name) VALUES (?, ?)", BIG, Buffer.from("first"));
    });
    beforeEach(() => empty(fresh));
    afterAll(() => fresh?.close());

    const current = () => fresh;
    contractOfNames(current);
    contractOfRows(current);
    contractOfRecords(current);
    contractOfTransactions(current);
    contractOfRules(current);
    contractOfPools(current);
    contractOfMaintenance(current);
    contractOfFailOver(current);
    contractOfListings(current);
    contractOfDecided(current);
    contractOfFreeLocks(current);
    contractOfByStatus(current);
    contractOfHistory(current);
    contractOfKeptChanges(current);
    contractOfInvariants(current);
    contractOfClosing(openFreshStore);
  });
}
