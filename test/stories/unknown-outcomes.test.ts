// Transactions whose outcome the store does not know, committed or not: one test for each thing that a repetition
// could do twice or wrongly claim as its own. Each test names its fault. faults.test.ts injects the same faults at
// random; unknown-changes.test.ts covers what another server changes before the repetition.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as asks from "../support/asks.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { committed, rolledBack, TransactionScript } from "../support/transaction-script.ts";

describe.each(testDatabases())("unknown outcomes on $label", (database) => {
  let replicas: Replicas;
  let here: Replica;
  let there: Replica;
  const script = new TransactionScript();

  beforeAll(async () => {
    replicas = await startReplicas(database, 2, {}, script.ofFirst());
    [here, there] = replicas.all as [Replica, Replica];
  });
  afterAll(async () => {
    await replicas?.stop();
    expect(replicas.all.flatMap((replica) => replica.failures)).toEqual([]);
  });

  test("of two releases in one committed transaction: one ended the lease", async () => {
    const lease = claimOf(await here.engine.acquire(ask("released twice"), null), "held");
    script.push(committed());
    const answers = await Promise.all([
      here.engine.ask(asks.release(lease)),
      here.engine.ask(asks.release(lease)),
    ]);
    expect(answers.map(({ outcome }) => outcome)).toEqual([
      { kind: "released", byThisCall: true },
      { kind: "released", byThisCall: false },
    ]);
  });

  test("of a release that was rolled back: it does not claim another server's release as its own", async () => {
    const lease = claimOf(await here.engine.acquire(ask("released elsewhere"), null), "held");
    const elsewhere: unknown[] = [];
    script.push(
      rolledBack(async () => elsewhere.push((await there.engine.ask(asks.release(lease))).outcome)),
    );
    expect((await here.engine.ask(asks.release(lease))).outcome).toEqual({
      kind: "released",
      byThisCall: false,
    });
    expect(elsewhere).toEqual([{ kind: "released", byThisCall: true }]);
  });

  test("of two compare-and-sets in one committed transaction: one has set the limit", async () => {
    script.push(committed());
    const answers = await Promise.all([
      here.engine.ask(asks.setLimit("set twice", 3, 0n, "test")),
      here.engine.ask(asks.setLimit("set twice", 3, 0n, "test")),
    ]);
    expect(answers.map(({ outcome }) => outcome.kind)).toEqual(["limit", "version_mismatch"]);
  });

  const update = {
    notBefore: undefined,
    attemptsLeft: undefined,
    status: undefined,
    expectedVersion: undefined,
  };

  test("of a grant: one attempt is used up", async () => {
    await here.engine.ask(asks.updateRecord({ ...update, name: "attempted", attemptsLeft: 3 }));
    script.push(committed(), committed());
    claimOf(await here.engine.acquire(ask("attempted"), null), "held");
    expect((await here.engine.view("attempted")).lock.record?.attemptsLeft).toBe(2);
  });
});
