// Looks at one server, over a fake connection: what they conclude from answers, refusals and silence.

import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Connection as DriverConnection } from "mysql2";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Connection } from "../../../../server/storage/mysql/connection/connection.ts";
import { Lookout } from "../../../../server/storage/mysql/connection/lookout.ts";
import { REFUSED_AGAIN_MS } from "../../../../server/storage/storage-bounds.ts";
import { StoreError } from "../../../../server/storage/store.ts";

const database = vi.hoisted(() => ({ reach: async (): Promise<unknown> => undefined }));
vi.mock(import("../../../../server/storage/mysql/connection/connect.ts"), async (original) => ({
  ...(await original()),
  reach: (() => database.reach()) as never,
}));

const ADDRESS = { host: "db", port: 1, socket: null, user: "u", password: "p", database: "d" };
const OBSERVER = { statement() {}, transaction() {}, connection() {} };
const USABLE = { cluster: "cluster-1", isSynced: true, refusal: null };
const SETTINGS = [
  ["wsrep_provider", "galera.so"],
  ["wsrep_on", "ON"],
];
const STATUS = [
  ["wsrep_ready", "ON"],
  ["wsrep_cluster_status", "Primary"],
  ["wsrep_cluster_state_uuid", "cluster-1"],
  ["wsrep_local_state_comment", "Synced"],
];
const ROW = [["7", Buffer.from("cluster-1"), "5000000"]];

interface Asked {
  readonly sql: string;
  answer(results: unknown): void;
}

let asked: Asked[];
let reached: number;

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  reached = 0;
  database.reach = async () => {
    reached += 1;
    const driver = Object.assign(new EventEmitter(), {
      query: ({ sql }: { sql: string }, done: (error: unknown, results: unknown) => void) =>
        void asked.push({ sql, answer: (results) => done(null, results) }),
      end: (done: () => void) => done(),
      destroy() {},
    });
    const socket = Object.assign(new EventEmitter(), { destroy() {} });
    const connection = new Connection(
      driver as unknown as DriverConnection,
      socket as unknown as Socket,
      OBSERVER,
    );
    connection.mayLag = true;
    connection.serverIdentity = "cluster-1";
    const server = { product: "MariaDB 11", identity: "cluster-1", isCluster: true, localHost: null };
    return { connection, server, usability: USABLE };
  };
});
afterEach(() => {
  vi.useRealTimers();
});

/** Answers the next trip, which has to contain this. */
async function answer(part: string, results: unknown): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
  const next = asked.shift();
  expect(next?.sql).toContain(part);
  next?.answer(results);
  await vi.advanceTimersByTimeAsync(0);
}

async function firstLook(lookout: Lookout) {
  const looking = lookout.look(1_000);
  await answer("FROM rowlock_meta", ROW);
  return await looking;
}

test("the connection is kept between looks, and replaced when the server has closed it", async () => {
  const lookout = new Lookout(ADDRESS, OBSERVER);
  await firstLook(lookout);
  const { fitSinceMs } = lookout;
  expect(fitSinceMs).not.toBeNull();
  await vi.advanceTimersByTimeAsync(500);
  const again = lookout.look(1_000);
  await answer("SHOW GLOBAL VARIABLES", [SETTINGS, STATUS]);
  await answer("FROM rowlock_meta", ROW);
  expect(await again).toEqual({
    ...{ refusal: null, product: "MariaDB 11", identity: "cluster-1", isSynced: true },
    rows: { epoch: 7n, isOwn: true, registeredUs: 5_000_000 },
  });
  expect([reached, lookout.fitSinceMs]).toEqual([1, fitSinceMs]);
});

test("a server that does not answer in time is refused for that, and must prove itself again", async () => {
  const lookout = new Lookout(ADDRESS, OBSERVER);
  await firstLook(lookout);
  const looking = lookout.look(1_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect((await looking).refusal).toMatchObject({ reason: "timeout" });
  expect(lookout.fitSinceMs).toBeNull();
});

test("a look waits for its turn while the node catches up, and both end", async () => {
  const lookout = new Lookout(ADDRESS, OBSERVER);
  await firstLook(lookout);
  const catching = lookout.catchUp();
  const looking = lookout.look(1_000);
  await vi.advanceTimersByTimeAsync(500);
  expect(asked).toHaveLength(1);
  await answer("wsrep_sync_wait = 1", [{}, [], {}]);
  await catching;
  await answer("SHOW GLOBAL VARIABLES", [SETTINGS, STATUS]);
  await answer("FROM rowlock_meta", ROW);
  expect(await looking).toMatchObject({ refusal: null });
});

test("a node that does not catch up in time is used all the same", async () => {
  const lookout = new Lookout(ADDRESS, OBSERVER);
  await firstLook(lookout);
  const catching = lookout.catchUp();
  await vi.advanceTimersByTimeAsync(10_000);
  await catching;
});

test("a server that refuses the password is not asked again at once", async () => {
  const denied = new StoreError("unavailable", "access_denied", "No.");
  let tries = 0;
  database.reach = async () => {
    tries += 1;
    throw denied;
  };
  const lookout = new Lookout(ADDRESS, OBSERVER);
  expect((await lookout.look(1_000)).refusal).toBe(denied);
  expect((await lookout.look(1_000)).refusal).toBe(denied);
  expect(tries).toBe(1);
  await vi.advanceTimersByTimeAsync(REFUSED_AGAIN_MS);
  await lookout.look(1_000);
  expect(tries).toBe(2);
});
