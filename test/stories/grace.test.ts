// A place outlives a lost connection by the grace period and no longer. A lease granted to a client that does not
// listen ends after the grace period, however long its TTL.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as asks from "../support/asks.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";

const SECOND_US = 1_000_000;
/** Far above what a busy machine takes for the few transactions in which a place must not lapse. */
const GRACE_US = 1.5 * SECOND_US;

describe.each(testDatabases())("the grace period on $label", (database) => {
  let replicas: Replicas;
  let here: Replica;
  let there: Replica;

  beforeAll(async () => {
    replicas = await startReplicas(database, 2, { graceUs: GRACE_US, attachedForUs: 2 * GRACE_US });
    [here, there] = replicas.all as [Replica, Replica];
  });
  afterAll(async () => {
    await replicas.stop();
    expect([...here.failures, ...there.failures]).toEqual([]);
  });

  test("heartbeats keep a followed place for much longer than the grace period", async () => {
    const holder = claimOf(await here.engine.acquire(ask("kept", { ttlUs: 3 * GRACE_US }), null), "held");
    const waiter = follower();
    claimOf(await here.engine.acquire(ask("kept"), waiter), "waiting");
    // The holder never comes back, so the grant comes when its lease expires, after three grace periods.
    const { claim } = await waiter.toldClaim;
    expect(claim.state).toBe("held");
    expect((claim.grantedAtUs as number) - (holder.grantedAtUs as number)).toBeGreaterThanOrEqual(
      3 * GRACE_US,
    );
  });

  test("a dead waiter is dropped, and the waiter behind it is granted", async () => {
    const holder = claimOf(await here.engine.acquire(ask("dead"), null), "held");
    const dead = claimOf(await here.engine.acquire(ask("dead"), null), "waiting");
    const alive = follower();
    claimOf(await here.engine.acquire(ask("dead"), alive), "waiting");
    // The dead waiter is granted first, provisionally; that lease lapses after the grace period.
    await here.engine.ask(asks.release(holder));
    const { claim } = await alive.toldClaim;
    expect(claim.state).toBe("held");
    expect(claim.fencingToken).toBe(holder.fencingToken + 2n);
    const ended = claimOf(await here.engine.attach(dead, follower()), "ended");
    expect(ended.endReason).toBe("lapsed");
  });

  test("a waiter that comes back within the grace period gets the lease with its full TTL", async () => {
    const holder = claimOf(await here.engine.acquire(ask("fetched"), null), "held");
    const ticket = claimOf(await here.engine.acquire(ask("fetched"), null), "waiting");
    await here.engine.ask(asks.release(holder));
    const lease = claimOf(await here.engine.attach(ticket, follower()), "held");
    expect(lease.deadlineUs).toBe((lease.grantedAtUs as number) + 30 * SECOND_US);
  });

  test("a cancelled call that cannot come back leaves at once", async () => {
    const holder = claimOf(await here.engine.acquire(ask("cancelled"), null), "held");
    const gone = follower();
    const ticket = claimOf(await here.engine.acquire(ask("cancelled"), gone), "waiting");
    here.engine.detach(ticket, gone, false);
    // The engine decides commands for one lock in order, so this one comes after the detach.
    await here.engine.ask(asks.renew(holder, undefined));
    expect((await here.engine.view("cancelled"))?.lock).toMatchObject({ waiting: 0, holders: 1 });
    await here.engine.ask(asks.release(holder));
    expect((await here.engine.view("cancelled"))?.lock).toMatchObject({ waiting: 0, holders: 0 });
  });

  test.each([
    ["by this server", () => here],
    ["by another server", () => there],
  ])(
    "a client that freezes before its grant %s delays the waiters behind it by one grace period",
    async (_by, granting) => {
      const name = `frozen ${_by}`;
      const holder = claimOf(await here.engine.acquire(ask(name), null), "held");
      // Its stream is open, but it reads nothing.
      const frozen = follower();
      claimOf(await here.engine.acquire(ask(name, { ttlUs: null }), frozen), "waiting");
      const behind = follower();
      claimOf(await here.engine.acquire(ask(name), behind), "waiting");
      await granting().engine.ask(asks.release(holder));
      const told = await frozen.toldClaim;
      expect(told.claim).toMatchObject({ provisional: true });
      expect(told.claim.deadlineUs).toBe((told.claim.grantedAtUs as number) + GRACE_US);
      const { claim } = await behind.toldClaim;
      expect(claim.grantedAtUs).toBeGreaterThanOrEqual(told.claim.deadlineUs as number);
    },
  );

  test("a bounded wait ends as timed out", async () => {
    claimOf(await here.engine.acquire(ask("bounded"), null), "held");
    const waiter = follower();
    claimOf(await here.engine.acquire(ask("bounded", { maxWaitUs: GRACE_US / 4 }), waiter), "waiting");
    const { claim } = await waiter.toldClaim;
    expect(claim).toMatchObject({ state: "ended", endReason: "timed_out" });
  });
});
