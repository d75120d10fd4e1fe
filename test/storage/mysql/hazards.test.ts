// What can make a lock server over MySQL go wrong, one test for each: lost answers, killed connections, row locks held
// by others, clocks read too early, and transactions that stay open behind a pool.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Lock } from "../../../server/core/lock.ts";
import { migrateUp } from "../../../server/storage/migrate/migrate.ts";
import { openMysqlStore } from "../../../server/storage/mysql/mysql-store.ts";
import { openStore } from "../../../server/storage/open.ts";
import { requestKeyOf } from "../../../server/storage/rows/values.ts";
import {
  type DecideRows,
  ROW_LOCKED,
  type Store,
  type StoreObserver,
} from "../../../server/storage/store.ts";
import { RECORD } from "../../support/claims.ts";
import { freshDatabase, mysqlFamily, reportLeftOut } from "../../support/database.ts";
import { startDroppingProxy } from "../../support/dropping-proxy.ts";
import { leastMs } from "../../support/least.ts";
import {
  clockUs,
  connectionsOf,
  openPlainConnection,
  openStage,
  type PlainConnection,
  refusal,
  type Stage,
  statementOf,
  until,
} from "../../support/mysql-stage.ts";
import {
  addClaims,
  changeLock,
  load,
  lockId,
  NO_CHANGES,
  NO_PLAN,
  planned,
  raised,
  resolve,
  transact,
} from "../../support/store-fixture.ts";

/** The database's default limit on waiting for a row lock. */
const DEFAULT_LOCK_WAIT_MS = 50_000;
/** The server's lock wait is in whole seconds. */
const SHORTEST_LOCK_WAIT_MS = 1_000;

describe.each(mysqlFamily())("on $flavour $version", (server) => {
  let stage: Stage;
  let store: Store;
  let plain: PlainConnection;
  let names = 0;
  const name = () => `hazard/${++names}`;

  beforeAll(async () => {
    stage = await openStage(server);
    store = await stage.store();
    plain = await stage.connection();
  });
  afterAll(() => stage?.close());

  /** Holds rows in another connection until the returned function is called. */
  async function hold(sql: string, ...values: unknown[]): Promise<() => Promise<void>> {
    const connection = await stage.connection();
    await connection.run("START TRANSACTION");
    await connection.run(sql, values);
    return async () => void (await connection.run("ROLLBACK"));
  }
  const holdGuard = (id: bigint) =>
    hold("SELECT id FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id = ? FOR UPDATE", id);
  /** Holds the rows of waiters and of further holders. */
  const holdClaims = (id: bigint) =>
    hold("SELECT 1 FROM rowlock_claim FORCE INDEX (PRIMARY) WHERE lock_id = ? FOR UPDATE", id);

  /** Adds two holders; returns the second, which has a row in rowlock_claim. */
  async function addFurtherHolder(target: Store, id: bigint): Promise<Claim> {
    const [, further] = (await addClaims(target, id, { state: "held" }, { state: "held" })) as [Claim, Claim];
    return further;
  }

  /** Changes each claim, so that its row is written. */
  const touch = (claims: readonly Claim[]) => {
    for (const claim of claims) claim.replica = (claim.replica ?? 0n) + 1n;
  };

  const setLimit = (target: Store, id: bigint, limit: number) =>
    target.transact({ ...NO_PLAN, locks: planned(id) }, (loaded) => ({
      ...NO_CHANGES,
      locks: raised(loaded).map((lock) => Object.assign(lock, { limit })),
    }));
  const limitOf = async (id: bigint) => (await load(store, { locks: planned(id) })).locks.get(id)?.limit;

  test("a lost answer to COMMIT is an unknown outcome, and the rows are there", async () => {
    const id = await lockId(store, name());
    const proxy = await startDroppingProxy(stage.address.host, stage.address.port);
    try {
      const behind = await stage.store({ host: "127.0.0.1", port: proxy.port });
      const dropped = proxy.dropAnswerTo("COMMIT");
      const error = await refusal(setLimit(behind, id, 7));
      await dropped;
      expect(error).toMatchObject({ kind: "unknown_outcome", reason: "connection_lost" });
      expect(await limitOf(id)).toBe(7);
      // The next call gets another connection.
      await setLimit(behind, id, 8);
      expect(await limitOf(id)).toBe(8);
    } finally {
      await proxy.close();
    }
  });

  test.each([
    ["before COMMIT was sent leaves nothing, and the error is retryable", true, "transient"],
    ["after COMMIT was sent is an unknown outcome, even if nothing was written", false, "unknown_outcome"],
  ])("a connection that is killed %s", async (_, goesOn, kind) => {
    const id = await lockId(store, name());
    const claim = await addFurtherHolder(store, id);
    const free = await holdClaims(id);
    let round = 0;
    const writing = store.transact({ ...NO_PLAN, locks: planned(id), claims: [claim] }, (loaded) => {
      for (const lock of loaded.locks.values()) lock.limit = 5;
      touch(loaded.claims);
      // If a second round follows, the first trip that writes has no COMMIT in it.
      const again = goesOn && round++ === 0 ? [id] : [];
      return { ...NO_CHANGES, locks: raised(loaded), changed: loaded.claims, again };
    });
    const failed = refusal(writing);
    await plain.run(`KILL ${await statementOf(plain, stage.address.database, "UPDATE rowlock_claim")}`);
    expect(await failed).toMatchObject({ kind, reason: "connection_lost" });
    await free();
    expect(await limitOf(id)).toBeNull();
  });

  test("idle connections that the server has closed do not fail a call", async () => {
    const target = await stage.store({ poolSize: 3 });
    const id = await lockId(target, name());
    await Promise.all([1, 2, 3].map(() => target.find(["a"])));
    await until(() => target.pool().idle === 3);
    const others = await connectionsOf(plain, stage.address.database);
    for (const other of others) await plain.run(`KILL ${other}`).catch(ignoreGone);
    // Immediately, so that the pool may not have noticed it yet.
    await Promise.all([setLimit(target, id, 3), target.find(["a"]), target.heartbeat(1n, [], 1)]);
    expect(await limitOf(id)).toBe(3);
  });

  test("connections that were lost silently do not fail a call", async () => {
    const proxy = await startDroppingProxy(stage.address.host, stage.address.port);
    try {
      const behind = await stage.store({ host: "127.0.0.1", port: proxy.port, poolSize: 3 });
      const id = await lockId(behind, name());
      await Promise.all([1, 2, 3].map(() => behind.find(["a"])));
      await until(() => behind.pool().idle === 3);
      proxy.loseConnections();
      await setLimit(behind, id, 3);
      expect(await limitOf(id)).toBe(3);
    } finally {
      await proxy.close();
    }
  });

  test("idle connections are given up before the server would close them", async () => {
    const events: string[] = [];
    const observer = { statement() {}, transaction() {}, connection: (event: string) => events.push(event) };
    const target = await stage.store({ poolSize: 2, observer });
    await Promise.all([target.find(["a"]), target.find(["a"])]);
    await until(() => target.pool().open === 0);
    // The store closes connections in good order; those that the server cuts off would be destroyed.
    expect(new Set(events)).toEqual(new Set(["opened", "closed"]));
    await target.find(["a"]);
    expect(target.pool()).toEqual({ open: 1, idle: 1, waiting: 0 });
  });

  test("a store that is closed twice while it works ends both times, and refuses waiting callers", async () => {
    const target = await stage.store({ poolSize: 1 });
    const id = await lockId(target, name());
    const free = await holdGuard(id);
    const writing = setLimit(target, id, 5);
    await statementOf(plain, stage.address.database, "FOR UPDATE");
    const waiting = refusal(target.find(["a"]));
    await until(() => target.pool().waiting === 1);
    expect(target.bounds()).toMatchObject([{ used: 1, max: 1 }, { used: 1 }]);
    const closing = Promise.all([target.close(), target.close()]);
    await free();
    await Promise.all([writing, closing]);
    expect(await waiting).toMatchObject({ kind: "unavailable", reason: "closed" });
    expect(target.pool()).toEqual({ open: 0, idle: 0, waiting: 0 });
    expect(await limitOf(id)).toBe(5);
  });

  test("a row lock of another connection is waited for, but not for long", async () => {
    const id = await lockId(store, name());
    const free = await holdGuard(id);
    const startedMs = performance.now();
    const error = await refusal(setLimit(store, id, 5));
    expect(error).toMatchObject({ kind: "transient", reason: "lock_wait_timeout" });
    expect(performance.now() - startedMs).toBeGreaterThan(1_000);
    expect(performance.now() - startedMs).toBeLessThan(DEFAULT_LOCK_WAIT_MS / 2);
    await free();
    await setLimit(store, id, 6);
    expect(await limitOf(id)).toBe(6);
  });

  // Few rows are locked in another way than many.
  test.each([1, 3])(
    "an impatient transaction about %i locks waits for no row that it has to lock, and patient ones still do",
    async (count) => {
      const resolved = await resolve(store, Array.from({ length: count }, name));
      const ids = [...resolved.values()].sort((a, b) => Number(a - b));
      const last = ids.at(-1) as bigint;
      const claims: Claim[] = [];
      for (const id of ids) claims.push(await addFurtherHolder(store, id));
      const remember = (lock: Lock) => Object.assign(lock, { record: { ...RECORD, status: name() } });
      for (const id of ids) await changeLock(store, id, remember);
      let requestId = name();
      const plan = { ...NO_PLAN, locks: planned(...ids), claims };
      const write: DecideRows = (loaded) => {
        touch(loaded.claims);
        const [first, ...others] = raised(loaded).map(remember) as [Lock, ...Lock[]];
        const added = {
          ...(claims[0] as Claim),
          lockId: first.id,
          ticketNumber: first.nextTicket++,
          requestId,
        };
        return { ...NO_CHANGES, locks: [first, ...others], changed: loaded.claims, added: [added] };
      };
      const another = "INSERT INTO rowlock_request (request_key, lock_id, ticket_number) VALUES (?, 99, 1)";
      const holds = [
        () => holdGuard(last),
        () => holdClaims(last),
        () => hold("SELECT 1 FROM rowlock_record WHERE lock_id = ? FOR UPDATE", last),
        () => hold(another, requestKeyOf(requestId)),
      ];
      for (const holding of holds) {
        const free = await holding();
        const waitedMs = await leastMs(5, async () => {
          const error = await refusal(store.transact({ ...plan, impatient: true }, write));
          expect(error).toMatchObject({ kind: "transient", reason: ROW_LOCKED });
        });
        expect(waitedMs).toBeLessThan(SHORTEST_LOCK_WAIT_MS);
        const waiting = transact(store, plan, write);
        await statementOf(plain, stage.address.database, "rowlock_");
        await free();
        await waiting;
        requestId = name();
      }
      await transact(store, { ...plan, impatient: true }, write);
    },
  );

  test("a heartbeat waits for no row, and returns the waiters that it could not write", async () => {
    const id = await lockId(store, name());
    const isHeld = { state: "held" } as const;
    const [first, further, held, free] = (await addClaims(store, id, isHeld, isHeld, {}, {})) as [
      Claim,
      Claim,
      Claim,
      Claim,
    ];
    const all = [first, further, held, free];
    const one =
      "SELECT 1 FROM rowlock_claim FORCE INDEX (PRIMARY) WHERE lock_id = ? AND place = ? AND ticket_number = ? FOR UPDATE";
    const release = await hold(one, id, held.ticketNumber, held.ticketNumber);
    const key = { lockId: id, ticketNumber: held.ticketNumber };
    expect(await store.heartbeat(7n, all, 600_000_000)).toEqual([key]);
    const byTicket = async () => (await store.claims(all)).claims.map(({ replica }) => replica);
    expect(await byTicket()).toEqual([null, null, null, 7n]);
    await release();
    expect(await store.heartbeat(7n, [held], 600_000_000)).toEqual([]);
    expect(await byTicket()).toEqual([null, null, 7n, 7n]);
  });

  /** Work in a database of its own, of which a test writes or locks whole tables. */
  async function inSmall(work: (small: Store, other: Stage) => Promise<void>): Promise<void> {
    const other = await openStage(server);
    try {
      await work(await other.store(), other);
    } finally {
      await other.close();
    }
  }

  test("locked guard rows are not deleted, and the deletion waits for none of them", () =>
    inSmall(async (small, other) => {
      const ids = await small.resolve(["claimed", "idle", "held"]);
      const ended = { state: "ended", dueInUs: 600_000_000 } as const;
      await addClaims(small, ids.get("claimed") as bigint, ended);
      const connection = await other.connection();
      await connection.run("START TRANSACTION");
      await connection.run("SELECT 1 FROM rowlock_history LOCK IN SHARE MODE");
      await connection.run(
        "SELECT 1 FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id = ? LOCK IN SHARE MODE",
        [ids.get("held")],
      );
      await until(async () => (await small.purgeLocks(0, 10)) === 1);
      expect((await small.find(["claimed", "idle", "held"])).size).toBe(2);
      expect((await small.find(["idle"])).size).toBe(0);
      await connection.run("COMMIT");
      await until(async () => (await small.purgeLocks(0, 10)) > 0);
      expect((await small.find(["claimed", "idle", "held"])).size).toBe(1);
    }));

  test("old history is deleted beside a transaction that adds some, and soon after one that locks it", () =>
    inSmall(async (small, other) => {
      const ended = { state: "ended", dueInUs: 600_000_000 } as const;
      await addClaims(small, await lockId(small, "claimed"), ended, ended, ended, ended);
      const purge = () => small.purgeClaims(Number.MAX_SAFE_INTEGER, 10);
      const [adding, locking] = [await other.connection(), await other.connection()];
      await adding.run(
        "UPDATE rowlock_history SET kept_for = 0, ended_at = ticket_number WHERE ticket_number <= 2",
      );
      // As a release does.
      await adding.run(`CREATE TEMPORARY TABLE last SELECT * FROM rowlock_history WHERE ticket_number = 4;
        UPDATE last SET ticket_number = 5; START TRANSACTION; INSERT INTO rowlock_history SELECT * FROM last;
        INSERT INTO rowlock_request VALUES (REPEAT(X'ff', 16), 99, 1), (REPEAT(X'00', 16), 99, 2)`);
      expect(await purge()).toBe(2);
      await adding.run("COMMIT");

      await locking.run(
        "UPDATE rowlock_history SET kept_for = 0, ended_at = ticket_number WHERE ticket_number <= 4",
      );
      await locking.run("START TRANSACTION");
      await locking.run(
        "SELECT 1 FROM rowlock_history FORCE INDEX (PRIMARY) WHERE kept_for = 0 AND ended_at = 4 LOCK IN SHARE MODE",
      );
      const startedMs = performance.now();
      expect(await refusal(purge())).toMatchObject({ kind: "transient", reason: "lock_wait_timeout" });
      expect(performance.now() - startedMs).toBeLessThan(DEFAULT_LOCK_WAIT_MS / 2);
      await locking.run("COMMIT");
      expect(await purge()).toBe(2);
    }));

  test("a search for due locks waits for no row, and corrects the bounds of the others that are not due", () =>
    inSmall(async (small, other) => {
      const ids = await small.resolve(["idle", "held", "due"]);
      await addClaims(small, ids.get("due") as bigint, { dueInUs: -1 });
      const connection = await other.connection();
      await connection.run("UPDATE rowlock_lock SET next_deadline = 1");
      await connection.run("START TRANSACTION");
      const held = "SELECT id FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id = ? FOR UPDATE";
      await connection.run(held, [ids.get("held")]);
      expect((await small.dueLocks(0n, 9)).lockIds).toEqual([ids.get("due")]);
      await connection.run("COMMIT");
      const stale = await connection.run(
        "SELECT name FROM rowlock_lock WHERE next_deadline = 1 ORDER BY name",
      );
      expect(stale.map(({ name }) => String(name))).toEqual(["due", "held"]);
    }));

  test("a transaction waits only for the guard rows of its plan, however few there are", () =>
    inSmall(async (small, other) => {
      const ids = await small.resolve(["a", "b", "c"]);
      const [a, b, c] = ["a", "b", "c"].map((each) => ids.get(each) as bigint);
      if (!a || !b || !c) throw new Error("The names were not resolved.");
      await addFurtherHolder(small, a);
      const held = await addClaims(small, b, { state: "held" }, { state: "held" });
      const connection = await other.connection();
      await connection.run("START TRANSACTION");
      await connection.run("SELECT id FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id = ? FOR UPDATE", [a]);
      await connection.run("SELECT 1 FROM rowlock_claim FORCE INDEX (PRIMARY) WHERE lock_id = ? FOR UPDATE", [
        a,
      ]);
      // The rows of `a` are held to the end: a statement that waits for one of them would fail.
      await small.transact({ ...NO_PLAN, locks: planned(b, c), holdersOf: [b] }, (loaded) => {
        expect(loaded.claims).toHaveLength(2);
        touch(loaded.claims);
        return { ...NO_CHANGES, locks: raised(loaded), changed: loaded.claims };
      });
      expect(await small.heartbeat(1n, held, 1_000_000)).toEqual([]);
      // Lock c has no claim, so it is deleted. Lock a has one and is not even waited for.
      await until(async () => (await small.purgeLocks(0, 10)) === 1);
      expect((await small.find(["a", "b", "c"])).size).toBe(2);
      await connection.run("ROLLBACK");
    }));

  test("the clock is read after the wait for the lock", async () => {
    const id = await lockId(store, name());
    const free = await holdGuard(id);
    const loading = load(store, { locks: planned(id) });
    await statementOf(plain, stage.address.database, "FOR UPDATE");
    const asked = await clockUs(plain);
    await plain.run("DO SLEEP(1.2)");
    const released = await clockUs(plain);
    await free();
    expect(released - asked).toBeGreaterThan(1_000_000);
    expect((await loading).nowUs).toBeGreaterThanOrEqual(released);
  });

  test("every decision writes its guard row, even one that changes nothing", async () => {
    const id = await lockId(store, name());
    const written = async () => {
      const [row] = await plain.run("SELECT revision, decided_at FROM rowlock_lock WHERE id = ?", [id]);
      return `${row?.revision} ${row?.decided_at}`;
    };
    const decideNothing = (raise: boolean) =>
      store.transact({ ...NO_PLAN, locks: planned(id) }, (loaded) => ({
        ...NO_CHANGES,
        locks: raise ? raised(loaded) : [...loaded.locks.values()],
      }));
    for (const raise of [true, false, true]) {
      const before = await written();
      await decideNothing(raise);
      expect(await written()).not.toBe(before);
    }
  });

  test("a decision about a lock that was dated by a clock that was ahead is found by its own time", async () => {
    const id = await lockId(store, name());
    const HOUR_US = 3_600_000_000;
    await plain.run("UPDATE rowlock_lock SET decided_at = decided_at + ? WHERE id = ?", [HOUR_US, id]);
    const { nowUs } = await store.decidedSince({ atUs: 0, afterLockId: 0n }, null, 1);
    await setLimit(store, id, 3);
    const { locks } = await store.decidedSince({ atUs: nowUs - 2_000_000, afterLockId: 0n }, null, 1_000);
    expect(locks.map((lock) => lock.id)).toContain(id);
  });

  test("a rule that changes during a decision leaves no waiter behind", async () => {
    const other = await stage.store();
    const id = await lockId(store, name());
    const claim = await addFurtherHolder(store, id);
    const free = await holdClaims(id);
    const enqueuing = store.transact({ ...NO_PLAN, locks: planned(id), claims: [claim] }, (loaded) => {
      for (const lock of loaded.locks.values()) lock.waiting += 1;
      touch(loaded.claims);
      return { ...NO_CHANGES, locks: raised(loaded), changed: loaded.claims };
    });
    const failed = refusal(enqueuing);
    await statementOf(plain, stage.address.database, "UPDATE rowlock_claim");
    await other.transact({ ...NO_PLAN, rule: { prefix: "haz", afterLockId: 0n } }, () => ({
      ...NO_CHANGES,
      rule: {
        prefix: "haz",
        limit: 9,
        rate: null,
        queueRules: null,
        version: 1n,
        reason: "",
        changeMark: 0n,
      },
    }));
    await free();
    expect(await failed).toMatchObject({ kind: "transient", reason: "changed" });
    const { limitRules, locks } = await load(store, { locks: planned(id) });
    expect(limitRules).toMatchObject([{ prefix: "haz", limit: 9 }]);
    expect(locks.get(id)?.waiting).toBe(0);
  });

  test("transactions that fail leave none open behind the pool", async () => {
    const id = await lockId(store, name());
    const thrownAway: string[] = [];
    const observer: StoreObserver = {
      statement() {},
      transaction() {},
      connection: (event) => {
        if (event === "destroyed") thrownAway.push(event);
      },
    };
    const target = await stage.store({ poolSize: 3, observer });
    const broken = Array.from({ length: 30 }, (_, index) =>
      target.transact({ ...NO_PLAN, locks: planned(id) }, (loaded) => {
        if (index % 2 === 0) throw new Error("planted");
        const locks = raised(loaded);
        // The database refuses this: the column holds no negative numbers.
        for (const lock of locks) lock.holders = -1;
        return { ...NO_CHANGES, locks };
      }),
    );
    for (const result of await Promise.allSettled(broken)) expect(result.status).toBe("rejected");
    const open = await plain.run(
      `SELECT t.trx_id FROM information_schema.innodb_trx t
        JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id WHERE p.db = ?`,
      [stage.address.database],
    );
    expect(open).toEqual([]);
    // How many connections were opened depends on how fast the first calls finished; that none was lost does not.
    expect(thrownAway).toEqual([]);
    const pool = target.pool();
    expect(pool.idle).toBe(pool.open);
    await setLimit(target, id, 4);
    expect(await limitOf(id)).toBe(4);
  });

  test("64 simultaneous first users of one new name get one lock, although the first one gives up", async () => {
    const stores = [store, await stage.store({ poolSize: 10 }), await stage.store({ poolSize: 10 })];
    const wanted = name();
    const giveUp = await hold("INSERT INTO rowlock_lock (name) VALUES (?)", wanted);
    const answers = Array.from({ length: 64 }, (_, index) => resolve(stores[index % 3] as Store, [wanted]));
    await statementOf(plain, stage.address.database, "INSERT IGNORE INTO rowlock_lock");
    await giveUp();
    const [first, ...others] = (await Promise.all(answers)).map((answer) => answer.get(wanted));
    expect(first).toBeTypeOf("bigint");
    expect(new Set(others)).toEqual(new Set([first]));
  });

  test("the creation of a lock waits for a purge that is raising the token floor, and starts above it", async () => {
    const connection = await stage.connection();
    await connection.run("START TRANSACTION");
    await connection.run("SELECT token_floor FROM rowlock_meta WHERE id = 1 FOR UPDATE");
    const wanted = name();
    const resolving = lockId(store, wanted);
    await statementOf(plain, stage.address.database, "INSERT IGNORE INTO rowlock_lock");
    await connection.run("UPDATE rowlock_meta SET token_floor = 1000 WHERE id = 1");
    await connection.run("COMMIT");
    const id = await resolving;
    expect((await load(store, { locks: planned(id) })).locks.get(id)?.lastToken).toBe(1000n);
  });

  test("a table without transactions is named at the start, with what to do", async () => {
    const changed = await freshDatabase(server);
    const other = await openPlainConnection(changed.url);
    try {
      await migrateUp(changed.url);
      await other.run("ALTER TABLE rowlock_change ENGINE = MyISAM");
      const refused = await refusal(openStore(changed.url));
      expect(refused).toMatchObject({ kind: "unavailable", reason: "schema" });
      expect(refused.message).toContain("rowlock_change (MyISAM)");
      await other.run("ALTER TABLE rowlock_change ENGINE = InnoDB");
      await (await openStore(changed.url)).close();
    } finally {
      other.close();
      await changed.drop();
    }
  });

  test("a missing user, database or server is named, and the password is not", async () => {
    const open = (options: object) => openMysqlStore({ ...stage.address, ...options });
    const denied = await refusal(open({ password: "s3cret-and-wrong" }));
    expect(denied).toMatchObject({ kind: "unavailable", reason: "access_denied" });
    expect(`${denied.stack}${JSON.stringify(denied.cause)}`).not.toContain("s3cret");
    expect(await refusal(open({ database: "rowlock_no_such" }))).toMatchObject({ reason: "no_database" });
    expect(await refusal(open({ host: "127.0.0.1", port: 1 }))).toMatchObject({ reason: "unreachable" });
    const bare = await freshDatabase(server);
    try {
      const empty = await refusal(openStore(bare.url));
      expect(empty).toMatchObject({ kind: "unavailable", reason: "schema" });
      expect(empty.message).toContain("rowlock migrate up");
    } finally {
      await bare.drop();
    }
  });
});

reportLeftOut(mysqlFamily());

/** Ignores the error that the connection was already closed. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof Error && "errno" in error && error.errno === 1094)) throw error;
}
