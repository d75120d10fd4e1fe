// The database is away for longer than places last without a sign of life. The streams stayed open all the time, so
// their places still exist when the database comes back.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as asks from "../support/asks.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { leavable } from "../support/wrapped-store.ts";

/** Far above what a busy machine takes for the few transactions in which a place must not lapse. */
const GRACE_US = 1_200_000;
const ATTACHED_FOR_US = 1_500_000;

describe.each(testDatabases())("an outage on $label", (database) => {
  let replicas: Replicas;
  let here: Replica;
  let there: Replica;
  let away = false;
  let awayThere = false;

  beforeAll(async () => {
    const policy = { graceUs: GRACE_US, attachedForUs: ATTACHED_FOR_US };
    const isAway = [() => away, () => awayThere];
    replicas = await startReplicas(database, 2, policy, (store) =>
      leavable(store, isAway.shift() ?? (() => false)),
    );
    [here, there] = replicas.all as [Replica, Replica];
  });
  afterAll(() => replicas.stop());

  test("longer than a place lasts costs no follower its place; a waiter that left still lapses", async () => {
    const holder = claimOf(await here.engine.acquire(ask("long"), null), "held");
    const first = follower();
    claimOf(await here.engine.acquire(ask("long"), first), "waiting");
    const dead = claimOf(await here.engine.acquire(ask("long"), null), "waiting");
    const second = follower();
    claimOf(await here.engine.acquire(ask("long"), second), "waiting");

    away = awayThere = true;
    await new Promise((resolve) => setTimeout(resolve, (2 * ATTACHED_FOR_US) / 1_000));
    await expect(here.engine.ask(asks.release(holder))).rejects.toMatchObject({ kind: "unavailable" });
    away = awayThere = false;

    await here.engine.ask(asks.release(holder));
    const { claim } = await first.toldClaim;
    expect(claim).toMatchObject({ state: "held", fencingToken: holder.fencingToken + 1n });
    // Nobody can know that the waiter in between is gone: it costs the queue a grace period and a token.
    await here.engine.ask(asks.release(claim));
    expect((await second.toldClaim).claim).toMatchObject({
      state: "held",
      fencingToken: holder.fencingToken + 3n,
    });
    const lapsed = claimOf(await here.engine.attach(dead, follower()), "ended");
    expect(lapsed.endReason).toBe("lapsed");
  });

  test("costs the followers of a replica nothing if it comes back after another one", async () => {
    const holder = claimOf(await here.engine.acquire(ask("late"), null), "held");
    const late = follower();
    claimOf(await there.engine.acquire(ask("late"), late), "waiting");
    const behind = follower();
    claimOf(await here.engine.acquire(ask("late"), behind), "waiting");

    away = awayThere = true;
    await new Promise((resolve) => setTimeout(resolve, (2 * ATTACHED_FOR_US) / 1_000));
    away = false;
    await here.engine.ask(asks.release(holder));
    awayThere = false;

    const { claim } = await late.toldClaim;
    expect(claim).toMatchObject({ state: "held", fencingToken: holder.fencingToken + 1n });
    await there.engine.ask(asks.release(claim));
    expect((await behind.toldClaim).claim.state).toBe("held");
  });
});
