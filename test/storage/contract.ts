// The contract of server/storage/store.ts as tests, one run of them for each database. A store that passes them can
// stand behind the engine.

import { afterAll, beforeAll, beforeEach, describe } from "vitest";
import { contractOfClosing } from "./contract-closing.ts";
import { contractOfFailOver } from "./contract-fail-over.ts";
import { contractOfInvariants } from "./contract-invariants.ts";
import { contractOfListings } from "./contract-listings.ts";
import { contractOfNames } from "./contract-names.ts";
import { contractOfRows } from "./contract-rows.ts";
import { contractOfRules } from "./contract-rules.ts";
import { contractOfTransactions } from "./contract-transactions.ts";
import { contractOfUpkeep } from "./contract-upkeep.ts";
import type { FreshStore } from "./fixture.ts";
import { BIG, empty } from "./fixture.ts";

/** Runs the contract on one database, which is emptied before each test. */
export function runStoreContract(name: string, openFreshStore: () => Promise<FreshStore>): void {
  describe(`the store contract on ${name}`, () => {
    let fresh: FreshStore;
    beforeAll(async () => {
      fresh = await openFreshStore();
      // Every lock of the suite then has an id that a double cannot hold.
      await fresh.tamper("INSERT INTO rowlock_lock (id, name) VALUES (?, ?)", BIG, Buffer.from("first"));
    });
    beforeEach(() => empty(fresh));
    afterAll(() => fresh?.close());

    const current = () => fresh;
    contractOfNames(current);
    contractOfRows(current);
    contractOfTransactions(current);
    contractOfRules(current);
    contractOfUpkeep(current);
    contractOfFailOver(current);
    contractOfListings(current);
    contractOfInvariants(current);
    contractOfClosing(openFreshStore);
  });
}
