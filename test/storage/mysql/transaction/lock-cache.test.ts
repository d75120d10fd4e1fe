// Optimistic decisions, which a store bases on its own last write: they save a trip, and a change by another server is
// noticed before anything is written.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { QUEUE_HEAD_MAX } from "../../../../server/core/bounds.ts";
import type { Claim } from "../../../../server/core/claim.ts";
import { countWaiter } from "../../../../server/core/lock.ts";
import { poolName } from "../../../../server/core/pools.ts";
import { ROLLED_BACK, retry } from "../../../../server/storage/retry.ts";
import {
  ALONE_AFTER_OTHERS,
  CACHED_QUEUE_MAX,
  CLOCK_UNSURE_US_MAX,
} from "../../../../server/storage/storage-bounds.ts";
import type { Loaded, LoadPlan, Store, Writes } from "../../../../server/storage/store.ts";
import { CLAIM } from "../../../support/claims.ts";
import { mysqlFamily, reportLeftOut } from "../../../support/database.ts";
import type { PlainConnection, Stage } from "../../../support/mysql-stage.ts";
import { clockUs, connectionsOf, openStage, refusal, until } from "../../../support/mysql-stage.ts";
import {
  addClaims,
  changeLock,
  lockId,
  NO_CHANGES,
  NO_PLAN,
  planned,
  raised,
  SECOND_US,
} from "../../../support/store-fixture.ts";

const HOUR_US = 3_600 * SECOND_US;

reportLeftOut(mysqlFamily());

describe.each(mysqlFamily())("on $flavour $version", (server) => {
  let stage: Stage;
  let store: Store;
  /** Another server's store. */
  let other: Store;
  let plain: PlainConnection;
  /** The trips of the store. */
  const trips: string[] = [];
  let names = 0;

  beforeAll(async () => {
    stage = await openStage(server);
    const observer = {
      statement: (name: string) => void trips.push(name),
      transaction() {},
      connection() {},
    };
    store = await stage.store({ observer });
    other = await stage.store();
    plain = await stage.connection();
  });
  afterAll(() => stage?.close());
  beforeEach(() => {
    trips.length = 0;
  });

  /** A transaction that writes only the guard rows and the given changes. */
  const look = (
    of: Store,
    plan: Partial<LoadPlan>,
    changes: (loaded: Loaded) => Partial<Writes> = () => ({}),
  ) => {
    let read: Loaded | undefined;
    return of
      .transact({ ...NO_PLAN, ...plan }, (loaded) => {
        read = structuredClone(loaded);
        const changed = changes(loaded);
        return { ...NO_CHANGES, locks: raised(loaded), ...changed };
      })
      .then(() => read as Loaded);
  };

  /** Adds one waiter to each lock. */
  const oneMore = ({ locks, nowUs }: Loaded): Partial<Writes> => ({
    added: [...locks.values()].map((lock) => {
      const claim: Claim = {
        ...CLAIM,
        lockId: lock.id,
        ticketNumber: lock.nextTicket++,
        secret: "s".repeat(22),
        requestId: `one more ${++names}`,
        state: "waiting",
        fencingToken: 0n,
        requestedAtUs: nowUs,
        deadlineUs: nowUs + HOUR_US,
      };
      countWaiter(lock, claim);
      return claim;
    }),
  });

  /** Both assert what was assumed: in the statement that adds claims, or in a separate statement if none is added. */
  const WRITES = [
    ["writes the guard row alone", () => ({})],
    ["adds a claim", oneMore],
  ] as const;

  /** A lock that the store has in its cache, with these claims. */
  async function knownLock(...claims: Parameters<typeof addClaims>[2][]) {
    const id = await lockId(store, `known/${++names}`);
    const added = claims.length > 0 ? await addClaims(store, id, ...claims) : [];
    const plan = { locks: [{ id, heads: 10, likelyQueue: true, byRequest: true }] };
    await look(store, plan);
    await look(store, plan);
    trips.length = 0;
    await look(store, plan);
    expect(trips).toEqual(["decide_commit"]);
    trips.length = 0;
    return { id, plan, added };
  }

  test("a lock that no other server writes is decided in one trip, with the right rows", async () => {
    const { id, plan, added } = await knownLock(
      { state: "held" },
      { permits: 2, owner: "ö" },
      { mode: "shared" },
    );
    const [holder, ...waiters] = added as [Claim, ...Claim[]];
    const known = await look(store, {
      ...plan,
      claims: [holder],
      requestIds: [waiters[1]?.requestId as string],
    });
    expect(trips).toEqual(["decide_commit"]);
    expect(known.queues.get(id)).toEqual({ head: waiters, complete: true });
    expect(known.claims).toEqual(expect.arrayContaining([holder, waiters[1]]));
    const locks = [{ id, heads: QUEUE_HEAD_MAX, likelyQueue: true }];
    const asked = await look(other, { locks, claims: [holder] });
    expect(asked.locks.get(id)).toEqual({ ...known.locks.get(id), revision: asked.locks.get(id)?.revision });
    expect(asked.queues.get(id)).toEqual(known.queues.get(id));
    expect(asked.limitRules).toEqual(known.limitRules);
    expect(Math.abs(asked.nowUs - known.nowUs)).toBeLessThan(SECOND_US);
  });

  test("a lock that another server has written since is not written, and read again", async () => {
    const first = await knownLock();
    const second = await knownLock();
    await changeLock(other, second.id, (lock) => {
      lock.limit = 9;
    });
    const both = { locks: planned(...[first.id, second.id].sort((a, b) => (a < b ? -1 : 1))) };
    const tooLate = look(store, both, ({ locks }) => {
      for (const lock of locks.values()) lock.limit = 5;
      return {};
    });
    expect(await refusal(tooLate)).toMatchObject({ kind: "transient", reason: "changed" });
    expect(trips).toEqual(["decide_commit", "rollback"]);
    const { locks } = await look(store, both);
    expect([first.id, second.id].map((id) => locks.get(id)?.limit)).toEqual([null, 9]);
  });

  test.each(WRITES)(
    "a decision that %s notices that its pool was written, and reads it anew",
    async (_, changes) => {
      const { plan } = await knownLock();
      const pool = await lockId(store, poolName(`known/${names}/`));
      const both = { ...plan, pools: [pool] };
      const withPools = (loaded: Loaded, given = 0) => {
        const found = [...(loaded.pools?.values() ?? [])].flatMap((each) => each ?? []);
        for (const { lock } of found) {
          lock.revision += 1n;
          lock.heldPermits += given;
        }
        return { ...changes(loaded), pools: found };
      };
      for (let round = 0; round < 3; round++) await look(store, both, withPools);
      trips.length = 0;
      await look(store, both, withPools);
      expect(trips).toEqual(["decide_commit"]);
      await look(other, { pools: [pool] }, (loaded) => ({ ...withPools(loaded, 5), added: [] }));
      expect(await refusal(look(store, both, withPools))).toMatchObject({ reason: "changed" });
      expect((await look(store, both, withPools)).pools?.get(pool)?.lock.heldPermits).toBe(5);
    },
  );

  test.each(WRITES)("a decision that %s notices that the lock was deleted", async (_, changes) => {
    const { id, plan } = await knownLock();
    await plain.run("DELETE FROM rowlock_lock WHERE id = ?", [id]);
    expect(await refusal(look(store, plan, changes))).toMatchObject({ reason: "changed" });
    expect((await look(store, plan)).locks.size).toBe(0);
  });

  test.each(WRITES)("a decision that %s notices a pattern that was set meanwhile", async (_, changes) => {
    const { plan } = await knownLock();
    const limit = ++names;
    await look(other, { rule: { prefix: "elsewhere/", afterLockId: 0n } }, () => ({
      rule: {
        prefix: "elsewhere/",
        limit,
        rate: null,
        queueRules: null,
        version: 1n,
        reason: "",
        changeMark: 0n,
      },
    }));
    expect(await refusal(look(store, plan, changes))).toMatchObject({ reason: "changed" });
    expect((await look(store, plan)).limitRules).toMatchObject([{ prefix: "elsewhere/", limit }]);
  });

  test.each(WRITES)(
    "a decision that %s notices a fail-over and a copy on another server",
    async (_, changes) => {
      const { plan } = await knownLock();
      const { failOver } = await look(other, plan);
      expect(await refusal(look(store, plan, changes))).toMatchObject({ reason: "changed" });
      const again = await knownLock();
      await other.failOver({ seenEpoch: failOver.epoch, epochMin: 0n, pauseUsMin: 0, pauseUsMax: 0 });
      expect(await refusal(look(store, again.plan, changes))).toMatchObject({ reason: "changed" });
      expect((await look(store, again.plan)).failOver.epoch).toBeGreaterThan(failOver.epoch);
      const copied = await knownLock();
      const [row] = await plain.run("SELECT server_identity FROM rowlock_meta");
      await plain.run("UPDATE rowlock_meta SET server_identity = 'another'");
      try {
        expect(await refusal(look(store, copied.plan, changes))).toMatchObject({ reason: "changed" });
        const { isSuccessor, failOver: before } = await look(store, copied.plan);
        expect(isSuccessor).toBe(true);
        // From then on, the rows are those of this server.
        await other.failOver({ seenEpoch: before.epoch, epochMin: 0n, pauseUsMin: 0, pauseUsMax: 0 });
        const again = () => retry(ROLLED_BACK, () => look(store, copied.plan));
        expect((await again()).isSuccessor).toBe(false);
        await plain.run("UPDATE rowlock_meta SET server_identity = NULL");
        expect((await again()).isSuccessor).toBe(false);
        await (await stage.store()).close();
        expect(await plain.run("SELECT server_identity FROM rowlock_meta")).toEqual([row]);
      } finally {
        await plain.run("UPDATE rowlock_meta SET server_identity = ?", [row?.server_identity]);
      }
    },
  );

  test.each(WRITES)(
    "a decision that %s takes no request id of another lock or an ended claim for new",
    async (_, changes) => {
      const before = `ended before ${++names}`;
      const there = `at another lock ${names}`;
      const ended = await knownLock({ state: "ended", requestId: before });
      const elsewhere = await lockId(store, there);
      await addClaims(other, elsewhere, { requestId: there });
      for (const requestId of [before, there]) {
        const plan = { ...ended.plan, requestIds: [requestId] };
        await look(store, ended.plan);
        await look(store, ended.plan);
        expect(await refusal(look(store, plan, changes))).toMatchObject({ reason: "changed" });
        expect((await look(store, plan)).claims).toMatchObject([{ requestId }]);
      }
      const { plan } = await knownLock();
      await look(store, { ...plan, requestIds: ["never seen"] }, changes);
      expect(trips).toEqual(["decide_commit"]);
    },
  );

  test("nothing is decided without a read while grants are paused after a fail-over", async () => {
    const { plan } = await knownLock();
    await plain.run("UPDATE rowlock_meta SET grants_from = ?", [(await clockUs(plain)) + HOUR_US]);
    expect(await refusal(look(store, plan))).toMatchObject({ reason: "changed" });
    trips.length = 0;
    for (let turn = 0; turn < 3; turn++) await look(store, plan);
    expect(trips).not.toContain("decide_commit");
    await plain.run("UPDATE rowlock_meta SET grants_from = 0");
  });

  test("a place that may have lapsed is read, because another server may have extended it", async () => {
    const { id, plan, added } = await knownLock({ dueInUs: 400_000 });
    const [waiter] = added as [Claim];
    await other.heartbeat(5n, [waiter], 60 * SECOND_US);
    let claims: readonly Claim[] = [];
    while (!trips.includes("load")) ({ claims } = await retry(ROLLED_BACK, () => look(store, plan)));
    expect(claims.filter(({ deadlineUs }) => (deadlineUs ?? 0) < waiter.requestedAtUs + SECOND_US)).toEqual(
      [],
    );
    expect((await store.claims([{ lockId: id, ticketNumber: waiter.ticketNumber }])).claims).toMatchObject([
      { state: "waiting", replica: 5n },
    ]);
  });

  test("a lease that has ended by the time of the write is not extended", async () => {
    let wasInTime = false;
    while (!wasInTime) {
      const { id, plan, added } = await knownLock({ state: "held", dueInUs: SECOND_US });
      const [lease] = added as [Claim];
      const endUs = lease.deadlineUs as number;
      let isOver = false;
      const prolong = () =>
        look(store, { ...plan, claims: [lease] }, ({ nowUs, atLeastUs, claims }) => {
          const leftMs = (endUs - nowUs) / 1_000;
          isOver = leftMs <= 0;
          const isOptimistic = atLeastUs < nowUs;
          wasInTime = isOptimistic && !isOver && leftMs < 60;
          if (!wasInTime) return {};
          // Decided in time, but sent when the lease has ended even by the clock's lower bound.
          const sendMs = performance.now() + (endUs - atLeastUs) / 1_000;
          while (performance.now() <= sendMs);
          return { changed: claims.map((claim) => ({ ...claim, deadlineUs: endUs + HOUR_US })) };
        });
      let refused: unknown = null;
      while (!wasInTime && !isOver)
        refused = await prolong().then(
          () => null,
          (error: unknown) => error,
        );
      if (!wasInTime) continue;
      expect(refused).toMatchObject({ kind: "transient", reason: "changed" });
      expect((await store.claims([lease])).claims).toMatchObject([{ lockId: id, deadlineUs: endUs }]);
    }
  });

  test("a lease that may have ended is read, so that it ends as soon as it should", async () => {
    const { id, plan, added } = await knownLock({ state: "held", dueInUs: 300_000 });
    await until(async () => (await other.dueLocks(0n, 1_000)).lockIds.includes(id));
    // The clock's estimate after a late answer.
    const askedUs = performance.now() * 1_000;
    store.clock.doubt(askedUs);
    store.clock.read(await clockUs(plain), askedUs, askedUs, CLOCK_UNSURE_US_MAX - 50_000);
    expect((await look(store, plan)).claims).toEqual(added);
  });

  test.each([1, 2])(
    "a lock that two servers write in turns, %i times each, is read each time, and no attempt fails",
    async (times) => {
      const { id } = await knownLock();
      const plan = { locks: planned(id) };
      expect(await look(other, plan)).toBeDefined();
      await refusal(look(store, plan));
      trips.length = 0;
      for (let turn = 0; turn < 5; turn++) {
        for (let time = 0; time < times; time++) await look(store, plan);
        for (let time = 0; time < times; time++) await look(other, plan);
      }
      expect(new Set(trips)).toEqual(new Set(["load", "save_commit"]));
      // It is known again once this server alone has written it for a while.
      for (let alone = 0; alone <= ALONE_AFTER_OTHERS + 1; alone++) await look(store, plan);
      trips.length = 0;
      await look(store, plan);
      expect(trips).toEqual(["decide_commit"]);
    },
  );

  test("nothing is known after a connection is lost, because the database may have been set back", async () => {
    const { plan } = await knownLock();
    await Promise.all([store.find(["a"]), store.find(["a"])]);
    const others = await connectionsOf(plain, stage.address.database);
    for (const id of others) await plain.run(`KILL ${id}`);
    await until(() => store.pool().open === 0);
    await look(store, plan);
    expect(trips).toContain("load");
    expect(trips).not.toContain("decide_commit");
  });

  test("the head of a long queue is known, and the next part is read when it is needed", async () => {
    const id = await lockId(store, `known/${++names}`);
    await addClaims(store, id, { state: "held" });
    const wanted = (count: number) => Array.from({ length: count }, () => ({}));
    /** All waiters, in order. */
    const queue = await addClaims(store, id, ...wanted(CACHED_QUEUE_MAX + 200));
    for (let turn = 0; turn < 2; turn++) await look(store, { locks: planned(id) });
    trips.length = 0;
    for (let turn = 0; turn < 400; turn++) {
      if (turn % 3 === 0) queue.push(...(await addClaims(store, id, ...wanted(1 + (turn % 2)))));
      const heads = 1 + (turn % 4);
      let ended: Claim[] = [];
      // A decision not written within 100 ms is made again from a new read, as happens on a busy machine.
      const decide = (loaded: Loaded) => {
        const lock = loaded.locks.get(id);
        const head = loaded.queues.get(id)?.head ?? [];
        ended = head.slice(0, (turn * 7) % 5);
        for (const claim of ended) {
          if (lock) countWaiter(lock, claim, -1);
          Object.assign(claim, { state: "ended", endReason: "lapsed", endedAtUs: loaded.nowUs });
        }
        return { changed: ended };
      };
      const plan = { locks: [{ id, heads, likelyQueue: true }] };
      const { queues } = await retry(ROLLED_BACK, () => look(store, plan, decide));
      const { head = [], complete = true } = queues.get(id) ?? {};
      expect(head).toEqual(queue.slice(0, head.length));
      expect(complete || head.length >= heads).toBe(true);
      queue.splice(0, ended.length);
    }
    expect(queue.length).toBeLessThan(CACHED_QUEUE_MAX);
    const read = trips.filter((trip) => trip === "load").length;
    expect(trips.filter((trip) => trip === "decide_commit").length).toBeGreaterThan(400);
    expect(read).toBeLessThan(10);
    const found = (await other.checkInvariants(1_000)).filter(({ message }) =>
      message.includes(`"known/${names}"`),
    );
    expect(found).toEqual([]);
  });

  test("due claims, and a waiter that leaves, are searched behind the known head of a queue", async () => {
    const id = await lockId(store, `known/${++names}`);
    const [holder] = await addClaims(store, id, { state: "held" });
    const [...queue] = await addClaims(
      store,
      id,
      ...Array.from({ length: CACHED_QUEUE_MAX + 1 }, () => ({})),
    );
    const last = queue.at(-1) as Claim;
    await look(store, { locks: planned(id) });
    trips.length = 0;
    await look(store, { locks: planned(id) });
    expect(trips).toEqual(["decide_commit"]);
    const locks = [{ id, heads: 1, likelyQueue: true, anywhereInQueue: true }];
    const { claims, queues } = await look(store, { locks, requestIds: [last.requestId] });
    expect(claims).toEqual([holder, last]);
    // The known head of the queue is not read again.
    expect(queues.get(id)?.head.length).toBe(1);
    trips.length = 0;
    await look(store, { locks: planned(id) });
    expect(trips).toEqual(["decide_commit"]);
  });
});
