// Several servers over one database are correct without talking to each other: a client can wait for, renew and
// release at one server a claim made at another, and a grant by one server reaches a waiter at any other.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as asks from "../support/asks.ts";
import { TERMS } from "../support/claims.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { until } from "../support/until.ts";

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

  test("keep the place of a waiter that moves with its ticket from one to another", async () => {
    const lease = claimOf(await here.engine.acquire(ask("moves"), null), "held");
    const lost = follower();
    const first = claimOf(await here.engine.acquire(ask("moves"), lost), "waiting");
    const second = claimOf(await here.engine.acquire(ask("moves"), null), "waiting");
    here.engine.detach(first, lost, true);
    const found = follower();
    claimOf(await there.engine.attach(first, found), "waiting");
    expect(await there.engine.place(first)).toEqual({ ahead: 0, permitsAhead: 0, queueLength: 2 });
    expect(await there.engine.place(second)).toEqual({ ahead: 1, permitsAhead: 1, queueLength: 2 });
    await there.engine.ask(asks.release(lease));
    expect((await found.toldClaim).claim.state).toBe("held");
  });

  const update = {
    notBefore: undefined,
    attemptsLeft: undefined,
    status: undefined,
    expectedVersion: undefined,
  };

  test("grant to a waiter anywhere when the lock is due, and not before", async () => {
    await here.engine.ask(asks.updateRecord({ ...update, name: "comes", notBefore: { inUs: SECOND_US } }));
    const waiter = follower();
    claimOf(await there.engine.acquire(ask("comes"), waiter), "waiting");
    const { claim } = await waiter.toldClaim;
    const { record } = (await here.engine.view("comes")).lock;
    expect(claim.state).toBe("held");
    expect(claim.grantedAtUs).toBeGreaterThanOrEqual(record?.notBeforeUs as number);
    expect(record).toMatchObject({ wakesAtUs: null, status: "" });
  });

  test("grant to a waiter that no server follows", async () => {
    await here.engine.ask(
      asks.updateRecord({ ...update, name: "swept", notBefore: { inUs: SECOND_US / 2 } }),
    );
    const ticket = claimOf(await there.engine.acquire(ask("swept"), null), "waiting");
    await until(async () => {
      const { holders } = await there.engine.view("swept");
      return holders.some(({ ticketNumber }) => ticketNumber === ticket.ticketNumber);
    });
    expect((await here.engine.view("swept")).lock).toMatchObject({ holders: 1, waiting: 0 });
  });

  test("apply what one server sets for a lock at the other at once", async () => {
    const terms = { ...TERMS, ifStatus: ["todo"] };
    const tryOnce = ask("counts", { mayWait: false, terms });
    for (let round = 0; round < 5; round++) {
      await here.engine.ask(
        asks.updateRecord({ ...update, name: "counts", status: "todo", attemptsLeft: 1 }),
      );
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
      else await here.engine.setLimitRule("raised/", 3, undefined, "test");
      const [first, second, third] = waiters;
      expect((await first?.toldClaim)?.claim.state).toBe("held");
      expect((await second?.toldClaim)?.claim.state).toBe("held");
      const shown = await here.engine.view(name);
      expect(shown?.lock).toMatchObject({ holders: 3, waiting: 1 });
      await here.engine.ask(asks.forceRelease(name, null, "test"));
      expect((await third?.toldClaim)?.claim.state).toBe("held");
    }
  });

  test("make one claim from the same request id at two servers at once", async () => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => {
        const { engine } = index % 2 === 0 ? here : there;
        return engine.acquire(ask("once", { requestId: "only-one" }), null);
      }),
    );
    const claims = answers.map((answer) => claimOf(answer, "held"));
    expect(new Set(claims.map((claim) => claim.secret)).size).toBe(1);
    expect((await here.engine.view("once"))?.lock).toMatchObject({ holders: 1, nextTicket: 2n });
  });

  test("grant a mutex under load to one holder at a time, with rising tokens", async () => {
    let inside = 0;
    let worst = 0;
    const tokens: bigint[] = [];
    await Promise.all(
      Array.from({ length: 12 }, async (_, index) => {
        const { engine } = index % 2 === 0 ? here : there;
        for (let round = 0; round < 10; round++) {
          const waiter = follower();
          const answer = await engine.acquire(ask("contended"), waiter);
          const claim =
            answer.outcome.kind === "held" ? answer.outcome.claim : (await waiter.toldClaim).claim;
          expect(claim.state).toBe("held");
          inside += 1;
          worst = Math.max(worst, inside);
          tokens.push(claim.fencingToken);
          await Promise.resolve();
          inside -= 1;
          await engine.ask(asks.release(claim));
        }
      }),
    );
    expect(worst).toBe(1);
    expect(tokens).toEqual([...tokens].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(tokens).size).toBe(120);
    expect(await here.store.checkInvariants(10)).toEqual([]);
  });
});
