// The gauges of locks are exact however many locks are busy, and they find the waiter that has waited longest.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Metrics } from "../../server/metrics/metrics.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";

/** More than one page of any of the statements, both without a class and in one class. */
const OTHERS = 2_050;
const ETL = 30;

describe.each(testDatabases())("on $label", (database) => {
  let replicas: Replicas;
  let here: Replica;

  beforeAll(async () => {
    replicas = await startReplicas(database, 1);
    [here] = replicas.all as [Replica];
  });
  afterAll(() => replicas?.stop());

  test("all locks and waiters are counted, by class", async () => {
    const { engine, store } = here;
    const take = (name: string, ttlUs: number | null) => engine.acquire(ask(name, { ttlUs }), null);
    await take("first", null);
    const oldest = claimOf(await engine.acquire(ask("first"), follower()), "waiting");
    const others = Array.from({ length: OTHERS }, (_, index) => take(`${index}`, 600_000_000));
    const etl = Array.from({ length: ETL }, (_, index) => take(`etl/${index}`, null));
    await Promise.all([...others, ...etl]);
    const last = claimOf(await engine.acquire(ask("etl/0"), follower()), "waiting");
    await engine.setLimitRule("etl/", { limit: 3 }, undefined, "a test");

    const metrics = new Metrics({ classes: ["etl/*"], nodeMetrics: false });
    metrics.observeStore(store, { version: "", node: "", database: "" });
    const lines = (await metrics.render()).text.split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        `rowlock_busy_locks{class="other"} ${OTHERS + 1}`,
        `rowlock_busy_locks{class="etl/*"} ${ETL}`,
        'rowlock_waiters{class="other"} 1',
        `rowlock_held_permits{class="other"} ${OTHERS + 1}`,
        // The rule grants one more permit.
        `rowlock_held_permits{class="etl/*"} ${ETL + 1}`,
        `rowlock_limit_permits{class="etl/*"} ${3 * ETL}`,
        "rowlock_lock_gauges_complete 1",
      ]),
    );
    const age = lines.find((line) => line.startsWith('rowlock_oldest_waiter_age_seconds{class="other"}'));
    const agedS = (last.requestedAtUs - oldest.requestedAtUs) / 1e6;
    expect(Number(age?.split(" ")[1])).toBeGreaterThanOrEqual(agedS);
  });
});
