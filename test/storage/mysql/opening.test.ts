// Opening a MySQL store: how its connections are divided, whose rows it accepts as its own, and what happens to it if
// the rows cannot be used.

import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Connection as DriverConnection } from "mysql2";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Server } from "../../../server/storage/mysql/connection/connect.ts";
import { Connection } from "../../../server/storage/mysql/connection/connection.ts";
import { adopt, failOver, isSuccessor } from "../../../server/storage/mysql/meta.ts";
import { mysqlDurability, openMysqlStore } from "../../../server/storage/mysql/mysql-store.ts";
import {
  CONNECTIONS_BESIDE_LANES,
  LANES_DEFAULT,
  PATIENT_SLOTS_MAX,
  POOL_WAITING_MAX,
} from "../../../server/storage/storage-bounds.ts";
import { ScriptedPool } from "./scripted-pool.ts";

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

describe("connections", () => {
  test("are divided among lanes, patient slots and readers, at least one each", async () => {
    for (let poolSize = 1; poolSize <= 60; poolSize++) {
      const store = await openMysqlStore({ ...ADDRESS, poolSize });
      const { lanes, patientSlots, readers } = store;
      expect(Math.min(lanes, patientSlots, readers)).toBeGreaterThanOrEqual(1);
      expect(lanes).toBeLessThanOrEqual(LANES_DEFAULT);
      // Even a small pool has connections that no lane takes.
      if (lanes > 1) expect(poolSize - lanes).toBeGreaterThanOrEqual(CONNECTIONS_BESIDE_LANES);
      expect(patientSlots).toBeLessThanOrEqual(PATIENT_SLOTS_MAX);
      // In a large enough pool, no part takes another's connections, and none is left over.
      const large = LANES_DEFAULT + CONNECTIONS_BESIDE_LANES + PATIENT_SLOTS_MAX;
      if (poolSize > large) {
        expect([lanes, patientSlots]).toEqual([LANES_DEFAULT, PATIENT_SLOTS_MAX]);
        expect(lanes + patientSlots + readers + CONNECTIONS_BESIDE_LANES).toBe(poolSize);
      }
      await store.close();
    }
  });

  test("are divided around the requested number of lanes", async () => {
    const store = await openMysqlStore({ ...ADDRESS, poolSize: 50, lanes: 20 });
    expect(store).toMatchObject({ lanes: 20, patientSlots: PATIENT_SLOTS_MAX });
    expect(store.readers).toBe(50 - 20 - PATIENT_SLOTS_MAX - CONNECTIONS_BESIDE_LANES);
    expect(store).toMatchObject({ product: "MariaDB 11.4", localHost: "10.0.0.1" });
    expect(store.pool()).toEqual({ open: 1, idle: 1, waiting: 0 });
    expect(store.bounds()).toEqual([
      { bound: "database_connections", kind: "turns", used: 0, max: 50 },
      { bound: "database_waiters", kind: "room", used: 0, max: POOL_WAITING_MAX },
    ]);
    await store.close();
    expect(closed).toBe(1);
  });

  test("are closed if the rows cannot be used, or settings alone were requested", async () => {
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
});

describe("the rows", () => {
  const scene = (rows: Buffer | null, server: string | null) => {
    const scripted = new ScriptedPool(() => [[rows]]);
    scripted.connection.serverIdentity = server;
    return scripted;
  };
  const adopted = async (rows: Buffer | null, server: string | null) => {
    const scripted = scene(rows, server);
    await scripted.use(adopt);
    return scripted.sql.filter((sql) => sql.startsWith("UPDATE"));
  };

  test("are adopted by the server if they have no owner, and only then", async () => {
    expect(await adopted(null, "server 1")).toEqual([
      expect.stringContaining("server_identity = 'server 1'"),
    ]);
    expect(await adopted(Buffer.from("server 2"), "server 1")).toEqual([]);
    expect(await adopted(null, null)).toEqual([]);
  });

  test("of another server are from before a fail-over", async () => {
    const says = (rows: Buffer | null | undefined, server: string | null) =>
      scene(null, server).use(async (connection) => isSuccessor(connection, rows));
    expect(await says(Buffer.from("server 1"), "server 2")).toBe(true);
    expect(await says(Buffer.from("server 1"), "server 1")).toBe(false);
    // If either identity is unknown, so is the result.
    expect(await says(null, "server 1")).toBe(false);
    expect(await says(undefined, "server 1")).toBe(false);
    expect(await says(Buffer.from("server 1"), null)).toBe(false);
  });

  test("are recorded as those of this server with the fail-over, and the rest of the pause is returned", async () => {
    for (const server of ["server 2", null]) {
      const scripted = new ScriptedPool((sql) => (sql.startsWith("SELECT GREATEST") ? [["70"]] : undefined));
      scripted.connection.serverIdentity = server;
      expect(
        await failOver(scripted.pool, { seenEpoch: 3n, epochMin: 4n, pauseUsMin: 5, pauseUsMax: 6 }),
      ).toBe(70);
      expect(scripted.writes).toBe(1);
      expect(scripted.sql[0]).toContain(
        `COALESCE(${server === null ? "NULL" : "'server 2'"}, server_identity)`,
      );
      expect(scripted.sql[0]).toContain("AND epoch = 3");
      expect(scripted.sql[0]).toContain("LEAST(6, GREATEST(5,");
    }
  });
});
