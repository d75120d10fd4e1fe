// Opening a MySQL store: how its connections are divided, and that none stays open if the rows cannot be used.

import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Connection as DriverConnection } from "mysql2";
import { beforeEach, expect, test, vi } from "vitest";
import type { Server } from "../../../server/storage/mysql/connection/connect.ts";
import { Connection } from "../../../server/storage/mysql/connection/connection.ts";
import { mysqlDurability, openMysqlStore } from "../../../server/storage/mysql/mysql-store.ts";
import {
  CONNECTIONS_BESIDE_LANES,
  LANES_DEFAULT,
  PATIENT_SLOTS_MAX,
  POOL_WAITING_MAX,
} from "../../../server/storage/storage-bounds.ts";

const database = vi.hoisted(() => ({ open: async (): Promise<unknown> => undefined }));
vi.mock(import("../../../server/storage/mysql/connection/connect.ts"), async (original) => ({
  ...(await original()),
  openConnection: (() => database.open()) as never,
}));

const ADDRESS = { host: "db", port: 1, socket: null, user: "u", password: "p", database: "d" };
const OBSERVER = { statement() {}, transaction() {}, connection() {} };
const SERVER: Server = {
  product: "MariaDB 11.4",
  identity: "server 1",
  isCluster: false,
  localHost: "10.0.0.1",
};
let closed: number;
/** The error with which the database answers everything. */
let failure: Error | null;
/** The tables that have other engines. */
let engines: readonly (readonly string[])[];

beforeEach(() => {
  closed = 0;
  failure = null;
  engines = [];
  database.open = async () => {
    const driver = Object.assign(new EventEmitter(), {
      query: ({ sql }: { readonly sql: string }, answer: (error: unknown, rows?: unknown) => void) =>
        answer(failure, sql.includes("information_schema") ? engines : [[Buffer.from("server 1")]]),
      end: (done: () => void) => done(),
      destroy() {
        closed += 1;
      },
    });
    const socket = Object.assign(new EventEmitter(), { destroy() {} });
    const connection = new Connection(
      driver as unknown as DriverConnection,
      socket as unknown as Socket,
      OBSERVER,
    );
    return { connection, server: SERVER };
  };
});

test("connections are divided among lanes, patient slots and readers, at least one each", async () => {
  // In a large enough pool, no part takes another's connections, and none is left over.
  const large = LANES_DEFAULT + CONNECTIONS_BESIDE_LANES + PATIENT_SLOTS_MAX;
  for (let poolSize = 1; poolSize <= 60; poolSize++) {
    const store = await openMysqlStore({ ...ADDRESS, poolSize });
    const { lanes, patientSlots, readers } = store;
    expect(Math.min(lanes, patientSlots, readers)).toBeGreaterThanOrEqual(1);
    expect(lanes).toBeLessThanOrEqual(LANES_DEFAULT);
    // Even a small pool has connections that no lane takes.
    if (lanes > 1) expect(poolSize - lanes).toBeGreaterThanOrEqual(CONNECTIONS_BESIDE_LANES);
    expect(patientSlots).toBeLessThanOrEqual(PATIENT_SLOTS_MAX);
    if (poolSize > large)
      expect([lanes, patientSlots, readers]).toEqual([LANES_DEFAULT, PATIENT_SLOTS_MAX, poolSize - large]);
    await store.close();
  }
});

test("connections are divided around the requested number of lanes", async () => {
  const store = await openMysqlStore({ ...ADDRESS, poolSize: 50, lanes: 20 });
  const readers = 50 - 20 - PATIENT_SLOTS_MAX - CONNECTIONS_BESIDE_LANES;
  expect(store).toMatchObject({ lanes: 20, patientSlots: PATIENT_SLOTS_MAX, readers });
  expect(store).toMatchObject({ product: "MariaDB 11.4", localHost: "10.0.0.1" });
  expect(store.pool()).toEqual({ open: 1, idle: 1, waiting: 0 });
  expect(store.bounds()).toEqual([
    { bound: "database_connections", kind: "turns", used: 0, max: 50 },
    { bound: "database_waiters", kind: "room", used: 0, max: POOL_WAITING_MAX },
  ]);
  await store.close();
  expect(closed).toBe(1);
});

test("connections are closed if the rows cannot be used, or settings alone were requested", async () => {
  failure = Object.assign(new Error("no such table"), { errno: 1146, code: "ER_NO_SUCH_TABLE" });
  await expect(openMysqlStore(ADDRESS)).rejects.toMatchObject({ kind: "unavailable", reason: "schema" });
  expect(closed).toBe(1);
  failure = null;
  await mysqlDurability(ADDRESS);
  expect(closed).toBe(2);
  engines = [["rowlock_lock", "MyISAM"]];
  await expect(openMysqlStore(ADDRESS)).rejects.toThrow(
    /rowlock_lock \(MyISAM\).*ALTER TABLE rowlock_lock ENGINE = InnoDB/,
  );
  expect(closed).toBe(3);
});
