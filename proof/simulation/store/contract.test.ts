// The simulated store keeps the contract of stores, as the real ones do: so what is found over it can happen over them.

import { afterAll, beforeAll, vi } from "vitest";
import { runStoreContract } from "../../../test/storage/contract/contract.ts";
import type { FreshStore } from "../../../test/support/store-fixture.ts";
import { BEGAN_MS, Process, World } from "../world/world.ts";
import { openRows, SimDatabase } from "./database.ts";
import { simStore } from "./sim-store.ts";

const turn = globalThis.setImmediate;
let world: World;
let isOver = false;

beforeAll(() => {
  world = new World(1);
  vi.spyOn(performance, "now").mockImplementation(() => world.nowMs);
  vi.spyOn(Date, "now").mockImplementation(() => BEGAN_MS + Math.floor(world.nowMs));
  // Events run whenever there are some: these tests await the store, and nothing else takes simulated time.
  const steps = () => {
    if (isOver) return;
    world.step();
    turn(steps);
  };
  steps();
});
afterAll(() => {
  isOver = true;
  vi.restoreAllMocks();
});

async function openFresh(): Promise<FreshStore> {
  const rows = await openRows();
  const database = new SimDatabase(world, rows);
  const servers = ["one", "other"].map((name) => new Process(name, 1));
  const [store, other] = servers.map((server) => simStore(database, server)) as [never, never];
  return {
    store,
    other,
    async tamper(sql, ...values) {
      rows.database.prepare(sql).run(...values);
      database.metaChanged();
    },
    async close() {
      rows.database.close();
    },
  };
}

runStoreContract("the simulated database", openFresh);
