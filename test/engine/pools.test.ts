// Pools in an engine over an in-memory database: who holds, who waits where, and what each end gives back.

import { afterEach, expect, test } from "vitest";
import { isEntering, SPENDS } from "../../server/core/claim.ts";
import type { NewSetting } from "../../server/core/limit.ts";
import { poolName } from "../../server/core/pools.ts";
import type { Engine } from "../../server/engine/engine.ts";
import { openStore } from "../../server/storage/open.ts";
import type { Store } from "../../server/storage/store.ts";
import { ask, claimOf, follower } from "../support/replicas.ts";
import { startEngine } from "../support/test-engine.ts";

const ours: { engine: Engine; store: Store }[] = [];
afterEach(async () => {
  for (const { engine, store } of ours.splice(0)) {
    await engine.stop();
    const findings = await store.checkInvariants(20);
    await store.close();
    // Limits that were lowered, or set while others held, are no faults.
    expect(findings.filter(({ severity }) => severity === "error")).toEqual([]);
  }
});

async function start() {
  const store = await openStore("sqlite::memory:");
  const { engine, events, failures } = await startEngine(store);
  ours.push({ engine, store });
  const setPool = async (pattern: string, set: NewSetting) => {
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
  const wait = async (name: string, more: Parameters<typeof ask>[1] = {}) => {
    const who = follower();
    const answer = await engine.acquire(ask(name, more), who);
    return { ...who, claim: claimOf(answer, "waiting"), place: (answer.outcome as { place: unknown }).place };
  };
  const release = (
    claim: Parameters<typeof claimOf>[0] extends never
      ? never
      : { lockId: bigint; ticketNumber: bigint; secret: string },
  ) => engine.ask({ verb: "release", ref: claim });
  return { engine, store, events, failures, setPool, pool, hold, wait, release };
}

test("a pool counts all names under it, and what one gives back lets the first of the others go on", async () => {
  const { setPool, pool, hold, wait, release, failures } = await start();
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
  expect(failures).toEqual([]);
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
  const { setPool, engine, wait } = await start();
  await setPool("p/*", { rate: { permits: 20, perUs: 1_000_000, burst: 1 } });
  const first = await engine.acquire(ask("p/a", { ttlUs: SPENDS }), null);
  claimOf(first, "ended");
  const waiters = [];
  for (const name of ["p/a", "p/b", "p/c"]) waiters.push(await wait(name, { ttlUs: SPENDS }));
  const told = await Promise.all(waiters.map(({ toldClaim }) => toldClaim));
  const startUs = (first.outcome as { claim: { grantedAtUs: number } }).claim.grantedAtUs;
  for (const [index, { claim }] of told.entries()) {
    expect(claim.endReason).toBe("spent");
    expect((claim.grantedAtUs ?? 0) - startUs).toBeGreaterThanOrEqual((index + 1) * 50_000);
  }
});
