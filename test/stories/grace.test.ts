// Heartbeats keep a place for as long as its client is there. A lease granted to a client that does not listen ends after
// the grace period, however long its TTL, whichever server has granted it.

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
});
