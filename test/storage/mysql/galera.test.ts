// What only a cluster can get wrong: on Galera row locks are local to a node, so two nodes may decide about one lock at
// the same time, and the cluster can reject the second decision only because both wrote the same row. Runs if
// ROWLOCK_TEST_DATABASES names galera.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { migrations } from "../../../migrations/index.ts";
import type { Claim } from "../../../server/core/claim.ts";
import { countHolder } from "../../../server/core/lock.ts";
import type { LockWatch } from "../../../server/engine/answers.ts";
import { parseDatabaseUrl } from "../../../server/storage/database-url.ts";
import { migrateUp, migrationStatus } from "../../../server/storage/migrate/migrate.ts";
import { withMysqlSchema } from "../../../server/storage/migrate/mysql-schema.ts";
import { runPending } from "../../../server/storage/migrate/schema.ts";
import { openStore } from "../../../server/storage/open.ts";
import type { Loaded, Store, Writes } from "../../../server/storage/store.ts";
import { StoreError } from "../../../server/storage/store.ts";
import { change } from "../../stories/faults/changes.ts";
import { contend, GRACE_US } from "../../stories/faults/contention.ts";
import { WrittenChanges } from "../../stories/faults/written-changes.ts";
import * as asks from "../../support/asks.ts";
import { CLAIM } from "../../support/claims.ts";
import type { FreshDatabase } from "../../support/database.ts";
import { freshDatabase } from "../../support/database.ts";
import { chanceFrom, type Faults, faultyStore } from "../../support/faulty-store.ts";
import { type GaleraCluster, startGaleraCluster } from "../../support/mysql-family/galera-cluster.ts";
import { openPlainConnection, refusal, until } from "../../support/mysql-stage.ts";
import { Picture } from "../../support/picture.ts";
import { shareAPool } from "../../support/pool-load.ts";
import { ask, follower, type Replica, startReplicas } from "../../support/replicas.ts";
import { seed } from "../../support/seed.ts";
import { NO_CHANGES, NO_PLAN, planned } from "../../support/store-fixture.ts";

/**
 * Locks about which both nodes decide at the same time. Many are needed: one of the two may come too late to find the
 * lock free, and about one in a hundred of the others is silently rolled back in the middle of a trip
 * (storage/mysql/transaction/assertions.ts).
 */
const SCHEDULES = 100;
const CAPTURED = 60;
/** Changes of a limit by pattern while the other node decides. */
const RULE_ROUNDS = 20;
/** InnoDB shows transactions as they were at the last look, unless that is longer ago than 100 ms. */
const TRANSACTIONS_SHOWN_MS = 150;
/** A waiter that has not heard by then of a limit that makes room for it never will. */
const HEARD_MS_MAX = 30_000;
const LOAD_MS = 6_000;
/** Allows for a repeated start; one start takes 6 s. */
const START_MS_MAX = 240_000;

describe.runIf(inject("galera"))("two nodes of Galera", () => {
  let cluster: GaleraCluster;
  let fresh: FreshDatabase;
  let stores: [Store, Store];

  beforeAll(async () => {
    cluster = await startGaleraCluster();
    fresh = await freshDatabase(cluster.nodes[0]);
    await migrateOnBoth(fresh.url, urlAt(1));
    stores = [await openStore(urlAt(0)), await openStore(urlAt(1))];
  }, START_MS_MAX);
  afterAll(async () => {
    for (const store of stores ?? []) await store.close();
    await fresh?.drop();
    await cluster?.stop();
  });

  /** The database of the address, at that node. */
  const sameAt = (node: 0 | 1, url: string) =>
    Object.assign(new URL(cluster.nodes[node].url), { pathname: new URL(url).pathname }).href;
  const urlAt = (node: 0 | 1) => sameAt(node, fresh.url);

  /** The database of all tests here, with replicas on both nodes in turn. */
  const sharedDatabase = () => ({
    fresh: async () => ({ url: urlAt(0), nodes: [urlAt(0), urlAt(1)], drop: async () => {} }),
  });

  /** A lock that both nodes know. */
  async function lockOnBoth(name: string): Promise<bigint> {
    const id = (await stores[0].resolve([name])).get(name) as bigint;
    await until(async () => (await stores[1].find([name])).get(name) === id);
    return id;
  }

  /** Grants if the lock is found free; returns what it found. */
  async function grant(node: 0 | 1, id: bigint): Promise<"free" | "held" | StoreError> {
    let found: "free" | "held" = "held";
    const decide = (loaded: Loaded): Writes => {
      const lock = loaded.locks.get(id);
      if (!lock) throw new Error("The guard row is not there.");
      const isFree = lock.holders === 0;
      found = isFree ? "free" : "held";
      lock.revision += 1n;
      // Each node uses its own ticket number, so the claims' keys do not collide.
      const claim = isFree ? holderOf(id, lock.nextTicket + BigInt(node), loaded.nowUs) : null;
      if (claim) {
        lock.nextTicket = claim.ticketNumber + 1n;
        lock.lastToken += 1n;
        countHolder(lock, claim);
      }
      return { ...NO_CHANGES, locks: [lock], added: claim ? [claim] : [] };
    };
    try {
      await stores[node].transact({ ...NO_PLAN, locks: planned(id) }, decide);
      return found;
    } catch (error) {
      if (error instanceof StoreError) return error;
      throw error;
    }
  }

  const holdersAt = async (node: 0 | 1, id: bigint) => (await stores[node].holders(id, 10)).claims.length;

  test("one of two decisions that find a lock free is granted, and the other finds it held when it is repeated", async () => {
    let refused = 0;
    for (let round = 0; round < SCHEDULES; round++) {
      const id = await lockOnBoth(`both/${round}`);
      const results = await Promise.all([grant(0, id), grant(1, id)]);
      expect(results.filter((result) => result === "free")).toHaveLength(1);
      const node = results[0] instanceof StoreError ? 0 : 1;
      if (!(results[node] instanceof StoreError)) continue;
      refused += 1;
      expect(results[node]).toMatchObject({ kind: "transient" });
      // Until the winner's rows arrive at this node, it may find the lock free again and be rejected again.
      await until(async () => {
        const again = await grant(node, id);
        expect(again).not.toBe("free");
        return again === "held";
      });
      await until(async () => (await holdersAt(0, id)) === 1 && (await holdersAt(1, id)) === 1);
    }
    expect(refused).toBeGreaterThan(0);
    expect(await stores[0].checkInvariants(10)).toEqual([]);
  });

  test("without the write of the guard row both are granted, so the test before this one can fail", async () => {
    const id = await lockOnBoth("unguarded");
    const users = await Promise.all([urlAt(0), urlAt(1)].map((url) => openPlainConnection(url)));
    try {
      const free = users.map(async (user) => {
        await user.run("START TRANSACTION");
        const [lock] = await user.run("SELECT holders FROM rowlock_lock WHERE id = ? FOR UPDATE", [
          String(id),
        ]);
        return lock?.holders;
      });
      expect(await Promise.all(free)).toEqual([0, 0]);
      for (const [node, user] of users.entries()) {
        await user.run(
          `INSERT INTO rowlock_claim SET lock_id = ?, place = 0, ticket_number = ?, secret = '', request_id = '', mode = 3,
             permits = 1, owner = '', principal = '', labels = '{}', requested_at = 1, state = 2, replica = 0, provisional = 0,
             fencing_token = 1, granted_at = 1`,
          [String(id), 1 + node],
        );
      }
      await Promise.all(users.map((user) => user.run("COMMIT")));
      const holders = "SELECT COUNT(*) AS holders FROM rowlock_claim WHERE lock_id = ?";
      for (const user of users)
        await until(async () => Number((await user.run(holders, [String(id)]))[0]?.holders) === 2);
      await users[0]?.run("DELETE FROM rowlock_claim WHERE lock_id = ?", [String(id)]);
    } finally {
      for (const user of users) user.close();
    }
  });

  test("captures at both nodes take no lock twice, and a watch at one sees what the other has taken", async () => {
    const { all, stop } = await startReplicas(sharedDatabase(), 2);
    const names = Array.from({ length: CAPTURED }, (_, index) => `captured/${100 + index}`);
    const none = { notBefore: undefined, attemptsLeft: undefined, expectedVersion: undefined };
    const update = { ...none, status: "new" };
    await Promise.all(names.map((name) => all[0]?.engine.ask(asks.updateRecord({ ...update, name }))));
    const watch = all[0]?.engine.watchLocks("captured/") as LockWatch;
    const picture = new Picture(watch);
    void picture.takeAll();
    const taken: string[] = [];
    const work = async ({ engine }: Replica) => {
      while (taken.length < CAPTURED) {
        const target = { kind: "prefix" as const, prefix: "captured/" };
        const by = { owner: "", labels: {}, requestId: "", terms: null };
        const { leases } = await engine.capture({ ...by, target, max: 3, ttlUs: 60_000_000 });
        taken.push(...leases.map(({ lockName }) => lockName));
      }
    };
    await Promise.all([...all, ...all].map(work));
    expect(taken.toSorted()).toEqual(names);
    await picture.until(({ locks }) => names.every((name) => locks.get(name)?.lock.holders === 1));
    watch.close(new Error("closed by the test"));
    await stop();
  });

  test("a limit by pattern that rises at one node reaches waiters that arrive at the other one just then", async () => {
    const { all, stop } = await startReplicas(sharedDatabase(), 2);
    const [one, other] = all as [Replica, Replica];
    let stranded = 0;
    for (let round = 0; round < RULE_ROUNDS && stranded === 0; round++) {
      const raise = (limit: number) =>
        one.engine.setLimitRule(`raised/${round}/`, { limit: limit }, undefined, "");
      const names = Array.from({ length: 8 }, (_, index) => `raised/${round}/${index}`);
      await raise(1);
      for (const name of names) await one.engine.acquire(ask(name), null);
      await until(async () => (await stores[1].find(names)).size === names.length);
      const raised = sleep(8).then(() => raise(10));
      const answers = [...names, ...names, ...names].map(async (name, index) => {
        await sleep(index);
        const waiter = follower();
        const { outcome } = await other.engine.acquire(ask(name), waiter);
        if (outcome.kind !== "waiting") return;
        const nobody = sleep(HEARD_MS_MAX, null, { ref: false });
        if ((await Promise.race([waiter.toldClaim, nobody])) === null) stranded += 1;
      });
      await raised;
      await Promise.all(answers);
    }
    expect(stranded).toBe(0);
    await stop();
  });

  // Otherwise another node's change of a limit by pattern may not end it, and this node stands still.
  test("InnoDB has numbered the transaction that creates names before it waits for the floor", async () => {
    const [holder, watcher] = await Promise.all([urlAt(1), urlAt(1)].map((url) => openPlainConnection(url)));
    if (!holder || !watcher) throw new Error("no connections");
    try {
      await holder.run("START TRANSACTION");
      await holder.run("SELECT token_floor FROM rowlock_meta WHERE id = 1 FOR UPDATE");
      const creating = stores[1].resolve(["numbered"]);
      let numbers: unknown[] = [];
      await until(async () => {
        await sleep(TRANSACTIONS_SHOWN_MS);
        const sql = "SELECT trx_id FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";
        numbers = (await watcher.run(sql)).map((row) => row.trx_id);
        return numbers.length > 0;
      });
      await holder.run("ROLLBACK");
      expect((await creating).size).toBe(1);
      expect(numbers).toEqual([expect.any(Number)]);
      expect(numbers[0]).toBeGreaterThan(0);
    } finally {
      for (const user of [holder, watcher]) user.close();
    }
  });

  test("after one node has confirmed a pause by pattern, the other one grants nothing", async () => {
    const { all, stop } = await startReplicas(sharedDatabase(), 2);
    const [one, other] = all as [Replica, Replica];
    let granted = 0;
    let grantedLate = 0;
    for (let round = 0; round < RULE_ROUNDS; round++) {
      const prefix = `paused/${round}/`;
      let isPaused = false;
      let isOver = false;
      const work = async (worker: number) => {
        for (let turn = 0; !isOver; turn++) {
          const name = `${prefix}${worker}/${turn % 5}`;
          const { outcome } = await other.engine.acquire(ask(name, { mayWait: false }), null);
          if (outcome.kind !== "held") continue;
          granted += 1;
          if (isPaused) grantedLate += 1;
          await other.engine.ask(asks.release(outcome.claim));
        }
      };
      const workers = Array.from({ length: 8 }, (_, worker) => work(worker));
      await sleep(30);
      await one.engine.setLimitRule(prefix, { limit: 0 }, undefined, "");
      isPaused = true;
      await sleep(50);
      isOver = true;
      await Promise.all(workers);
    }
    expect(granted).toBeGreaterThan(RULE_ROUNDS);
    expect(grantedLate).toBe(0);
    await stop();
  });

  test("a search for recent decisions, and a look at one lock, wait for what their node has not applied yet", async () => {
    const id = await lockOnBoth("lagging");
    const there = await openPlainConnection(urlAt(1));
    const { nowUs } = await stores[1].decidedSince(
      { atUs: Number.MAX_SAFE_INTEGER, afterLockId: 0n },
      null,
      1,
    );
    const from = { atUs: nowUs - 2_000_000, afterLockId: 0n };
    try {
      await there.run("FLUSH TABLES WITH READ LOCK");
      let isRead = false;
      // An earlier decision about the lock may collide with this one.
      await until(async () => (await grant(0, id)) === "free");
      const isDone = () => {
        isRead = true;
      };
      const reading = stores[1].decidedSince(from, null, 1_000).finally(isDone);
      const looking = stores[1].view("lagging", 0).finally(isDone);
      // Listings use what this node has.
      expect((await stores[1].views([id], 0))[0]?.lock.holders).toBe(0);
      expect(isRead).toBe(false);
      await there.run("UNLOCK TABLES");
      expect((await looking)?.lock.holders).toBe(1);
      const { locks } = await reading;
      expect(locks.find(({ name }) => name === "lagging")).toMatchObject({ holders: 1 });
    } finally {
      there.close();
    }
  });

  test("two simultaneous migrations, one at each node, both finish, and it is recorded once", async () => {
    const own = await freshDatabase(cluster.nodes[0]);
    const there = sameAt(1, own.url);
    try {
      await until(() =>
        migrationStatus(there).then(
          () => true,
          () => false,
        ),
      );
      await Promise.all([own.url, there, own.url, there].map((url) => migrateUp(url)));
      for (const url of [own.url, there]) {
        await until(async () => (await migrationStatus(url)).pending.length === 0);
        expect((await migrationStatus(url)).applied).toEqual(migrations.map(({ name }) => name));
      }
    } finally {
      await own.drop();
    }
  });

  test("a migrator at one node waits for one at the other, until that one is done or gone", async () => {
    const own = await freshDatabase(cluster.nodes[0]);
    const there = sameAt(1, own.url);
    const target = parseDatabaseUrl(there);
    if (target.dialect !== "mysql") throw new Error("not MySQL");
    const other = await openPlainConnection(own.url);
    try {
      await migrateUp(own.url);
      const forgetAll = async () => {
        await other.run("DELETE FROM rowlock_migration");
        await until(async () => (await migrationStatus(there)).applied.length === 0);
      };
      const migrate = () =>
        withMysqlSchema(target, "be brought up to date", runPending, { lockWaitMs: 2_000 });
      const takenAgo = (seconds: number) =>
        other.run(
          "UPDATE rowlock_migration_turn SET taken_by = 'other', taken_at = UTC_TIMESTAMP(6) - INTERVAL ? SECOND",
          [seconds],
        );
      await forgetAll();
      await takenAgo(5);
      await expect(migrate()).rejects.toMatchObject({ reason: "migration_locked" });
      await takenAgo(16);
      expect(await migrate()).toEqual(migrations.map(({ name }) => name));
      // It has given its turn back.
      await forgetAll();
      expect(await migrateUp(own.url)).toHaveLength(migrations.length);
    } finally {
      other.close();
      await own.drop();
    }
  });

  /** A separate database, whose replicas are on both nodes in turn. */
  const ownDatabase = {
    fresh: async () => {
      const own = await freshDatabase(cluster.nodes[0]);
      const there = sameAt(1, own.url);
      await migrateOnBoth(own.url, there);
      return { ...own, nodes: [sameAt(0, own.url), there] };
    },
  };

  test(
    "changes by engines on both nodes under faults are made once",
    async () => {
      const breaches: string[] = [];
      const written = new WrittenChanges(breaches);
      const chance = chanceFrom(seed);
      const faults: Faults = { on: true, made: new Map() };
      const replicas = await startReplicas(ownDatabase, 2, {}, (store) =>
        faultyStore(written.over(store), chance, faults),
      );
      try {
        await change({ replicas: replicas.all, written, breaches, seed, runMs: LOAD_MS });
      } finally {
        await replicas.stop();
      }
    },
    LOAD_MS + 120_000,
  );

  test(
    "engines on both nodes keep every promise under load",
    async () => {
      const rules = { graceUs: GRACE_US, attachedForUs: 1.25 * GRACE_US };
      const replicas = await startReplicas(ownDatabase, 4, rules);
      try {
        await contend({ replicas: replicas.all, seed, runMs: LOAD_MS });
      } finally {
        await replicas.stop();
      }
    },
    LOAD_MS + 120_000,
  );

  test("engines on both nodes share a pool, and never give more of it than there is", async () => {
    const replicas = await startReplicas(ownDatabase, 2);
    try {
      await shareAPool(replicas.all, 40);
    } finally {
      await replicas.stop();
    }
  }, 120_000);

  // The last test, because the node stays away.
  test("a node that replicates nothing, or has left, does not count as the cluster, however writable it is", async () => {
    const connection = await openPlainConnection(urlAt(1));
    const beat = () =>
      stores[1].register({ id: 1n, address: "here", version: "1", secret: "" }, 1_000_000, 0n);
    const notReady = { kind: "unavailable", reason: "cluster_not_ready" };
    try {
      await beat();
      await connection.run("SET GLOBAL wsrep_on = OFF");
      expect(await refusal(beat())).toMatchObject(notReady);
      expect((await refusal(openStore(urlAt(1)))).message).toContain("wsrep_on is OFF");
      await connection.run("SET GLOBAL wsrep_on = ON");
      await beat();
      await connection.run("SET GLOBAL wsrep_cluster_address = ''");
      // The node itself may refuse before it is asked.
      expect((await refusal(openStore(urlAt(1)))).message).toMatch(
        /wsrep_cluster_status is Disconnected|not part of the cluster's majority/,
      );
      expect(await refusal(beat())).toMatchObject(notReady);
      await stores[0].register({ id: 1n, address: "here", version: "1", secret: "" }, 1_000_000, 0n);
    } finally {
      connection.close();
    }
  });
});

/** What one node has committed reaches the other one a little later. */
async function migrateOnBoth(here: string, there: string): Promise<void> {
  await migrateUp(here);
  await until(async () => {
    const { pending } = await migrationStatus(there).catch(() => ({ pending: ["unknown database"] }));
    return pending.length === 0;
  });
}

function holderOf(lockId: bigint, ticketNumber: bigint, nowUs: number): Claim {
  const times = { requestedAtUs: nowUs, grantedAtUs: nowUs, endedAtUs: null, endReason: null };
  return { ...CLAIM, ...times, lockId, ticketNumber, requestId: `${lockId}/${ticketNumber}` };
}
