// Changes under faults: two servers whose transactions fail before, during and after the commit. Some wait so long
// for the answer that others change the same thing meanwhile.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabases } from "../../support/database.ts";
import { chanceFrom, type Faults, faultyStore } from "../../support/faulty-store.ts";
import { type Replicas, startReplicas } from "../../support/replicas.ts";
import { seed } from "../../support/seed.ts";
import { change } from "./changes.ts";
import { WrittenChanges } from "./written-changes.ts";

const RUN_MS = Number(process.env.ROWLOCK_TEST_FAULTS_MS ?? 2_500);

describe.each(testDatabases())("changes of two servers under faults on $label", (database) => {
  const faults: Faults = { on: false, made: new Map() };
  const breaches: string[] = [];
  const written = new WrittenChanges(breaches);
  let replicas: Replicas;

  beforeAll(async () => {
    const chance = chanceFrom(seed);
    replicas = await startReplicas(database, 2, {}, (store) =>
      faultyStore(written.over(store), chance, faults),
    );
  });
  afterAll(() => replicas?.stop());

  test(
    `are neither repeated nor lost, seed ${seed}`,
    async () => {
      faults.on = true;
      const ended = await change({ replicas: replicas.all, written, breaches, seed, runMs: RUN_MS });
      faults.on = false;
      expect(ended.get("answered")).toBeGreaterThan(0);
      expect(faults.made.size).toBeGreaterThan(2);
      expect(await replicas.all[0]?.store.checkInvariants(10)).toEqual([]);
    },
    RUN_MS + 120_000,
  );
});
