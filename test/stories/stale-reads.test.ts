// What an engine remembers of the database may be old, and its reads may fail: it decides by what it finds under the
// guard row.

import { afterEach, describe, expect, test } from "vitest";
import { Fault } from "../../server/engine/faults.ts";
import type { Store } from "../../server/storage/store.ts";
import { StoreError } from "../../server/storage/store.ts";
import { freshSqlite } from "../support/database.ts";
import { ask, claimOf, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { wrapped } from "../support/wrapped-store.ts";

describe("an engine whose reads are stale or fail", () => {
  let replicas: Replicas | undefined;
  afterEach(async () => {
    await replicas?.stop();
  });

  async function engineOver(own: (store: Store) => Partial<Store>): Promise<Replica> {
    replicas = await startReplicas({ fresh: freshSqlite }, 1, {}, (store) => wrapped(store, own(store)));
    return replicas.all[0] as Replica;
  }

  test("does not decide about another lock after a wrong id for this name", async () => {
    let stale = true;
    const { engine } = await engineOver((store) => ({
      resolve: async (names) => {
        const ids = await store.resolve(names);
        if (!stale || !names.includes("mine")) return ids;
        stale = false;
        return new Map([...ids, ["mine", (await store.resolve(["other"])).get("other") as bigint]]);
      },
    }));
    claimOf(await engine.acquire(ask("other"), null), "held");
    const answer = await engine.acquire(ask("mine"), null);
    expect(answer.lockName).toBe("mine");
    claimOf(answer, "held");
    expect((await engine.view("other"))?.lock).toMatchObject({ holders: 1, waiting: 0, nextTicket: 2n });
  });

  test("reports the database as unavailable if a limit rule is set and its sums cannot be read", async () => {
    const { engine } = await engineOver(() => ({
      list: async () => {
        throw new StoreError("unavailable", "pool_exhausted", "A fault made by a test.");
      },
    }));
    const refused = await engine
      .setLimitRule("etl/", { limit: 2 }, undefined, "test")
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Fault);
    expect((await engine.view("etl/new"))?.limit.limit ?? 2).toBe(2);
  });
});
