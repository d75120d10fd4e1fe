// Promises under faults: several replicas over a database whose transactions fail before, during and after the commit.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabases } from "../../support/database.ts";
import { chanceFrom, type Faults, faultyStore } from "../../support/faulty-store.ts";
import { type Replicas, startReplicas } from "../../support/replicas.ts";
import { seed } from "../../support/seed.ts";
import { CLIENTS, contend, GRACE_US } from "./contention.ts";

const RUN_MS = Number(process.env.ROWLOCK_TEST_FAULTS_MS ?? 2_500);

// A single replica decides optimistically; several replicas change rows without each other's knowledge.
const runs = testDatabases().flatMap((database) => [1, 3].map((count) => ({ ...database, count })));

describe.each(runs)("$count replicas under faults on $label", (database) => {
  const faults: Faults = { on: false, made: new Map() };
  let replicas: Replicas;

  beforeAll(async () => {
    const policy = { graceUs: GRACE_US, attachedForUs: 1.25 * GRACE_US };
    const chance = chanceFrom(seed);
    replicas = await startReplicas(database, database.count, policy, (store) =>
      faultyStore(store, chance, faults),
    );
  });
  afterAll(() => replicas?.stop());

  test(
    `never promise ${CLIENTS} clients more than there is, seed ${seed}`,
    async () => {
      const turn = (on: boolean) => () => {
        faults.on = on;
      };
      const [onStart, onOver] = [turn(true), turn(false)];
      await contend({ replicas: replicas.all, seed, runMs: RUN_MS, onStart, onOver });
      expect(faults.made.size).toBeGreaterThan(2);
    },
    RUN_MS + 120_000,
  );
});
