// Pools in engines over each database: who holds, who waits where, and what each end gives back.

import { afterEach, describe, expect, test } from "vitest";
import { type ClaimRef, isEntering, SPENDS } from "../../server/core/claim.ts";
import type { Place } from "../../server/core/command.ts";
import type { NewSettings } from "../../server/core/limit.ts";
import { poolName } from "../../server/core/pools.ts";
import { testDatabases } from "../support/database.ts";
import { shareAPool } from "../support/pool-load.ts";
import { ask, claimOf, follower, type Replicas, startReplicas } from "../support/replicas.ts";

describe.each(testDatabases())("pools on $label", (database) => {
  const ours: Replicas[] = [];
  afterEach(async () => {
    for (const replicas of ours.splice(0)) {
      const findings = await replicas.all[0]?.store.checkInvariants(20);
      const failures = replicas.all.flatMap((replica) => replica.failures);
      await replicas.stop();
      // Limits that were lowered, or set while others held, are no faults.
      expect(findings?.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(failures).toEqual([]);
    }
  });

  async function start(count = 1) {
    const replicas = await startReplicas(database, count);
    ours.push(replicas);
    const [{ engine, store }] = replicas.all as [(typeof replicas.all)[0]];
    const setPool = async (pattern: string, set: NewSettings) => {
      const answer = await engine.setPool(pattern.slice(0, -1), set, undefined, "");
      if (answer.kind !== "pool") throw new Error(answer.kind);
      return answer;
    };
    const pool = async (pattern: string) => {
      const view = await store.view(poolName(pattern.slice(0, -1)), 0);
      if (!view) throw new Error(`no pool ${pattern}`);
      const { heldPermits, holders, waiting } = view.lock;
      return { heldPermits, holders, waiting };
    };
    const hold = async (name: string, more: Parameters<typeof ask>[1] = {}) =>
      claimOf(await engine.acquire(ask(name, more), null), "held");
    const wait = async (name: string, more: Parameters<typeof ask>[1] = {}, by = engine) => {
      const who = follower();
      const answer = await by.acquire(ask(name, more), who);
      const { place } = answer.outcome as { place: Place | null };
      return { ...who, claim: claimOf(answer, "waiting"), place };
    };
    const release = (ref: ClaimRef, by = engine) => by.ask({ verb: "release", ref });
    return { all: replicas.all, engine, store, setPool, pool, hold, wait, release };
  }

  test("a pool counts all names under it, and what one gives back lets the first of the others go on", async () => {
    const { setPool, pool, hold, wait, release } = await start();
    await setPool("p/*", { limit: 2 });
    const a = await hold("p/a");
    await hold("p/b");
    const c = await wait("p/c");
    expect(isEntering(c.claim)).toBe(true);
    expect(c.place).toMatchObject({ ahead: 0, queueLength: 1, pool: "p/*" });
    const d = await wait("p/d");
    expect(await pool("p/*")).toEqual({ heldPermits: 2, holders: 2, waiting: 2 });
    await release(a);
    const { claim } = await c.toldClaim;
    expect(claim).toMatchObject({ state: "held", fencingToken: 1n });
    expect(await pool("p/*")).toEqual({ heldPermits: 2, holders: 2, waiting: 1 });
    await release(claim);
    expect((await d.toldClaim).claim.state).toBe("held");
  });

  test("a tenant's pool within a pool: narrow permits are held while the claim waits at the wide one", async () => {
    const { setPool, pool, hold, wait, release, engine } = await start();
    await setPool("p/*", { limit: 2 });
    await setPool("p/acme/*", { limit: 1 });
    const a = await hold("p/acme/1");
    const b = await hold("p/other");
    const c = await wait("p/acme/2");
    expect(c.place).toMatchObject({ pool: "p/acme/*" });
    const d = await wait("p/else");
    expect(d.place).toMatchObject({ pool: "p/*" });
    // The permit of acme goes to c, which then waits behind d.
    await release(a);
    expect((await d.toldClaim).claim.state).toBe("held");
    await expect.poll(async () => await engine.place(c.claim)).toMatchObject({ ahead: 0, pool: "p/*" });
    expect(await pool("p/acme/*")).toEqual({ heldPermits: 1, holders: 1, waiting: 0 });
    await release(b);
    expect((await c.toldClaim).claim.state).toBe("held");
  });

  test("a limit of 0 pauses the tree, a higher one lets all go on, and a removed pool keeps nobody", async () => {
    const { setPool, hold, wait, pool, store } = await start();
    await setPool("p/*", { limit: 0 });
    const waiters = [await wait("p/a"), await wait("p/b"), await wait("p/c")];
    await setPool("p/*", { limit: 2 });
    for (const { toldClaim } of waiters.slice(0, 2)) expect((await toldClaim).claim.state).toBe("held");
    expect(await pool("p/*")).toEqual({ heldPermits: 2, holders: 2, waiting: 1 });
    await setPool("p/*", { limit: null });
    expect((await waiters[2]?.toldClaim)?.claim.state).toBe("held");
    await hold("p/d");
    expect((await store.limitRules()).every(({ poolId }) => !poolId)).toBe(true);
  });

  test("a claim on its way comes back to a pool that was paused behind it, and takes its permit again later", async () => {
    const { setPool, pool, hold, wait, release, engine } = await start();
    await setPool("p/*", { limit: 1 });
    await setPool("p/acme/*", { limit: 1 });
    const before = await hold("p/other");
    const c = await wait("p/acme/1");
    expect(c.place).toMatchObject({ pool: "p/*" });
    await setPool("p/acme/*", { limit: 0 });
    await release(before);
    await expect.poll(async () => await engine.place(c.claim)).toMatchObject({ ahead: 0, pool: "p/acme/*" });
    expect(await pool("p/acme/*")).toEqual({ heldPermits: 0, holders: 0, waiting: 1 });
    await setPool("p/acme/*", { limit: 1 });
    expect((await c.toldClaim).claim.state).toBe("held");
    expect(await pool("p/acme/*")).toEqual({ heldPermits: 1, holders: 1, waiting: 0 });
  });

  test("who held before the pool was made is counted", async () => {
    const { setPool, hold, wait, pool, release, store } = await start();
    const before = [await hold("p/a"), await hold("p/b"), await hold("p/c")];
    expect((await setPool("p/*", { limit: 2 })).lock.counting).not.toBeNull();
    await expect.poll(async () => (await store.view(poolName("p/"), 0))?.lock.counting).toBeNull();
    expect(await pool("p/*")).toEqual({ heldPermits: 3, holders: 3, waiting: 0 });
    const d = await wait("p/d");
    await release(before[0] as (typeof before)[0]);
    await release(before[1] as (typeof before)[0]);
    expect((await d.toldClaim).claim.state).toBe("held");
  });

  test("a try takes all levels or none, and passes nobody", async () => {
    const { setPool, hold, wait, pool, engine } = await start();
    await setPool("p/*", { limit: 1 });
    await hold("p/a");
    const { outcome } = await engine.acquire(ask("p/b", { mayWait: false }), null);
    expect(outcome).toMatchObject({
      kind: "refused",
      reason: "busy",
      limit: { source: "pool", pattern: "p/*" },
    });
    await wait("p/c");
    await setPool("p/*", { limit: 0 });
    const paused = await engine.acquire(ask("p/b", { mayWait: false }), null);
    expect(paused.outcome).toMatchObject({ kind: "refused", reason: "paused" });
    const never = await engine.acquire(ask("p/b", { permits: 1 }), null);
    expect(never.outcome.kind).toBe("waiting");
    expect(await pool("p/*")).toEqual({ heldPermits: 1, holders: 1, waiting: 2 });
  });

  test("a rate on a pool is taken together, by spends, too", async () => {
    const { setPool, engine } = await start();
    await setPool("p/*", { rate: { permits: 20, perUs: 1_000_000, burst: 1 } });
    const spend = async (name: string) => {
      const who = follower();
      const { outcome } = await engine.acquire(ask(name, { ttlUs: SPENDS }), who);
      return outcome.kind === "ended" ? outcome.claim : (await who.toldClaim).claim;
    };
    const spent = await Promise.all(["p/a", "p/b", "p/a", "p/c", "p/b"].map(spend));
    expect(spent.map(({ endReason }) => endReason)).toEqual(Array(5).fill("spent"));
    const atUs = spent.map(({ grantedAtUs }) => grantedAtUs ?? 0).sort((a, b) => a - b);
    // A microsecond beside it, for the uncertainty of the clock of a database that is reached by network: see rate.ts.
    for (const [index, us] of atUs.entries())
      expect(us - (atUs[0] ?? 0)).toBeGreaterThan(index * 50_000 - 25_000);
  });

  test("a capture takes as many as the pool has room for, and one that waits hears of room in the pool", async () => {
    const { setPool, hold, release, engine } = await start();
    await setPool("p/*", { limit: 2 });
    const names = ["p/jobs/1", "p/jobs/2", "p/jobs/3", "q/1"];
    const input = {
      ...{ target: { kind: "names" as const, names }, max: 4, terms: null, requestId: "" },
      ...{ ttlUs: 30_000_000, owner: "", labels: {} },
    };
    const other = await hold("p/other");
    const first = await engine.capture(input);
    expect(first.leases.map(({ lockName }) => lockName).sort()).toEqual(["p/jobs/1", "q/1"]);
    const ofPool = { ...input, target: { kind: "names" as const, names: ["p/jobs/2", "p/jobs/3"] } };
    const waiting = engine.captureWhenFree(ofPool, new AbortController().signal);
    await release(other);
    expect((await waiting).leases).toHaveLength(1);
  });

  test("a pool that was set by a server which died before the rules knew of it comes into force", async () => {
    const { engine, store, setPool, hold, wait } = await start();
    const set = { expectedVersion: undefined, reason: "" };
    await engine.ask({ verb: "set_limit", name: poolName("p/"), limit: 1, ...set });
    // Servers look every few seconds, and after each new pool.
    await setPool("q/*", { limit: 1 });
    await expect
      .poll(async () => (await store.limitRules()).filter(({ poolId }) => poolId).length, { timeout: 20_000 })
      .toBe(2);
    await hold("p/a");
    await wait("p/b");
  });

  test("a pool that is set again while an earlier call still removes it stays in force", async () => {
    const { all, engine, setPool, hold } = await start(2);
    const [{ store }, other] = all as [(typeof all)[0], (typeof all)[0]];
    await setPool("p/*", { limit: 2 });
    const { transact } = store;
    const reached = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    store.transact = async (plan, decide) => {
      if (plan.rule) {
        reached.resolve();
        await goesOn.promise;
      }
      await transact.call(store, plan, decide);
    };
    const removed = setPool("p/*", { limit: null });
    await reached.promise;
    await other.engine.setPool("p/", { limit: 1 }, undefined, "");
    goesOn.resolve();
    await removed;
    await hold("p/a");
    const { outcome } = await engine.acquire(ask("p/b", { mayWait: false }), null);
    expect(outcome).toMatchObject({ kind: "refused", reason: "busy", limit: { limit: 1, pattern: "p/*" } });
  });

  test("a spend passes a lock whose limit was lowered below what is held", async () => {
    const { setPool, engine, hold, pool } = await start();
    await setPool("p/*", { limit: 5 });
    const setLimit = (limit: number) =>
      engine.ask({ verb: "set_limit", name: "p/a", limit, expectedVersion: undefined, reason: "" });
    await setLimit(2);
    await hold("p/a", { permits: 2 });
    await setLimit(1);
    const { outcome } = await engine.acquire(ask("p/a", { ttlUs: SPENDS }), null);
    expect(outcome).toMatchObject({ kind: "ended", claim: { endReason: "spent" } });
    expect(await pool("p/*")).toEqual({ heldPermits: 2, holders: 1, waiting: 0 });
  });

  test("two servers share a pool: what one gives back, a waiter at the other one gets", async () => {
    const { setPool, hold, wait, release, all } = await start(2);
    await setPool("p/*", { limit: 2 });
    const there = all[1]?.engine;
    const held = [await hold("p/a"), await hold("p/b")];
    const waiters = [];
    for (const name of ["p/c", "p/d", "p/e"]) waiters.push(await wait(name, {}, there));
    for (const claim of held) await release(claim);
    for (const { toldClaim } of waiters.slice(0, 2)) {
      const { claim } = await toldClaim;
      expect(claim.state).toBe("held");
      await release(claim);
    }
    expect((await waiters[2]?.toldClaim)?.claim.state).toBe("held");
  });

  test("many claims of two servers never hold more than a pool and its tenants allow, and all get their turn", async () => {
    const { all } = await start(2);
    await shareAPool(all, 60);
  });

  test("the end of a lease or of a place gives back each level, however it comes", async () => {
    const { setPool, hold, wait, pool, engine } = await start();
    await setPool("p/*", { limit: 1 });
    await setPool("p/a/*", { limit: 5 });
    const short = await hold("p/a/1", { ttlUs: 1_000_000 });
    const waiter = await wait("p/a/2", { maxWaitUs: 300_000 });
    expect((await waiter.toldClaim).claim.endReason).toBe("timed_out");
    expect(await pool("p/a/*")).toEqual({ heldPermits: 1, holders: 1, waiting: 0 });
    const next = await wait("p/a/3");
    const { claim } = await next.toldClaim;
    expect(claim.grantedAtUs).toBeGreaterThanOrEqual((short.grantedAtUs ?? 0) + 1_000_000);
    await engine.ask({ verb: "force_release", name: "p/a/3", ticketNumber: null, reason: "test" });
    expect(await pool("p/*")).toEqual({ heldPermits: 0, holders: 0, waiting: 0 });
    expect(await pool("p/a/*")).toEqual({ heldPermits: 0, holders: 0, waiting: 0 });
  });
});
