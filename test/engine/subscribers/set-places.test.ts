// The place of a claim for several locks: the one at the lock where most are ahead of it, whichever of its queues moves, and
// whichever server moves it.

import { afterEach, describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Place } from "../../../server/core/command.ts";
import type { Engine } from "../../../server/engine/engine.ts";
import { testDatabases } from "../../support/database.ts";
import { ask, claimOf, follower, type Replicas, startReplicas } from "../../support/replicas.ts";
import { until } from "../../support/until.ts";

describe.each(testDatabases())("the place of a claim for several locks on $label", (database) => {
  const ours: Replicas[] = [];
  afterEach(async () => {
    for (const replicas of ours.splice(0)) {
      const failures = replicas.all.flatMap((replica) => replica.failures);
      await replicas.stop();
      expect(failures.map(String)).toEqual([]);
    }
  });

  async function start(count = 1) {
    const replicas = await startReplicas(database, count);
    ours.push(replicas);
    const [{ engine }] = replicas.all as [(typeof replicas.all)[0]];
    const asked = ([name = "", ...others]: readonly string[]) => {
      const also = others.map((other) => ({ name: other, mode: "permit" as const, permits: 1 }));
      return also.length > 0 ? { ...ask(name), also } : ask(name);
    };
    return {
      ...{ engine, all: replicas.all },
      hold: async (...names: string[]) => claimOf(await engine.acquire(asked(names), null), "held"),
      /** Waits without being told its place. */
      wait: async (...names: string[]) => claimOf(await engine.acquire(asked(names), follower()), "waiting"),
      /** Hears its places. */
      follow: async (...names: string[]) => {
        const places: Place[] = [];
        const who = { ...follower(), placed: (place: Place) => void places.push(place) };
        const answer = await engine.acquire(asked(names), who);
        const { place } = answer.outcome as { place: Place };
        return { ...who, claim: claimOf(answer, "waiting"), first: place, places };
      },
      giveUp: (claim: Claim, by: Engine = engine) => by.ask({ verb: "release", ref: claim }),
    };
  }

  const told = (places: readonly Place[], place: Partial<Place>) =>
    until(async () => {
      try {
        expect(places.at(-1)).toMatchObject(place);
        return true;
      } catch {
        return false;
      }
    });

  test("is told again when the queue of any of its locks moves", async () => {
    const { engine, hold, wait, follow, giveUp } = await start();
    await hold("a");
    await hold("b");
    const atA = await wait("a");
    const atB = [await wait("b"), await wait("b")] as [Claim, Claim];
    const both = await follow("a", "b");
    expect(both.first).toMatchObject({ ahead: 2, queueLength: 3, waitsFor: "b" });
    expect(await engine.place(both.claim)).toMatchObject({ ahead: 2, queueLength: 3, waitsFor: "b" });
    await giveUp(atB[0]);
    // As many as at the other one: the first of them.
    await told(both.places, { ahead: 1, waitsFor: "a" });
    await giveUp(atA);
    await told(both.places, { ahead: 1, queueLength: 2, waitsFor: "b" });
    await giveUp(atB[1]);
    await told(both.places, { ahead: 0, queueLength: 1, waitsFor: "a" });
    expect(await engine.place(both.claim)).toMatchObject({ ahead: 0, waitsFor: "a" });
  });

  test("is told when another server moves the queue of a further lock", async () => {
    const { all, hold, wait, follow, giveUp } = await start(2);
    const [, { engine: other }] = all as [unknown, (typeof all)[0]];
    await hold("b");
    const before = await wait("b");
    const both = await follow("a", "b");
    await giveUp(before, other);
    await told(both.places, { ahead: 0, waitsFor: "a" });
  });

  test("ends with its grant, which a release of a further lock at another server has made", async () => {
    const { all, engine, hold, follow, giveUp } = await start(2);
    const [, { engine: other }] = all as [unknown, (typeof all)[0]];
    const b = await hold("b");
    const both = await follow("a", "b");
    await giveUp(b, other);
    const { claim } = await both.toldClaim;
    expect(claim).toMatchObject({ state: "held", lockId: both.claim.lockId });
    expect(engine.waiterCount).toBe(0);
    expect(await engine.place(claim)).toBeNull();
  });

  test("is the one at the pool where it waits, with the sum of its permits there", async () => {
    const { engine, hold, follow, giveUp } = await start();
    await engine.setPool("p/", { limit: 2 }, undefined, "");
    const one = await hold("p/x");
    const both = await follow("q", "p/a", "p/b");
    expect(both.first).toMatchObject({ ahead: 0, pool: "p/*" });
    const now = await engine.place(both.claim);
    expect(now).toMatchObject({ ahead: 0, queueLength: 1, pool: "p/*" });
    expect(now).not.toHaveProperty("waitsFor");
    const behind = await follow("p/a");
    expect(behind.first).toMatchObject({ ahead: 0 });
    await giveUp(one);
    expect((await both.toldClaim).claim.state).toBe("held");
    await giveUp(behind.claim);
  });
});
