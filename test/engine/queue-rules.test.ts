// Queue rules in engines over each database: how many may wait, and which one ends for a newer one.

import { afterEach, describe, expect, test } from "vitest";
import type { QueueRules } from "../../server/core/queue-rules.ts";
import type { AcquireInput } from "../../server/engine/answers.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replicas, startReplicas } from "../support/replicas.ts";

const NEWEST: QueueRules = {
  waitingMax: 1,
  whenFull: "end_longest_waiting",
  shareBy: null,
  headStartMaxUs: 0,
};
const caller = (principal: string, may = true) => ({
  getPeer: () => "192.0.2.1:5",
  principal,
  maySupersede: () => may,
});

describe.each(testDatabases())("queue rules on $label", (database) => {
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
    const set = (name: string, queueRules: QueueRules | null) =>
      engine.ask({ verb: "set_limit", name, queueRules, expectedVersion: undefined, reason: "CI" });
    const hold = async (name: string) => claimOf(await engine.acquire(ask(name), null), "held");
    const wait = async (
      name: string,
      { by = engine, who = "", may = true, ...more }: Partial<AcquireInput> & Wait = {},
    ) => {
      const { settled, toldClaim } = follower();
      const answer = await by.acquire(ask(name, more), { settled }, caller(who, may));
      return { toldClaim, claim: claimOf(answer, "waiting"), answer };
    };
    return { engine, engines, set, hold, wait };
  }
  type Wait = { by?: Replicas["all"][0]["engine"]; who?: string; may?: boolean };

  test("the newest wins: the waiter of another server is told, and its request takes no new place", async () => {
    const { engine, engines, set, hold, wait } = await start(2);
    const other = engines[1] as typeof engine;
    await set("deploy", NEWEST);
    const first = await hold("deploy");
    const older = await wait("deploy", { by: other, who: "ann", requestId: "push-1" });
    const newer = await wait("deploy", { who: "bob", requestId: "push-2" });
    expect(newer.answer.outcome).toMatchObject({ place: { ahead: 0, queueLength: 1 } });
    const { claim } = await older.toldClaim;
    expect(claim).toMatchObject({ state: "ended", endReason: "superseded", endedBy: "bob" });
    const again = await engine.acquire(ask("deploy", { requestId: "push-1" }), null, caller("ann"));
    expect(claimOf(again, "ended")).toMatchObject({ endReason: "superseded" });
    await engine.ask({ verb: "release", ref: first });
    expect((await newer.toldClaim).claim).toMatchObject({ state: "held", requestId: newer.claim.requestId });
  });

  test("of many that come at once one is left waiting, and all others are told", async () => {
    const { engine, set, hold, wait } = await start();
    await set("deploy", NEWEST);
    const holder = await hold("deploy");
    const all = await Promise.all(Array.from({ length: 60 }, () => wait("deploy")));
    const [newest, ...others] = all.toSorted((a, b) =>
      a.claim.ticketNumber > b.claim.ticketNumber ? -1 : 1,
    );
    for (const { toldClaim } of others)
      expect((await toldClaim).claim).toMatchObject({ endReason: "superseded" });
    await engine.ask({ verb: "release", ref: holder });
    expect((await newest?.toldClaim)?.claim.state).toBe("held");
  });

  test("who may not end another's wait is refused, and may end the own", async () => {
    const { engine, set, hold, wait } = await start();
    await set("deploy", NEWEST);
    await hold("deploy");
    const ann = await wait("deploy", { who: "ann" });
    const guest = await engine.acquire(ask("deploy"), null, caller("guest", false));
    expect(guest.outcome).toMatchObject({ kind: "refused", reason: "queue_full", queueRules: NEWEST });
    const annAgain = await wait("deploy", { who: "ann", may: false });
    expect((await ann.toldClaim).claim).toMatchObject({ endReason: "superseded", endedBy: "ann" });
    expect(annAgain.claim.state).toBe("waiting");
  });

  test("a full queue refuses where its rules say so, by name and by the longest pattern", async () => {
    const { engine, set, hold } = await start();
    const rules: QueueRules = { waitingMax: 2, whenFull: "refuse", shareBy: null, headStartMaxUs: 0 };
    await engine.setLimitRule("etl/", { queueRules: rules }, undefined, "two are enough");
    await set("etl/own", { waitingMax: 1, whenFull: "refuse", shareBy: null, headStartMaxUs: 0 });
    for (const [name, most] of [
      ["etl/any", 2],
      ["etl/own", 1],
    ] as const) {
      await hold(name);
      for (let waits = 0; waits < most; waits++) claimOf(await engine.acquire(ask(name), null), "waiting");
      const { outcome } = await engine.acquire(ask(name), null);
      expect(outcome).toMatchObject({
        kind: "refused",
        reason: "queue_full",
        queueRules: { waitingMax: most },
      });
    }
    await set("etl/own", null);
    claimOf(await engine.acquire(ask("etl/own"), null), "waiting");
  });

  test("a bound that is lowered ends nobody, until the next requests come", async () => {
    const { engine, set, hold, wait } = await start();
    await hold("deploy");
    const waits: Awaited<ReturnType<typeof wait>>[] = [];
    for (let at = 0; at < 5; at++) waits.push(await wait("deploy"));
    await set("deploy", { waitingMax: 2, whenFull: "end_longest_waiting", shareBy: null, headStartMaxUs: 0 });
    expect((await engine.view("deploy")).lock.waiting).toBe(5);
    // A request ends as many as its decision has read: itself and a few more.
    while ((await engine.view("deploy")).lock.waiting > 2) waits.push(await wait("deploy"));
    for (const { toldClaim } of waits.slice(0, -2))
      expect((await toldClaim).claim).toMatchObject({ endReason: "superseded" });
    expect(waits.length).toBeLessThan(5 + 5);
    expect(await engine.view("deploy")).toMatchObject({
      lock: { waiting: 2 },
      queueRules: { waitingMax: 2, source: "name" },
    });
  });

  test("a request for several locks is refused where the newest wins, also when all are free", async () => {
    const { engine, set } = await start();
    await set("deploy", NEWEST);
    const also = [{ name: "deploy", mode: "permit" as const, permits: 1 }];
    const { outcome } = await engine.acquire(ask("database", { also }), null);
    expect(outcome).toMatchObject({
      ...{ kind: "refused", reason: "never_fits", queueRules: NEWEST },
      at: { lockName: "deploy" },
    });
  });
});
