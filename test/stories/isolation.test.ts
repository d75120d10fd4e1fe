// While another transaction holds the rows of one lock, only callers of that lock wait. It does not delay commands
// decided beside it, waiters of other locks, their places, or a limit for many names.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import { requestKeyOf } from "../../server/storage/rows/values.ts";
import type { Store } from "../../server/storage/store.ts";
import * as asks from "../support/asks.ts";
import { freshDatabase, mysqlFamily, reportLeftOut, testDatabases } from "../support/database.ts";
import { clockUs, openPlainConnection, type PlainConnection, until } from "../support/mysql-stage.ts";
import { ask, claimOf, follower, type Replica, type Replicas, startReplicas } from "../support/replicas.ts";
import { wrapped } from "../support/wrapped-store.ts";

const SECOND_US = 1_000_000;
const GRACE_US = 2 * SECOND_US;
/** Below the time that a statement waits for a row lock, 2 s. */
const LOCK_WAIT_MS = 1_500;
/**
 * "At once" means: about as fast as without a held lock on this machine right now, and without waiting for a row
 * lock.
 */
const atOnceMs = (usualMs: number) => 5 * usualMs + LOCK_WAIT_MS;
const OTHERS = 100;

/** What a user's transaction may lock: what the README shows, and less. */
const GUARD = "rowlock_lock FORCE INDEX (PRIMARY) WHERE id = ?";
/** Waiters, and holders other than the first. */
const CLAIMS = "rowlock_claim FORCE INDEX (PRIMARY) WHERE lock_id = ?";
const HOLDS: Readonly<Record<string, readonly string[]>> = {
  "the guard row and the claims": [GUARD, CLAIMS],
  "the claims alone": [CLAIMS],
};

describe.each(mysqlFamily())(
  "on $flavour $version, beside a lock that another transaction holds",
  (server) => {
    let replicas: Replicas;
    let here: Replica;
    let there: Replica;
    let plain: PlainConnection;
    /** Locks that a poll of `there` found due. */
    const seenDue = new Set<bigint>();
    const connections: PlainConnection[] = [];

    beforeAll(async () => {
      let stores = 0;
      const wrap = (store: Store) => (++stores === 2 ? watched(store) : store);
      const policy = { graceUs: GRACE_US, attachedForUs: (GRACE_US * 5) / 4 };
      replicas = await startReplicas({ fresh: () => freshDatabase(server) }, 2, policy, wrap);
      [here, there] = replicas.all as [Replica, Replica];
      plain = await openPlainConnection(replicas.url);
      connections.push(plain);
    });
    afterAll(async () => {
      for (const connection of connections) connection.close();
      expect((await here.store.checkInvariants(10)).filter(({ severity }) => severity === "error")).toEqual(
        [],
      );
      await replicas.stop();
      expect([...here.failures, ...there.failures]).toEqual([]);
    });

    const watched = (store: Store) =>
      wrapped(store, {
        async poll(lockIds, aheadUs) {
          const read = await store.poll(lockIds, aheadUs);
          for (const id of read.due) seenDue.add(id);
          return read;
        },
      });

    /** Holds rows of the lock in a stranger's transaction until the returned function is called. */
    async function hold(
      lockId: bigint,
      what: readonly string[] = [GUARD, CLAIMS],
    ): Promise<() => Promise<void>> {
      const connection = await openPlainConnection(replicas.url);
      connections.push(connection);
      await connection.run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
      await connection.run("START TRANSACTION");
      for (const rows of what) await connection.run(`SELECT 1 FROM ${rows} LOCK IN SHARE MODE`, [lockId]);
      return async () => {
        await connection.run("COMMIT");
      };
    }

    const lease = async (name: string, overrides: Parameters<typeof ask>[1] = {}) =>
      claimOf(await here.engine.acquire(ask(name, overrides), null), "held");

    async function leases(prefix: string, count: number): Promise<Claim[]> {
      return Promise.all(Array.from({ length: count }, (_, index) => lease(`${prefix}/${index}`)));
    }

    /**
     * Renews all of these in two rounds: the first is decided together with what was submitted before, the second while
     * that still waits. Returns the milliseconds.
     */
    async function renewedMs(others: readonly Claim[]): Promise<number> {
      const startedMs = performance.now();
      for (let round = 0; round < 2; round++) {
        const renewed = await Promise.all(
          others.map((each) => here.engine.ask(asks.renew(each, 60 * SECOND_US))),
        );
        expect(new Set(renewed.map(({ outcome }) => outcome.kind))).toEqual(new Set(["held"]));
      }
      return performance.now() - startedMs;
    }

    test.each(Object.entries(HOLDS))(
      "a claim for several locks delays nobody at its others while it holds %s",
      async (_, what) => {
        const alone = await lease("several/usual");
        const usualMs = await renewedMs([alone]);
        const [first, second] = [await lease("several/a"), await lease("several/b")];
        // Both sides of it: rows are locked by rising ids.
        for (const held of [first, second]) {
          const other = held === first ? second : first;
          const [name, further] = held === first ? ["several/b", "several/a"] : ["several/a", "several/b"];
          const letGo = await hold(held.lockId, what);
          const who = follower();
          const also = [{ name: further, mode: "permit" as const, permits: 1 }];
          const asked = here.engine.acquire({ ...ask(name), also }, who);
          expect(await renewedMs([other])).toBeLessThan(atOnceMs(usualMs));
          await letGo();
          const { outcome } = await asked;
          expect(outcome.kind).toBe("waiting");
          if (outcome.kind === "waiting") await here.engine.ask(asks.release(outcome.claim));
        }
        for (const claim of [first, second, alone]) await here.engine.ask(asks.release(claim));
      },
    );

    test.each(Object.entries(HOLDS))(
      "other leases are renewed at once while it holds %s",
      async (what, rows) => {
        // The first reader is in the guard row, the second in a row of its own.
        await lease(`renewed/${what}`, { mode: "shared" });
        const held = await lease(`renewed/${what}`, { mode: "shared" });
        const others = await leases(`renewed beside ${what}`, OTHERS);
        const usualMs = await renewedMs(others);
        const free = await hold(held.lockId, rows);
        let isRenewed = false;
        const renewal = here.engine.ask(asks.renew(held, 60 * SECOND_US)).then((answer) => {
          isRenewed = true;
          return answer;
        });
        expect(await renewedMs(others)).toBeLessThan(atOnceMs(usualMs));
        expect(isRenewed).toBe(false);
        await free();
        claimOf(await renewal, "held");
      },
    );

    test("other leases are renewed at once while more locks are held than there are lanes", async () => {
      const held = await leases("several", here.store.lanes + 2);
      const others = await leases("beside several", OTHERS);
      const usualMs = await renewedMs(others);
      const frees = await Promise.all(held.map(({ lockId }) => hold(lockId)));
      const renewals = held.map((each) => here.engine.ask(asks.renew(each, 60 * SECOND_US)));
      expect(await renewedMs(others)).toBeLessThan(atOnceMs(usualMs));
      await Promise.all(frees.map((free) => free()));
      for (const renewal of renewals) claimOf(await renewal, "held");
    });

    test("other leases are renewed at once while a claim with the same request id is not committed yet", async () => {
      const others = await leases("beside a request", OTHERS);
      const usualMs = await renewedMs(others);
      const taken = await lease("request", { requestId: "before" });
      const connection = await openPlainConnection(replicas.url);
      connections.push(connection);
      await here.engine.ask(asks.release(await lease("another request")));
      await connection.run("START TRANSACTION");
      await connection.run(
        "INSERT INTO rowlock_request (request_key, lock_id, ticket_number) VALUES (?, ?, 1000000)",
        [requestKeyOf("same"), taken.lockId],
      );
      let isAnswered = false;
      const acquired = here.engine
        .acquire(ask("another request", { requestId: "same" }), null)
        .then((answer) => {
          isAnswered = true;
          return answer;
        });
      expect(await renewedMs(others)).toBeLessThan(atOnceMs(usualMs));
      expect(isAnswered).toBe(false);
      await connection.run("ROLLBACK");
      claimOf(await acquired, "held");
    });

    test("another server notifies the waiters of other locks at once, although a due lock is held", async () => {
      const held = await lease("due", { ttlUs: SECOND_US });
      claimOf(await there.engine.acquire(ask("due"), follower()), "waiting");
      const usualMs = await (await handOver("told as usual"))();
      const tellMs = await handOver("told");
      const free = await hold(held.lockId);
      await until(() => seenDue.has(held.lockId));
      expect(await tellMs()).toBeLessThan(atOnceMs(usualMs));
      await free();
    });

    /**
     * Puts a waiter for the lock on the other server. The returned function measures the milliseconds from the release
     * until the waiter is notified.
     */
    async function handOver(name: string): Promise<() => Promise<number>> {
      const held = await lease(name);
      const waiter = follower();
      claimOf(await there.engine.acquire(ask(name), waiter), "waiting");
      return async () => {
        const startedMs = performance.now();
        await here.engine.ask(asks.release(held));
        expect((await waiter.toldClaim).claim.state).toBe("held");
        return performance.now() - startedMs;
      };
    }

    test.each(["its ticket", "its request id"])(
      "a waiter that has come back by %s keeps its place",
      async (by) => {
        const name = `came back by ${by}`;
        const requestId = `request of ${name}`;
        const held = await lease(name);
        const ticket = claimOf(await here.engine.acquire(ask(name, { requestId }), null), "waiting");
        const free = await hold(held.lockId, [GUARD]);
        const waiter = follower();
        const back =
          by === "its ticket"
            ? there.engine.attach(ticket, waiter)
            : there.engine.acquire(ask(name, { requestId }), waiter);
        // Longer than anything but this call keeps the place.
        await until(async () => (await clockUs(plain)) > (ticket.deadlineUs as number) + GRACE_US);
        await free();
        expect(claimOf(await back, "waiting").ticketNumber).toBe(ticket.ticketNumber);
        await here.engine.ask(asks.release(held));
        expect((await waiter.toldClaim).claim.ticketNumber).toBe(ticket.ticketNumber);
      },
    );

    /**
     * Puts waiters on two locks. The returned function measures the milliseconds until a limit for both locks is set
     * and one waiter is granted.
     */
    async function limited(prefix: string) {
      const held = await lease(`${prefix}held`);
      await lease(`${prefix}other`);
      const [last, first] = [follower(), follower()];
      claimOf(await here.engine.acquire(ask(`${prefix}held`), last), "waiting");
      claimOf(await here.engine.acquire(ask(`${prefix}other`), first), "waiting");
      const raisedMs = async () => {
        const startedMs = performance.now();
        const [answer, isNew] = await Promise.all([
          here.engine.setLimitRule(prefix, { limit: 2 }, undefined, "test"),
          there.engine.acquire(ask(`new beside ${prefix}`), null),
        ]);
        // The grant may come after the answer, because a heartbeat also locks the waiter's row for a moment.
        expect(answer).toMatchObject({ kind: "limit_rule", limit: 2, version: 1n });
        claimOf(isNew, "held");
        expect((await first.toldClaim).claim.state).toBe("held");
        return performance.now() - startedMs;
      };
      return { held, last, raisedMs };
    }

    test.each(Object.entries(HOLDS))(
      "a limit for many names is set at once beside %s, and reaches the lock when it is free",
      async (what, rows) => {
        const usual = await limited(`${what} as usual/`);
        const usualMs = await usual.raisedMs();
        const { held, last, raisedMs } = await limited(`${what}/`);
        const free = await hold(held.lockId, rows);
        expect(await raisedMs()).toBeLessThan(atOnceMs(usualMs));
        await free();
        // No call touches this lock: the server must apply the owed limit itself.
        expect((await last.toldClaim).claim.state).toBe("held");
      },
    );
  },
);

describe.each(testDatabases())("on $label", (database) => {
  test("a place that ran out while the call to keep it was queued is kept", async () => {
    let gate: Promise<void> | null = null;
    const wrap = (store: Store) =>
      wrapped(store, {
        async transact(plan, decide) {
          await gate;
          await store.transact(plan, decide);
        },
      });
    const policy = { graceUs: GRACE_US, attachedForUs: (GRACE_US * 5) / 4 };
    const replicas = await startReplicas(database, 1, policy, wrap);
    try {
      const [{ engine, store }] = replicas.all as [Replica];
      claimOf(await engine.acquire(ask("late"), null), "held");
      const early = claimOf(await engine.acquire(ask("late"), null), "waiting");
      const late = claimOf(await engine.acquire(ask("late"), null), "waiting");
      const opened = Promise.withResolvers<void>();
      gate = opened.promise;
      const back = engine.attach(early, follower());
      await until(async () => (await store.claims([])).nowUs > (late.deadlineUs as number));
      const tooLate = engine.attach(late, follower());
      opened.resolve();
      expect(claimOf(await back, "waiting").ticketNumber).toBe(early.ticketNumber);
      expect(claimOf(await tooLate, "ended").endReason).toBe("lapsed");
    } finally {
      await replicas.stop();
    }
  });

  test("no due lock hides behind those that cannot be brought up to date", async () => {
    const broken = new Set<bigint>();
    const wrap = (store: Store) =>
      wrapped(store, {
        async transact(plan, decide) {
          if (plan.locks.some(({ id }) => broken.has(id))) throw new Error("A fault made by a test.");
          await store.transact(plan, decide);
        },
      });
    const replicas = await startReplicas(database, 1, {}, wrap);
    try {
      const [{ engine, events }] = replicas.all as [Replica];
      const take = (name: string) => engine.acquire(ask(name, { ttlUs: SECOND_US }), null);
      const names = Array.from({ length: 300 }, (_, index) => `stuck/${index}`);
      for (const { lockId } of await Promise.all(names.map(take))) broken.add(lockId);
      const behind = await take("behind");
      await until(() => events.some(({ kind, ...of }) => kind === "ended" && isOf(of, behind.lockId)));
      expect(events.filter(({ kind }) => kind === "ended")).toHaveLength(1);
    } finally {
      await replicas.stop();
    }
  });
});

reportLeftOut(mysqlFamily());

function isOf(event: object, lockId: bigint): boolean {
  return "claim" in event && (event.claim as Claim).lockId === lockId;
}
