// Claims for several locks in engines over each database: all or none, in the order of their places, and what each end gives back.

import { afterEach, describe, expect, test } from "vitest";
import type { Claim, ClaimRef } from "../../server/core/claim.ts";
import type { Place } from "../../server/core/command.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replicas, startReplicas } from "../support/replicas.ts";

const also = (...names: string[]) => names.map((name) => ({ name, mode: "permit" as const, permits: 1 }));

describe.each(testDatabases())("claims for several locks on $label", (database) => {
  const ours: Replicas[] = [];
  afterEach(async () => {
    for (const replicas of ours.splice(0)) {
      const findings = await replicas.all[0]?.store.checkInvariants(20);
      const failures = replicas.all.flatMap((replica) => replica.failures);
      await replicas.stop();
      expect(findings?.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(failures.slice(0, 2).map(String)).toEqual([]);
    }
  });

  async function start(count = 1) {
    const replicas = await startReplicas(database, count);
    ours.push(replicas);
    const [{ engine, store }] = replicas.all as [(typeof replicas.all)[0]];
    const hold = async (names: string[], more: Parameters<typeof ask>[1] = {}, by = engine) => {
      const [name, ...others] = names as [string];
      return claimOf(await by.acquire({ ...ask(name, more), also: also(...others) }, null), "held");
    };
    const wait = async (names: string[], more: Parameters<typeof ask>[1] = {}, by = engine) => {
      const [name, ...others] = names as [string];
      const who = follower();
      const answer = await by.acquire({ ...ask(name, more), also: also(...others) }, who);
      const { place } = answer.outcome as { place: Place | null };
      return { ...who, claim: claimOf(answer, "waiting"), place };
    };
    const release = (ref: ClaimRef, by = engine) => by.ask({ verb: "release", ref });
    const held = async (name: string) => {
      const view = await store.view(name, 10);
      return view ? [view.lock.heldPermits, view.lock.waiting] : [0, 0];
    };
    return { all: replicas.all, engine, store, hold, wait, release, held };
  }

  const tokens = ({ members }: Claim) => members?.map(({ name, fencingToken }) => [name, fencingToken]);

  test("it is granted all of its locks with a token each, and one release gives all back", async () => {
    const { hold, release, held } = await start();
    await release(await hold(["b"]));
    const claim = await hold(["a", "b", "c"]);
    expect(tokens(claim)).toEqual([
      ["a", 1n],
      ["b", 2n],
      ["c", 1n],
    ]);
    for (const name of ["a", "b", "c"]) expect(await held(name)).toEqual([1, 0]);
    await release(claim);
    for (const name of ["a", "b", "c"]) expect(await held(name)).toEqual([0, 0]);
  });

  test("it waits for the last one, holds none meanwhile, and nobody passes it", async () => {
    const { hold, wait, release, held } = await start();
    const b = await hold(["b"]);
    const both = await wait(["a", "b"]);
    expect(both.place).toMatchObject({ ahead: 0, waitsFor: "a" });
    expect(await held("a")).toEqual([0, 1]);
    const after = await wait(["a"]);
    await release(b);
    const { claim } = await both.toldClaim;
    expect(claim.state).toBe("held");
    expect(tokens(claim)).toEqual([
      ["a", 1n],
      ["b", 2n],
    ]);
    await release(claim);
    expect((await after.toldClaim).claim.state).toBe("held");
  });

  test("sets that name the same locks in opposite order all get their turn", async () => {
    const { all, hold, wait, release } = await start(2);
    const first = await hold(["x", "y"]);
    const waiting = [];
    for (let index = 0; index < 6; index++) {
      const { engine } = all[index % 2] as (typeof all)[0];
      const names = index % 2 ? ["y", "x"] : ["x", "y"];
      waiting.push(await wait(names, {}, engine));
    }
    await release(first);
    for (const one of waiting) {
      const { claim } = await one.toldClaim;
      expect(claim.state).toBe("held");
      await release(claim);
    }
  });

  test("a try that cannot have all leaves nothing behind, and says which lock is in the way", async () => {
    const { engine, hold, held } = await start();
    await hold(["b"]);
    const { outcome } = await engine.acquire({ ...ask("a", { mayWait: false }), also: also("b") }, null);
    expect(outcome).toMatchObject({ kind: "refused", reason: "busy", at: { lockName: "b" } });
    expect(await held("a")).toEqual([0, 0]);
  });

  test("a renewal keeps all of its locks, and its expiry ends all", async () => {
    const { engine, store, hold, wait } = await start();
    const claim = await hold(["a", "b"], { ttlUs: 1_000_000 });
    await engine.ask({ verb: "renew", ref: claim, ttlUs: 2_000_000 });
    const [a, b] = await Promise.all(["a", "b"].map(async (name) => (await store.view(name, 1))?.holders[0]));
    expect(b?.deadlineUs).toBe(a?.deadlineUs);
    const next = await wait(["b"]);
    expect((await next.toldClaim).claim.state).toBe("held");
  });

  test("a forced release of one lock ends the claim at all", async () => {
    const { engine, hold, held } = await start();
    await hold(["a", "b"]);
    const { outcome } = await engine.ask({
      verb: "force_release",
      name: "b",
      ticketNumber: null,
      reason: "test",
    });
    expect(outcome).toMatchObject({ kind: "forced" });
    for (const name of ["a", "b"]) expect(await held(name)).toEqual([0, 0]);
  });

  test("a waiter that gives up leaves all queues", async () => {
    const { hold, wait, release, held } = await start();
    await hold(["b"]);
    const both = await wait(["a", "b"]);
    await release(both.claim);
    expect(await held("a")).toEqual([0, 0]);
    expect(await held("b")).toEqual([1, 0]);
  });

  test("a repeated request is the same claim, and one for other locks is refused", async () => {
    const { engine, hold } = await start();
    const claim = await hold(["a", "b"], { requestId: "r1" });
    const again = await hold(["a", "b"], { requestId: "r1" });
    expect(again).toMatchObject({ lockId: claim.lockId, ticketNumber: claim.ticketNumber });
    expect(tokens(again)).toEqual(tokens(claim));
    const { outcome } = await engine.acquire({ ...ask("a", { requestId: "r1" }), also: also("c") }, null);
    expect(outcome.kind).toBe("request_id_reused");
  });

  test("it enters a pool with all of its permits there, and waits for the sum", async () => {
    const { engine, store, hold, wait, release, held } = await start();
    const made = await engine.setPool("p/", { limit: 2 }, undefined, "");
    expect(made.kind).toBe("pool");
    const one = await hold(["p/x"]);
    const both = await wait(["p/a", "q", "p/b"]);
    expect(both.place).toMatchObject({ pool: "p/*" });
    expect(await held("q")).toEqual([1, 0]);
    await release(one);
    const { claim } = await both.toldClaim;
    expect(claim.state).toBe("held");
    expect((await store.view("\0pool/p/", 0))?.lock.heldPermits).toBe(2);
    await release(claim);
    expect((await store.view("\0pool/p/", 0))?.lock.heldPermits).toBe(0);
  });

  test("many callers of two servers at few locks: never more than the limit, and all get their turn", async () => {
    const { all, release } = await start(2);
    const names = ["a", "b", "c", "d"];
    const holding = new Set<string>();
    const one = async (seed: number) => {
      const { engine } = all[seed % 2] as (typeof all)[0];
      for (let round = 0; round < 5; round++) {
        const first = (seed + round) % 4;
        const wanted = [names[first], names[(first + 1 + (seed % 3)) % 4]] as [string, string];
        if (seed % 2) wanted.reverse();
        const who = follower();
        const answer = await engine.acquire({ ...ask(wanted[0]), also: also(wanted[1]) }, who);
        const claim = answer.outcome.kind === "held" ? answer.outcome.claim : (await who.toldClaim).claim;
        expect(claim.state).toBe("held");
        for (const name of wanted) {
          expect(holding.has(name)).toBe(false);
          holding.add(name);
        }
        await new Promise(setImmediate);
        for (const name of wanted) holding.delete(name);
        await release(claim, engine);
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, seed) => one(seed)));
  });
});
