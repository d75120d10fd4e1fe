// Fair shares in engines over each database: whose turn is next, also where a decision reads only parts of the queue.

import { afterEach, describe, expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import type { QueueRules } from "../../server/core/queue-rules.ts";
import type { AcquireInput } from "../../server/engine/answers.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replicas, startReplicas } from "../support/replicas.ts";

const BY_PRINCIPAL: QueueRules = {
  waitingMax: null,
  whenFull: "refuse",
  shareBy: "principal",
  headStartMaxUs: 0,
};
const BY_TENANT: QueueRules = { ...BY_PRINCIPAL, shareBy: "label:tenant" };
/** More than a server keeps of a queue in memory, so decisions read groups. */
const LONG = 200;

describe.each(testDatabases())("fair shares on $label", (database) => {
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
    const engines = replicas.all.map(({ engine }) => engine);
    const [engine] = engines as [(typeof engines)[0]];
    const set = (queueRules: QueueRules | null, limit?: number) =>
      engine.ask({
        verb: "set_limit",
        name: "gpu",
        queueRules,
        limit,
        expectedVersion: undefined,
        reason: "",
      });
    const waiting: Waiter[] = [];
    const wait = async (who: string, { by = engine, ...more }: Partial<AcquireInput> & Wait = {}) => {
      const { settled, toldClaim } = follower();
      const caller = { getPeer: () => "192.0.2.1:5", principal: who };
      const answer = await by.acquire(ask("gpu", more), { settled }, caller);
      const waiter = { who, claim: claimOf(answer, "waiting"), toldClaim };
      waiting.push(waiter);
      return waiter;
    };
    const hold = async (who: string) => {
      const caller = { getPeer: () => "192.0.2.1:5", principal: who };
      return claimOf(await engine.acquire(ask("gpu"), null, caller), "held");
    };
    /** Releases, and says who is granted. */
    const next = async (ref: Claim, by = engine) => {
      await by.ask({ verb: "release", ref });
      const granted = await Promise.race(
        waiting.map(async (waiter) => ({ ...waiter, ...(await waiter.toldClaim) })),
      );
      expect(granted.claim.state).toBe("held");
      waiting.splice(
        waiting.findIndex(({ claim }) => claim.ticketNumber === granted.claim.ticketNumber),
        1,
      );
      return granted;
    };
    return { engine, engines, set, hold, wait, next, waiting };
  }
  type Wait = { by?: Replicas["all"][0]["engine"] };
  type Waiter = {
    readonly who: string;
    readonly claim: Claim;
    readonly toldClaim: Promise<{ claim: Claim }>;
  };

  test("the group that holds least is next, and of several such the one that has waited longest", async () => {
    const { set, hold, wait, next } = await start();
    await set(BY_PRINCIPAL, 3);
    const held = [await hold("ann"), await hold("ann"), await hold("bob")];
    for (const who of ["ann", "ann", "bob", "cid", "ann", "bob", "cid"]) await wait(who);
    // What each holds before: ann 1, bob 1; then ann 0, bob 1, cid 1; then ann 1, bob 0, cid 1.
    const who: string[] = [];
    for (const holder of held) {
      const granted = await next(holder);
      who.push(granted.who);
    }
    expect(who).toEqual(["cid", "ann", "bob"]);
  });

  test("one who asks for much at once does not keep others waiting for all of it", async () => {
    const { set, hold, wait, next } = await start(2);
    await set(BY_PRINCIPAL);
    let holder = await hold("ann");
    for (let job = 0; job < LONG; job++) await wait("ann");
    await wait("bob");
    await wait("cid");
    const who: string[] = [];
    for (let turn = 0; turn < 4; turn++) {
      const granted = await next(holder);
      who.push(granted.who);
      holder = granted.claim;
    }
    expect(who).toEqual(["ann", "bob", "cid", "ann"]);
  });

  test.each([1, 2])(
    "with %i servers and a queue longer than they remember, each decision finds whose turn it is",
    async (count) => {
      const { engine, engines, set, hold, wait, next, waiting } = await start(count);
      const other = engines[1] ?? engine;
      await set(BY_TENANT, 4);
      const held = new Map<bigint, { claim: Claim; tenant: string }>();
      for (let at = 0; at < 4; at++) {
        const claim = await hold("all");
        held.set(claim.ticketNumber, { claim, tenant: "none" });
      }
      const tenants = Array.from({ length: 60 }, (_, at) => `tenant ${at}`);
      const tenantOf = new Map<bigint, string>();
      const turns = new Map<string, number>();
      const asking = Array.from({ length: LONG }, (_, at) => {
        // The first tenants ask for most.
        const tenant = tenants[Math.floor((at * at) / LONG) % tenants.length] as string;
        return async () => {
          const { claim } = await wait("all", { by: at % 2 ? engine : other, labels: { tenant } });
          tenantOf.set(claim.ticketNumber, tenant);
        };
      });
      for (const one of asking) await one();
      for (let turn = 0; turn < 100; turn++) {
        const [number, { claim }] = [...held][(turn * 7) % held.size] as [bigint, { claim: Claim }];
        held.delete(number);
        const heldBy = (tenant: string) => [...held.values()].filter((one) => one.tenant === tenant).length;
        const numbers = waiting.map((waiter) => waiter.claim.ticketNumber).sort((a, b) => (a < b ? -1 : 1));
        const groups = [...new Set(numbers.map((each) => tenantOf.get(each) ?? ""))];
        // The first waiter of each has its turn since it came, or since the one before it was granted.
        const turnOf = (tenant: string) =>
          turns.get(tenant) ?? Number(numbers.find((each) => tenantOf.get(each) === tenant));
        const [nextGroup] = groups
          .sort((a, b) => turnOf(a) - turnOf(b))
          .sort((a, b) => heldBy(a) - heldBy(b));
        const fairest = numbers.find((each) => tenantOf.get(each) === nextGroup);
        if (turn % 5 === 4 && turn > 60) {
          // Somebody gives up: the first of its group, or one behind.
          const gone = waiting[turn % waiting.length] as Waiter;
          if (gone.claim.ticketNumber !== fairest) {
            const tenant = tenantOf.get(gone.claim.ticketNumber) ?? "";
            turns.set(tenant, turnOf(tenant));
            await engine.ask({ verb: "release", ref: gone.claim });
            waiting.splice(waiting.indexOf(gone), 1);
          }
        }
        if (turn % 7 === 6 && turn > 60) {
          // Somebody else comes, of a group that waits or of a new one.
          const tenant = turn % 2 ? (tenants[turn % tenants.length] as string) : `tenant ${turn} `;
          const { claim } = await wait("all", { by: turn % 3 ? engine : other, labels: { tenant } });
          tenantOf.set(claim.ticketNumber, tenant);
          // A group in which nobody waits waits for its turn from now on.
          if (!numbers.some((each) => tenantOf.get(each) === tenant)) turns.set(tenant, 1_000 + turn - 0.5);
        }
        const granted = await next(claim, turn % 3 ? engine : other);
        expect(granted.claim.ticketNumber).toBe(fairest);
        const tenant = tenantOf.get(granted.claim.ticketNumber) ?? "";
        held.set(granted.claim.ticketNumber, { claim: granted.claim, tenant });
        turns.set(tenant, 1_000 + turn);
      }
    },
  );

  test("many waits of one group that end at once leave its next at the front", async () => {
    const { engine, set, hold, wait, next, waiting } = await start();
    await set(BY_PRINCIPAL);
    const holder = await hold("ann");
    for (let job = 0; job < LONG; job++) await wait(job % 10 === 9 ? "bob" : "ann");
    const gone = waiting.filter(({ who }) => who === "bob").slice(0, -1);
    await Promise.all(gone.map(({ claim }) => engine.ask({ verb: "release", ref: claim })));
    await engine.ask({ verb: "release", ref: (waiting.find(({ who }) => who === "ann") as Waiter).claim });
    const left = waiting.filter(
      ({ who }, at) => !gone.includes(waiting[at] as Waiter) && (who !== "ann" || at > 0),
    );
    waiting.splice(0, waiting.length, ...left);
    const granted = await next(holder);
    expect(granted.who).toBe("ann");
    expect(granted.claim.ticketNumber).toBe(left[0]?.claim.ticketNumber);
  });

  test("the order of those that wait already changes with the rules, and back", async () => {
    const { engine, set, hold, wait, next } = await start();
    await set(null, 2);
    const [first, second] = [await hold("ann"), await hold("bob")];
    for (let job = 0; job < LONG; job++) await wait("ann");
    await wait("cid");
    await engine.setLimitRule("g", { queueRules: BY_PRINCIPAL }, undefined, "shares");
    const fair = await next(second);
    expect(fair.who).toBe("cid");
    await engine.setLimitRule("g", { queueRules: null }, undefined, "by arrival");
    await wait("bob");
    expect((await next(first)).who).toBe("ann");
    expect((await next(fair.claim)).who).toBe("ann");
  });

  test("more is granted at once when the limit rises, one for each group before a second one", async () => {
    const { set, hold, wait, waiting } = await start();
    await set(BY_PRINCIPAL, 1);
    await hold("ann");
    for (let job = 0; job < LONG; job++) await wait(`principal ${Math.floor(job / 50)}`);
    await set(BY_PRINCIPAL, 10);
    const granted = await Promise.race([
      Promise.all(
        Array.from({ length: 9 }, (_, at) => waiting[(at % 4) * 50 + Math.floor(at / 4)]?.toldClaim),
      ),
    ]);
    expect(granted.map((told) => told?.claim.state)).toEqual(Array(9).fill("held"));
  });

  test("under a pool, whoever has the lock and waits there counts as a holder", async () => {
    const { engine, set, hold, wait, next } = await start();
    await set(BY_PRINCIPAL, 2);
    await engine.setPool("g", { limit: 1 }, undefined, "");
    const first = await hold("ann");
    // It has the lock, and waits at the pool, so ann and bob hold as much.
    const atPool = await wait("bob");
    for (const who of ["ann", "bob", "cid"]) await wait(who);
    const second = await next(first);
    expect(second.claim.ticketNumber).toBe(atPool.claim.ticketNumber);
    const third = await next(second.claim);
    // When the first lease ended, bob held the lock, and ann nothing; when the second one ended, ann held it, and bob nothing.
    expect(third.who).toBe("ann");
    const fourth = await next(third.claim);
    expect([fourth.who, (await next(fourth.claim)).who]).toEqual(["bob", "cid"]);
  });

  test("a request for several locks is refused where shares are fair", async () => {
    const { engine, set } = await start();
    await set(BY_PRINCIPAL);
    const both = ask("gpu", { also: [{ name: "disk", mode: "permit", permits: 1 }] });
    expect((await engine.acquire(both, null)).outcome).toMatchObject({
      kind: "refused",
      reason: "never_fits",
    });
  });
});
