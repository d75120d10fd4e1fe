// How connections are lent: how many, to which callers, which are never lent again, and which errors callers get
// without one. The connections are fakes that send nothing, and the clock is fake.

import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Connection as DriverConnection } from "mysql2";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Server } from "../../../../server/storage/mysql/connection/connect.ts";
import { Connection, Trip } from "../../../../server/storage/mysql/connection/connection.ts";
import { MysqlPool } from "../../../../server/storage/mysql/connection/pool.ts";
import {
  CLOSE_MS_MAX,
  LOAN_MS_MAX,
  POOL_WAIT_MS_MAX,
  POOL_WAITING_MAX,
} from "../../../../server/storage/storage-bounds.ts";
import { StoreError } from "../../../../server/storage/store.ts";

const database = vi.hoisted(() => ({ open: async (): Promise<unknown> => undefined }));
vi.mock(import("../../../../server/storage/mysql/connection/connect.ts"), async (original) => ({
  ...(await original()),
  openConnection: (() => database.open()) as never,
}));

class FakeDriver extends EventEmitter {
  /** The error of the next statement. */
  failure: Error | null = null;
  hangs = false;
  isEnded = false;
  closed: (() => void) | null = null;
  answersGoodbye = true;

  query(_query: unknown, answer: (error: unknown, results?: unknown) => void): void {
    if (!this.hangs) answer(this.failure, []);
  }

  end(done: () => void): void {
    this.isEnded = true;
    if (this.answersGoodbye) done();
    else this.closed = done;
  }

  destroy(): void {}
}

interface Opened {
  readonly connection: Connection;
  readonly driver: FakeDriver;
}

const ADDRESS = { host: "db", port: 1, socket: null, user: "u", password: "p", database: "d" };
const OBSERVER = { statement() {}, transaction() {}, connection() {} };
let opened: Opened[];
let server: Server;
let broken: number;

const newPool = (size: number) => {
  const pool = new MysqlPool(ADDRESS, size, OBSERVER);
  pool.onBroken = () => {
    broken += 1;
  };
  return pool;
};

beforeEach(() => {
  vi.useFakeTimers();
  opened = [];
  broken = 0;
  server = { product: "MariaDB 11", identity: "server 1", isCluster: false, localHost: null };
  database.open = async () => {
    const driver = new FakeDriver();
    const socket = Object.assign(new EventEmitter(), { destroy() {} });
    const connection = new Connection(
      driver as unknown as DriverConnection,
      socket as unknown as Socket,
      OBSERVER,
    );
    opened.push({ connection, driver });
    return { connection, server };
  };
});
afterEach(() => {
  vi.useRealTimers();
});

const turns = () => vi.advanceTimersByTimeAsync(1);
const ask = (connection: Connection) => {
  const trip = new Trip("ask");
  trip.add("SELECT 1");
  return connection.run(trip);
};
const commit = (connection: Connection) => {
  const trip = new Trip("commit");
  trip.addCommit();
  return connection.run(trip);
};
const lost = () => Object.assign(new Error("gone"), { code: "ECONNRESET" });
const outcome = (used: Promise<unknown>) => used.catch((error: unknown) => error);
/** A use that needs a connection other than the idle one. */
async function anew<Answer>(used: Promise<Answer>): Promise<Answer> {
  used.catch(() => {});
  await turns();
  return await used;
}

/** A caller that keeps a connection until the test releases it. */
function holder(pool: MysqlPool) {
  const held = Promise.withResolvers<void>();
  const connection = Promise.withResolvers<Connection>();
  const used = pool.use((lent) => {
    connection.resolve(lent);
    return held.promise;
  });
  return { connection: connection.promise, letGo: () => held.resolve(), used };
}

describe("connections are lent", () => {
  test("up to a maximum, and then to the next caller in turn when they are given back", async () => {
    const pool = newPool(2);
    expect(pool.state).toEqual({ open: 0, idle: 0, waiting: 0 });
    const [first, second] = [holder(pool), holder(pool)];
    await turns();
    const order: string[] = [];
    const third = pool.use(async () => void order.push("third"));
    const fourth = pool.use(async () => void order.push("fourth"));
    await turns();
    expect(pool.state).toEqual({ open: 2, idle: 0, waiting: 2 });
    expect(order).toEqual([]);
    first.letGo();
    await Promise.all([third, fourth]);
    expect(order).toEqual(["third", "fourth"]);
    second.letGo();
    await second.used;
    expect(pool.state).toEqual({ open: 2, idle: 2, waiting: 0 });
    expect(opened).toHaveLength(2);
  });

  test("to no caller whose time is over before one is free", async () => {
    const pool = newPool(1);
    const busy = holder(pool);
    await turns();
    const waiting = outcome(pool.use(ask));
    await vi.advanceTimersByTimeAsync(POOL_WAIT_MS_MAX);
    expect(await waiting).toMatchObject({ kind: "unavailable", reason: "pool_exhausted" });
    busy.letGo();
    await busy.used;
    expect(await pool.use(ask)).toEqual([[]]);
  });

  test("to no caller beyond the bound of the queue, who is refused at once", async () => {
    const pool = newPool(1);
    const busy = holder(pool);
    await turns();
    const waiting = Array.from({ length: POOL_WAITING_MAX }, () => pool.use(async () => "done"));
    expect(await outcome(pool.use(ask))).toMatchObject({ kind: "unavailable", reason: "pool_exhausted" });
    busy.letGo();
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(["done"]));
  });

  test("for writes that wait for row locks, and for work that says itself whether it waits", async () => {
    const pool = newPool(1);
    expect(await pool.write(async ({ isPatient }) => isPatient)).toBe(true);
    expect(await pool.use(async ({ isPatient }) => isPatient)).toBeNull();
  });

  test.each([
    [undefined, LOAN_MS_MAX],
    [70_000, 70_000],
  ])(
    "for the requested time (%i), and otherwise for the time that any work may take",
    async (asked, loanMs) => {
      const pool = newPool(1);
      const failed = pool.use(async (connection) => {
        (opened[0] as Opened).driver.hangs = true;
        return await outcome(ask(connection));
      }, asked);
      await turns();
      const { connection } = opened[0] as Opened;
      await vi.advanceTimersByTimeAsync(loanMs - 2);
      expect(connection.alive).toBe(true);
      await vi.advanceTimersByTimeAsync(2);
      expect(connection.alive).toBe(false);
      expect(await failed).toMatchObject({ kind: "unavailable", reason: "timeout" });
    },
  );
});

describe("a connection is not lent again", () => {
  test("if a transaction may be open on it", async () => {
    const pool = newPool(1);
    await pool.use(async (connection) => {
      connection.inTransaction = true;
    });
    expect(opened[0]?.connection.alive).toBe(false);
    expect(pool.state.open).toBe(0);
    await anew(pool.use(async (connection) => expect(connection).toBe(opened[1]?.connection)));
  });

  test("if it is older than the last renewal of all, which its user does not notice", async () => {
    const pool = newPool(2);
    await pool.use(ask);
    const busy = holder(pool);
    await turns();
    pool.renew();
    expect(broken).toBe(1);
    expect(await ask(await busy.connection)).toEqual([[]]);
    busy.letGo();
    await busy.used;
    await anew(pool.use(async (connection) => expect(connection).not.toBe(opened[0]?.connection)));
    expect(opened).toHaveLength(2);
  });

  test("if it leads to another server than the newest one", async () => {
    const pool = newPool(2);
    expect(pool.server).toBeNull();
    expect(pool.isCluster).toBe(false);
    const first = holder(pool);
    await turns();
    expect(pool.server).toBe(server);
    expect([pool.serverChanges, broken]).toEqual([0, 0]);
    server = { ...server, identity: "server 2", isCluster: true };
    await pool.use(ask);
    expect([pool.serverChanges, broken]).toEqual([1, 1]);
    expect(pool.isCluster).toBe(true);
    first.letGo();
    await first.used;
    const [one, other] = [holder(pool), holder(pool)];
    await turns();
    expect([await one.connection, await other.connection]).not.toContain(opened[0]?.connection);
    expect([pool.serverChanges, broken]).toEqual([1, 1]);
  });

  test.each(["read_only", "cluster_not_ready"])(
    "if another one finds its server unusable: %s",
    async (reason) => {
      const pool = newPool(2);
      const first = holder(pool);
      await turns();
      const error = new StoreError("unavailable", reason, "No.");
      expect(await outcome(pool.use(() => Promise.reject(error)))).toBe(error);
      expect(broken).toBe(1);
      first.letGo();
      await first.used;
      const [one, other] = [holder(pool), holder(pool)];
      await turns();
      const lent = [await one.connection, await other.connection];
      for (const { connection } of opened.slice(0, 2)) expect(lent).not.toContain(connection);
      for (const { letGo } of [one, other]) letGo();
    },
  );

  test.each([
    ["server 1", "server 1"],
    ["server 1", null],
    [null, "server 1"],
  ])("unless its server cannot be distinguished from the newest one: %s and %s", async (before, after) => {
    const pool = newPool(2);
    server = { ...server, identity: before };
    const first = holder(pool);
    await turns();
    server = { ...server, identity: after };
    const second = holder(pool);
    await turns();
    for (const { letGo } of [first, second]) letGo();
    await Promise.all([first.used, second.used]);
    const [one, other] = [holder(pool), holder(pool)];
    expect(new Set([await one.connection, await other.connection])).toEqual(
      new Set(opened.map(({ connection }) => connection)),
    );
    expect(opened).toHaveLength(2);
    expect(pool.serverChanges).toBe(0);
  });
});

describe("work", () => {
  test("is done on another connection if its own had died before it, and only then", async () => {
    const pool = newPool(1);
    await pool.use(ask);
    (opened[0] as Opened).driver.failure = lost();
    let times = 0;
    const work = (connection: Connection) => {
      times += 1;
      return ask(connection);
    };
    expect(await anew(pool.use(work))).toEqual([[]]);
    expect([times, opened.length, broken]).toEqual([2, 2, 1]);
    (opened[1] as Opened).driver.failure = Object.assign(new Error("a deadlock"), { errno: 1213 });
    expect(await outcome(pool.use(work))).toMatchObject({ kind: "transient", reason: "deadlock" });
    expect(times).toBe(3);
  });

  test.each([
    ["its connection was opened for it", false],
    ["it has had an answer", true],
  ])("is not repeated if %s", async (_, isKept) => {
    const pool = newPool(1);
    if (isKept) await pool.use(ask);
    let times = 0;
    const work = async (connection: Connection) => {
      times += 1;
      if (isKept) await ask(connection);
      (opened[0] as Opened).driver.failure = lost();
      return await ask(connection);
    };
    expect(await outcome(pool.use(work))).toMatchObject({ kind: "transient", reason: "connection_lost" });
    expect(times).toBe(1);
  });

  test("whose COMMIT is cut off has an open outcome, whatever it sends then; later work has not", async () => {
    const pool = newPool(1);
    await pool.use(commit);
    const unknown = { kind: "unknown_outcome", reason: "connection_lost" };
    await pool.use(async (connection) => {
      (opened[0] as Opened).driver.failure = lost();
      expect(await outcome(ask(connection))).toMatchObject({ kind: "transient", reason: "connection_lost" });
    });
    await anew(pool.use(ask));
    await pool.use(async (connection) => {
      (opened[1] as Opened).driver.failure = lost();
      for (const send of [commit, ask]) expect(await outcome(send(connection))).toMatchObject(unknown);
    });
  });
});

describe("a connection that cannot be opened", () => {
  const away = () => new StoreError("unavailable", "refused", "A test's.");

  test("does not fail callers that came after it was begun", async () => {
    const pool = newPool(2);
    const busy = holder(pool);
    await turns();
    const opening = Promise.withResolvers<never>();
    const { open } = database;
    database.open = () => opening.promise;
    const second = pool.use(async () => "second");
    await turns();
    // The second caller gets the first connection; the attempt to open another one continues without a caller.
    busy.letGo();
    expect(await second).toBe("second");
    const again = holder(pool);
    await again.connection;
    await turns();
    const third = pool.use(async () => "third");
    await turns();
    database.open = open;
    opening.reject(away());
    await turns();
    expect(await third).toBe("third");
    again.letGo();
    await again.used;
  });
});

test("at the close, a server that does not answer takes its time and no longer", async () => {
  const pool = newPool(1);
  await pool.use(ask);
  (opened[0] as Opened).driver.answersGoodbye = false;
  let isClosed = false;
  const closing = pool.close().then(() => {
    isClosed = true;
  });
  await vi.advanceTimersByTimeAsync(CLOSE_MS_MAX - 1);
  expect(isClosed).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await closing;
});
