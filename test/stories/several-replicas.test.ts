// Several servers over one database are correct without talking to each other: a client can wait for, renew and
// release at one server a claim made at another, and a grant by one server reaches a waiter at any other.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as asks from "../support/asks.ts";
import { TERMS } from "../support/claims.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";

const SECOND_US = 1_000_000;

describe.each(testDatabases())("several replicas on $label", (database) => {
  let replicas: Replicas;
  let here: Replica;
  let there: Replica;

  beforeAll(async () => {
    replicas = await startReplicas(database, 2, { graceUs: 2 * SECOND_US, attachedForUs: 3 * SECOND_US });
    [here, there] = replicas.all as [Replica, Replica];
  });
  afterAll(async () => {
    await replicas.stop();
    expect(replicas.all.flatMap((replica) => replica.failures)).toEqual([]);
  });

  test("grant a release here to a waiter there, which has its full TTL once it renews", async () => {
    const lease = claimOf(await here.engine.acquire(ask("granted across"), null), "held");
    const waiter = follower();
    const ticket = claimOf(await there.engine.acquire(ask("granted across"), waiter), "waiting");
    await here.engine.ask(asks.release(lease));
    const { claim } = await waiter.toldClaim;
    expect(claim.ticketNumber).toBe(ticket.ticketNumber);
    expect(claim.state).toBe("held");
    expect(claim.fencingToken).toBe(lease.fencingToken + 1n);
    expect(claim.provisional).toBe(true);
    const renewed = await there.engine.ask(asks.renew(claim, undefined));
    expect(claimOf(renewed, "held").deadlineUs).toBe(renewed.nowUs + 30 * SECOND_US);
  });

  test("apply what one server sets for a lock at the other at once", async () => {
    const terms = { ...TERMS, ifStatus: ["todo"] };
    const tryOnce = ask("counts", { mayWait: false, terms });
    for (let round = 0; round < 5; round++) {
      await here.engine.ask(asks.updateRecord({ name: "counts", status: "todo", attemptsLeft: 1 }));
      const lease = claimOf(await there.engine.acquire(tryOnce, null), "held");
      expect((await here.engine.acquire(tryOnce, null)).outcome).toMatchObject({ reason: "exhausted" });
      await here.engine.ask(asks.release(lease, { status: "done", attemptsLeft: 2 }));
      expect((await there.engine.acquire(tryOnce, null)).outcome).toMatchObject({
        reason: "status_mismatch",
        status: "done",
      });
    }
    const versions = [here, there].map(
      async ({ engine }) => (await engine.view("counts")).lock.record?.version,
    );
    expect(new Set(await Promise.all(versions)).size).toBe(1);
  });

  test("wake the waiters there when a limit is raised here, by name and by pattern", async () => {
    for (const name of ["raised/by name", "raised/by pattern"]) {
      claimOf(await here.engine.acquire(ask(name), null), "held");
      const waiters = [follower(), follower(), follower()];
      for (const waiter of waiters) claimOf(await there.engine.acquire(ask(name), waiter), "waiting");
      if (name.endsWith("name")) await here.engine.ask(asks.setLimit(name, 3, undefined, "test"));
      else await here.engine.setLimitRule("raised/", { limit: 3 }, undefined, "test");
      const [first, second, third] = waiters;
      expect((await first?.toldClaim)?.claim.state).toBe("held");
      expect((await second?.toldClaim)?.claim.state).toBe("held");
      const shown = await here.engine.view(name);
      expect(shown?.lock).toMatchObject({ holders: 3, waiting: 1 });
      await here.engine.ask(asks.forceRelease(name, null, "test"));
      expect((await third?.toldClaim)?.claim.state).toBe("held");
    }
  });
});
