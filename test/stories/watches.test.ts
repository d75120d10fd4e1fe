// Watches of locks while replicas decide, while a database is away, and while it fails over: a watch arrives at the
// same picture as a listing.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import type { ViewedLock } from "../../server/engine/answers.ts";
import type { Engine } from "../../server/engine/engine.ts";
import { SWEEP_BEHIND_MS } from "../../server/engine/engine-bounds.ts";
import { Fault } from "../../server/engine/faults.ts";
import * as asks from "../support/asks.ts";
import { type TestDatabase, testDatabases } from "../support/database.ts";
import { chanceFrom } from "../support/faulty-store.ts";
import { Picture } from "../support/picture.ts";
import { ask, claimOf, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { seed } from "../support/seed.ts";
import { leavable } from "../support/wrapped-store.ts";

const LOCKS = 12;
const STEPS = 150;
/** Of one replica, which may fail while the other one goes on. */
const READS = ["decidedSince", "poll", "list", "views", "limitRules"] as const;
const closed = new Fault("shutting_down", "closed", "closed by the test", { retryAfterMs: 0 });

describe.each(testDatabases())("watches on $label", (database: TestDatabase) => {
  let replicas: Replicas;
  let here: Replica;
  let there: Replica;
  let away = false;
  const open: Picture[] = [];

  beforeAll(async () => {
    const isAway = [() => away, () => false];
    replicas = await startReplicas(database, 2, {}, (store) =>
      leavable(store, isAway.shift() ?? (() => false), READS),
    );
    [here, there] = replicas.all as [Replica, Replica];
  });
  afterAll(async () => {
    for (const { watch } of open) watch.close(closed);
    await replicas?.stop();
  });

  async function watching(prefix: string): Promise<Picture> {
    const picture = new Picture(here.engine.watchLocks(prefix));
    open.push(picture);
    void picture.takeAll();
    await picture.until(({ isComplete }) => isComplete);
    return picture;
  }

  /** Resolves when the picture equals a listing. */
  async function agrees(picture: Picture, prefix: string): Promise<void> {
    for (;;) {
      const listed = shown(await listing(there.engine, prefix));
      if (shown(picture.locks.values()) === listed) return;
      await sleep(20);
    }
  }

  const held = async (engine: Engine, name: string, owner = "") =>
    claimOf(await engine.acquire(ask(name, { owner, mayWait: false }), null), "held");

  test("send what another replica has decided, and locks that it has created", async () => {
    const picture = await watching("other/");
    const claim = await held(there.engine, "other/a", "first");
    await picture.until(({ locks }) => locks.get("other/a")?.holders[0]?.owner === "first");
    // Within the same second, in which the server does not write the time of the last decision again.
    await there.engine.ask(asks.release(claim));
    await picture.until(({ locks }) => locks.get("other/a")?.lock.holders === 0);
    await held(there.engine, "other/a", "second");
    await picture.until(({ locks }) => locks.get("other/a")?.holders[0]?.owner === "second");
    expect(picture.begunAnew).toBe(0);
  });

  test(`end with what a listing shows, whatever two replicas do at once (seed ${seed})`, async () => {
    const chance = chanceFrom(seed);
    const early = await watching("busy/");
    const held: { engine: Engine; claim: Claim }[] = [];
    let late: Picture | undefined;
    for (let step = 0; step < STEPS; step++) {
      const { engine } = chance() < 0.5 ? here : there;
      const name = `busy/${Math.floor(chance() * LOCKS)}`;
      if (chance() < 0.2) await engine.ask(asks.setLimit(name, 1 + Math.floor(chance() * 5), undefined, ""));
      else if (chance() < 0.5 && held.length > 0) {
        const [given] = held.splice(Math.floor(chance() * held.length), 1);
        if (given) await given.engine.ask(asks.release(given.claim));
      } else {
        const { outcome } = await engine.acquire(ask(name), null);
        if (outcome.kind === "held" || outcome.kind === "waiting")
          held.push({ engine, claim: outcome.claim });
      }
      if (step === STEPS / 2) late = await watching("busy/");
    }
    await agrees(early, "busy/");
    await agrees(late as Picture, "busy/");
    expect(early.begunAnew).toBe(0);
  });

  test("make up for a short outage without a message", async () => {
    const picture = await watching("short/");
    await held(there.engine, "short/a");
    await picture.until(({ locks }) => locks.has("short/a"));
    away = true;
    await held(there.engine, "short/b");
    await sleep(300);
    away = false;
    await picture.until(({ locks }) => locks.has("short/b"));
    expect(picture.begunAnew).toBe(0);
  });

  test("begin anew after a long outage, with the present state", async () => {
    const lost = await held(there.engine, "outage/a", "before");
    await there.store.resolve(["outage/gone"]);
    const picture = await watching("outage/");
    away = true;
    await there.engine.ask(asks.release(lost));
    await held(there.engine, "outage/b", "meanwhile");
    await there.store.purgeLocks(-10_000_000, 1_000);
    await sleep(SWEEP_BEHIND_MS + 500);
    away = false;
    await picture.until(({ begunAnew }) => begunAnew === 1);
    await agrees(picture, "outage/");
    expect(picture.locks.get("outage/b")?.holders[0]?.owner).toBe("meanwhile");
    expect(picture.locks.has("outage/gone")).toBe(false);
    expect(here.watchEvents).toContainEqual({ kind: "watch_began_anew", cause: "outage" });
  });

  test("begin anew after a fail-over", async () => {
    await held(there.engine, "failed/a");
    const picture = await watching("failed/");
    await there.store.failOver({ seenEpoch: 0n, epochMin: 1n, pauseUsMin: 0, pauseUsMax: 0 });
    await picture.until(({ begunAnew }) => begunAnew === 1);
    await agrees(picture, "failed/");
    expect(here.watchEvents).toContainEqual({ kind: "watch_began_anew", cause: "failed_over" });
  });
});

async function listing(engine: Engine, prefix: string): Promise<ViewedLock[]> {
  const views: ViewedLock[] = [];
  for await (const view of engine.views({
    prefix,
    afterName: null,
    max: 1_000,
    busyOnly: false,
    order: "name",
  }))
    views.push(view);
  return views;
}

/** What a client would see, ordered by name. */
function shown(views: Iterable<ViewedLock>): string {
  const locks = [...views].map(({ lock, limit, holders, waiters }) => ({
    name: lock.name,
    limit: limit.limit,
    holders: holders.map(({ ticketNumber, fencingToken }) => `${ticketNumber} ${fencingToken}`),
    waiters: waiters.map(({ ticketNumber }) => String(ticketNumber)),
  }));
  return JSON.stringify(locks.sort((a, b) => (a.name < b.name ? -1 : 1)));
}
