// Waiters whose calls are gone, although the database does not know it yet or learned it too early: a gone waiter
// delays the queue by at most one grace period, and a waiter that nobody can come back to is removed from the queue.

import { setImmediate as aTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Fault } from "../../server/engine/faults.ts";
import type { Store } from "../../server/storage/store.ts";
import { StoreError } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { testDatabases } from "../support/database.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { until } from "../support/until.ts";
import { wrapped } from "../support/wrapped-store.ts";

const MANY = 200;

type Skipped = Awaited<ReturnType<Store["heartbeat"]>>;

/** A store that can delay its heartbeats and can become unavailable. */
function delayedStore(store: Store) {
  const control = {
    isAway: false,
    /** If true, the next transaction commits, and the database goes away before it can confirm that. */
    goesAwayAtCommit: false,
    /** Replaces the next heartbeat that has keys; receives the real heartbeat to call. */
    onHeartbeat: null as ((heartbeat: () => Promise<Skipped>) => Promise<Skipped>) | null,
  };
  const away = () => new StoreError("unavailable", "injected", "The database is away.");
  const proxy = wrapped(store, {
    async transact(plan, decide) {
      if (control.isAway) throw away();
      await store.transact(plan, decide);
      if (!control.goesAwayAtCommit) return;
      control.goesAwayAtCommit = false;
      control.isAway = true;
      throw new StoreError("unknown_outcome", "injected", "The answer to COMMIT was lost.");
    },
    async heartbeat(replica, keys, keepForUs) {
      if (control.isAway) throw away();
      const beat = () => store.heartbeat(replica, keys, keepForUs);
      const hook = control.onHeartbeat;
      if (!hook || keys.length === 0) return await beat();
      control.onHeartbeat = null;
      return await hook(beat);
    },
  });
  return { proxy, control };
}

describe.each(testDatabases())("waiters that have left on $label", (database) => {
  type Control = ReturnType<typeof delayedStore>["control"];

  async function started(graceUs: number, run: (replicas: Replicas, control: Control) => Promise<void>) {
    let control: Control | undefined;
    const policy = { graceUs, attachedForUs: graceUs * 1.25 };
    const replicas = await startReplicas(database, 1, policy, (store) => {
      const delayed = delayedStore(store);
      control = delayed.control;
      return delayed.proxy;
    });
    try {
      await run(replicas, control as Control);
    } finally {
      await replicas.stop();
    }
  }

  test("while the database was away leave the queue once it is back", () =>
    started(600_000_000, async ({ all: [replica] }, control) => {
      const { engine, events } = replica as Replica;
      const holder = claimOf(await engine.acquire(ask("away"), null), "held");
      const gone = follower();
      const ticket = claimOf(await engine.acquire(ask("away", { ttlUs: null }), gone), "waiting");
      const behind = follower();
      claimOf(await engine.acquire(ask("away"), behind), "waiting");
      control.isAway = true;
      engine.detach(ticket, gone, false);
      await engine.ask(asks.release(holder)).catch((error: unknown) => expect(error).toBeInstanceOf(Fault));
      control.isAway = false;
      // This comes far sooner than the grace period, which is longer than this test's timeout.
      await engine.ask(asks.release(holder));
      const { claim } = await behind.toldClaim;
      expect(claim.state).toBe("held");
      // A poll may show the grant before the answer to the commit has arrived, which reports the events.
      const ended = () =>
        events.flatMap((event) => (event.kind === "ended" ? [event.claim.ticketNumber] : []));
      await until(() => ended().includes(ticket.ticketNumber));
    }));

  test("stay detached although a heartbeat in flight reports them alive", () =>
    started(4_000_000, async ({ all: [replica] }, control) => {
      const { engine, store } = replica as Replica;
      const holder = claimOf(await engine.acquire(ask("crowd"), null), "held");
      const crowd = await Promise.all(
        Array.from({ length: MANY }, async () => {
          const waiter = follower();
          const answer = await engine.acquire(ask("crowd", { ttlUs: null }), waiter);
          return { waiter, ticket: claimOf(answer, "waiting") };
        }),
      );
      const rows = async () => (await store.claims(crowd.map(({ ticket }) => ticket))).claims;
      const beaten = Promise.withResolvers<void>();
      control.onHeartbeat = async (heartbeat) => {
        for (const { waiter, ticket } of crowd) engine.detach(ticket, waiter, true);
        // The engine decides this renewal after everything submitted before it.
        await engine.ask(asks.renew(holder, undefined));
        expect((await rows()).filter(({ replica: listener }) => listener !== null)).toEqual([]);
        const skipped = await heartbeat();
        beaten.resolve();
        return skipped;
      };
      await beaten.promise;
      await aTurn();
      await engine.ask(asks.renew(holder, undefined));
      const listeners = (await rows()).map(({ replica: listener }) => listener);
      expect(listeners).toEqual(crowd.map(() => null));
    }));

  test("and cannot come back release an unheard grant, even if the database was away", () =>
    started(600_000_000, async ({ all: [replica] }, control) => {
      const { engine } = replica as Replica;
      const unheard = claimOf(await engine.acquire(ask("unheard", { ttlUs: null }), null), "held");
      const behind = follower();
      claimOf(await engine.acquire(ask("unheard"), behind), "waiting");
      control.isAway = true;
      engine.detach(unheard, null, false);
      await engine
        .ask(asks.renew(unheard, undefined))
        .catch((error: unknown) => expect(error).toBeInstanceOf(Fault));
      control.isAway = false;
      expect((await behind.toldClaim).claim.state).toBe("held");
    }));

  test.each([
    ["at once", 0],
    ["after a wait", 1],
  ])("lose a lock that they were granted %s by a commit without an answer", (_when, holders) =>
    started(600_000_000, async ({ all: [replica] }, control) => {
      const { engine } = replica as Replica;
      const name = `unknown ${holders}`;
      const held = holders > 0 ? claimOf(await engine.acquire(ask(name), null), "held") : null;
      control.goesAwayAtCommit = true;
      const lost = engine.acquire(ask(name, { ttlUs: null }), follower());
      await expect(lost).rejects.toBeInstanceOf(Fault);
      control.isAway = false;
      const behind = follower();
      const answer = await engine.acquire(ask(name), behind);
      if (held) await engine.ask(asks.release(held));
      const { claim } = answer.outcome.kind === "held" ? answer.outcome : await behind.toldClaim;
      expect(claim.state).toBe("held");
    }),
  );
});
