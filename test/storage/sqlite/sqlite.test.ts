// The store contract on SQLite, and what is specific to SQLite: one server per file, an injected clock, and disk
// failures.

import { chmod, mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { migrations } from "../../../migrations/index.ts";
import { partsOf } from "../../../server/core/bounds.ts";
import { migrateUp, migrationStatus } from "../../../server/storage/migrate/migrate.ts";
import { runPending, sqliteSchema } from "../../../server/storage/migrate/schema.ts";
import { openStore } from "../../../server/storage/open.ts";
import { openSqliteFile } from "../../../server/storage/sqlite/file.ts";
import { sqliteStore } from "../../../server/storage/sqlite/sqlite-store.ts";
import { CHECKED_ROWS_MAX } from "../../../server/storage/storage-bounds.ts";
import type { StoreObserver } from "../../../server/storage/store.ts";
import type { FreshStore } from "../../support/store-fixture.ts";
import { addClaims, load, lockId, planned } from "../../support/store-fixture.ts";
import { runStoreContract } from "../contract/contract.ts";

const NOBODY = { levelMin: { level: 0, by: "" }, members: [] };
const NAMES = migrations.map(({ name }) => name);

async function freshInMemory(
  options: { clock?: () => number; observer?: StoreObserver } = {},
): Promise<FreshStore> {
  const database = openSqliteFile(":memory:");
  await runPending(sqliteSchema(database));
  const open = () => sqliteStore(database, { path: ":memory:", ...options });
  let opened = open();
  return {
    store: new Proxy(opened, { get: (_, name) => Reflect.get(opened, name) }),
    other: null,
    async tamper(sql, ...values) {
      database.prepare(sql).run(...values);
      // The open store does not read again what it knows. A new store knows nothing yet.
      opened = open();
    },
    close: () => opened.close(),
  };
}

// With a clock that counts as exact, like those of the other databases.
runStoreContract("SQLite", () => freshInMemory({ clock: () => Date.now() * 1_000 }));

describe("an SQLite file", () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "rowlock-sqlite-"));
    path = join(folder, "rowlock.db");
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  test("keeps what was committed", async () => {
    await migrateUp(`sqlite:${path}`);
    const store = await openStore(`sqlite:${path}`);
    const [claim] = await addClaims(store, await lockId(store, "a"), { state: "held" });
    await store.close();
    const again = await openStore(`sqlite:${path}`);
    expect((await again.view("a", 1))?.holders).toEqual([claim]);
    await again.close();
  });

  test("is written through to the disk on every commit, so that no power cut reverts what was answered", () => {
    const database = openSqliteFile(path);
    expect(database.prepare("PRAGMA journal_mode").get()).toMatchObject({ journal_mode: "wal" });
    expect(database.prepare("PRAGMA synchronous").get()).toMatchObject({ synchronous: 2n });
    database.close();
  });

  test("is opened although another process that opens it, too, is in the way for a moment", () => {
    const other = new DatabaseSync(path);
    other.exec("BEGIN");
    other.prepare("SELECT * FROM sqlite_schema").all();
    let pauses = 0;
    const count = () => {
      pauses += 1;
      if (other.isOpen) other.close();
    };
    const database = openSqliteFile(path, count);
    expect(pauses).toBe(1);
    database.close();
    const holder = openSqliteFile(path);
    expect(() => openSqliteFile(path, count)).toThrow("in use by another process");
    expect(pauses).toBe(3);
    holder.close();
  });

  test("serves one server at a time, and the second one gets the file's name and a remedy", async () => {
    await migrateUp(`sqlite:${path}`);
    const first = await openStore(`sqlite:${path}`);
    const inUse = { name: "StoreError", kind: "unavailable", reason: "in_use" };
    await expect(openStore(`sqlite:${path}`)).rejects.toMatchObject(inUse);
    await expect(openStore(`sqlite:${path}`)).rejects.toThrow(path);
    await expect(openStore(`sqlite:${path}`)).rejects.toThrow("stop the other one");
    await expect(migrateUp(`sqlite:${path}`)).rejects.toMatchObject(inUse);
    await expect(migrationStatus(`sqlite:${path}`)).rejects.toMatchObject(inUse);
    await lockId(first, "a");
    await first.close();
    await (await openStore(`sqlite:${path}`)).close();
  });

  test("is readable by its owner only", async () => {
    await migrateUp(`sqlite:${path}`);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("is migrated once, reports its state, and recognises a newer server's schema", async () => {
    const url = `sqlite:${path}`;
    const none = { unknown: [], breaking: [], isOfTrial: false, fleet: NOBODY };
    expect(await migrationStatus(url)).toEqual({ ...none, applied: [], pending: NAMES });
    await expect(stat(path)).rejects.toThrow("ENOENT");
    expect(await migrateUp(url)).toEqual(NAMES);
    expect(await migrateUp(url)).toEqual([]);
    expect(await migrationStatus(url)).toEqual({ ...none, applied: NAMES, pending: [] });
    const add = (name: string, needs: string) => {
      const database = openSqliteFile(path);
      database.exec(
        `INSERT INTO rowlock_migration (name, migrated_at, needs) VALUES ('${name}', 0, ${needs})`,
      );
      database.close();
    };
    add("9998-of-the-future", `'${NAMES.at(-1)}'`);
    expect(await migrationStatus(url)).toMatchObject({ unknown: ["9998-of-the-future"], breaking: [] });
    add("9999-of-the-future", "NULL");
    expect(await migrationStatus(url)).toMatchObject({
      unknown: ["9998-of-the-future", "9999-of-the-future"],
      breaking: ["9999-of-the-future"],
    });
    expect(await migrateUp(url)).toEqual([]);
  });

  test("that was never migrated, or lacks a migration, is refused with the command to run", async () => {
    const refused = {
      kind: "unavailable",
      reason: "schema",
      message: expect.stringContaining("rowlock migrate up"),
    };
    await expect(openStore(`sqlite:${path}`)).rejects.toMatchObject(refused);
    await migrateUp(`sqlite:${path}`);
    const database = openSqliteFile(path);
    database.exec(`DELETE FROM rowlock_migration WHERE name = '${NAMES.at(-1)}'`);
    database.close();
    await expect(openStore(`sqlite:${path}`)).rejects.toMatchObject(refused);
  });

  test("of a trial version is refused, and not changed, with what to do", async () => {
    const database = openSqliteFile(path);
    database.exec(`CREATE TABLE rowlock_migration (id INTEGER PRIMARY KEY, name TEXT);
      INSERT INTO rowlock_migration (name) VALUES ('0001-locks-and-claims');
      CREATE TABLE rowlock_meta (id INTEGER PRIMARY KEY)`);
    database.close();
    expect(await migrationStatus(`sqlite:${path}`)).toMatchObject({ isOfTrial: true, fleet: NOBODY });
    await expect(migrateUp(`sqlite:${path}`)).rejects.toMatchObject({
      reason: "schema",
      message: expect.stringContaining("move an SQLite file away with its -wal and -shm"),
    });
    const after = openSqliteFile(path);
    expect(after.prepare("SELECT name FROM sqlite_schema").all()).toHaveLength(2);
    after.close();
  });

  test("that is not a database is refused, and not changed, and so is one in a missing folder", async () => {
    await writeFile(path, "This is a letter to my grandmother, and not a database at all.".repeat(100));
    await expect(migrateUp(`sqlite:${path}`)).rejects.toMatchObject({
      kind: "unavailable",
      reason: "corrupt",
    });
    expect((await stat(path)).size).toBe(6200);
    const nowhere = `sqlite:${join(folder, "nowhere", "rowlock.db")}`;
    await expect(migrateUp(nowhere)).rejects.toMatchObject({ kind: "unavailable", reason: "cannot_open" });
  });

  test("on a full disk is unavailable, changes nothing, and works again when there is room", async () => {
    await migrateUp(`sqlite:${path}`);
    const database = openSqliteFile(path);
    const store = sqliteStore(database, { path });
    const id = await lockId(store, "a");
    const limit = (pages: unknown) => database.exec(`PRAGMA max_page_count = ${pages}`);
    limit(database.prepare("PRAGMA page_count").get()?.page_count);
    const many = Array.from({ length: 200 }, () => ({ owner: "x".repeat(255) }));
    await expect(addClaims(store, id, ...many)).rejects.toMatchObject({
      kind: "unavailable",
      reason: "full",
    });
    expect((await store.view("a", 1))?.lock).toMatchObject({ waiting: 0, revision: 0n });
    limit(1_000_000);
    await addClaims(store, id, ...many);
    expect(await store.checkInvariants(10)).toMatchObject([{ check: "not_granted" }]);
    await store.close();
  });

  test("with more rows than fit beside decisions is not checked beside them", async () => {
    const { store, close } = await freshInMemory();
    const names = Array.from({ length: CHECKED_ROWS_MAX }, (_, index) => `lock ${index}`);
    for (const part of partsOf(names, 500)) await store.resolve(part);
    expect(await store.checkLiveClaims(10, 1)).toEqual([]);
    await store.resolve(["one more"]);
    expect(await store.checkLiveClaims(10, 1)).toBeNull();
    await close();
  });

  test("that cannot be written is unavailable", async () => {
    await migrateUp(`sqlite:${path}`);
    const database = openSqliteFile(path);
    const store = sqliteStore(database, { path });
    const id = await lockId(store, "a");
    // Simulates a disk that became read-only, because permissions do not stop the superuser.
    database.exec("PRAGMA query_only = ON");
    await expect(addClaims(store, id, {})).rejects.toMatchObject({
      kind: "unavailable",
      reason: "read_only",
    });
    await store.close();
    await chmod(path, 0o600);
  });
});

describe("an SQLite database", () => {
  test("in memory has its schema from the start, and reports that it is not durable", async () => {
    const store = await openStore("sqlite::memory:");
    await lockId(store, "a");
    expect(await store.checkDurability()).toMatchObject([{ severity: "warning", check: "durability" }]);
    await store.close();
    expect(await migrationStatus("sqlite::memory:")).toMatchObject({
      pending: [],
      unknown: [],
      breaking: [],
      fleet: NOBODY,
    });
    expect(await migrateUp("sqlite::memory:")).toEqual([]);
  });

  test("finds locks to capture along the index, so that unavailable ones cost nothing", async () => {
    const database = openSqliteFile(":memory:");
    await runPending(sqliteSchema(database));
    const prepare = vi.spyOn(database, "prepare");
    const store = sqliteStore(database, { path: ":memory:" });
    const group = { folder: "task/", status: "new" };
    const selector = { kind: "prefix", prefix: "task/", statuses: [], paused: [] } as const;
    await store.freeLocks(selector, { behind: group, after: null }, 3);
    const groups = { groups: [group], isLast: true };
    await store.freeLocks(selector, { behind: null, after: { name: "task/1", freeSinceUs: 1 }, groups }, 3);
    const plans = prepare.mock.calls
      .map(([sql]) => sql)
      .filter((sql) => sql.includes("rowlock_record"))
      .flatMap((sql) =>
        database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...Array(sql.split("?").length - 1).fill(1)),
      )
      .map(({ detail }) => detail);
    expect(plans.length).toBeGreaterThanOrEqual(5);
    // Reads only wanted rows under the prefix, in index order: never a scan or a sort.
    for (const plan of plans)
      expect(plan).toMatch(/^SEARCH (\w+ USING (COVERING )?INDEX rowlock_record_due|l USING INTEGER)/);
    await store.close();
  });

  test("counts the records of principals along the index, without those of nobody", async () => {
    const database = openSqliteFile(":memory:");
    await runPending(sqliteSchema(database));
    const prepare = vi.spyOn(database, "prepare");
    const store = sqliteStore(database, { path: ":memory:" });
    await store.recordsOfPrincipals();
    const [sql = ""] = prepare.mock.calls.at(-1) ?? [];
    expect(database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()).toMatchObject([
      { detail: "SEARCH rowlock_record USING COVERING INDEX rowlock_record_principal (principal>?)" },
    ]);
    await store.close();
  });

  test("assumes that the system's clock, in whole milliseconds, is up to one behind when it ends what is due", async () => {
    const store = await openStore("sqlite::memory:");
    const id = await lockId(store, "a");
    // A holder may be read for other reasons, too.
    const [claim] = await addClaims(store, id, { dueInUs: 0 });
    for (let isDue = false; !isDue; ) {
      const { nowUs, atLeastUs, claims } = await load(store, { locks: planned(id) });
      expect(atLeastUs).toBe(nowUs - 1_000);
      isDue = atLeastUs >= (claim?.deadlineUs as number);
      expect(claims.length).toBe(isDue ? 1 : 0);
    }
    await store.close();
  });

  test("reports to its observer each statement by name, transactions and its connection", async () => {
    const seen = new Map<string, number>();
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1);
    const observer: StoreObserver = {
      statement: (name, seconds) => count(`${name} ${seconds >= 0}`),
      transaction: (_seconds, roundTrips, outcome) => count(`${outcome} in ${roundTrips}`),
      connection: (event) => count(event),
    };
    const { store } = await freshInMemory({ observer });
    const id = await lockId(store, "a");
    await addClaims(store, id, {}, {});
    const failing = store.transact({ locks: planned(id), claims: [], requestIds: [], holdersOf: [] }, () => {
      throw new Error("a bug");
    });
    await expect(failing).rejects.toThrow("a bug");
    await store.close();
    expect(Object.fromEntries(seen)).toMatchObject({
      opened: 1,
      closed: 1,
      "committed in 0": 1,
      "rolled_back in 0": 1,
      "add_claim true": 2,
      "write_lock true": 1,
      "begin true": 3,
      "commit true": 2,
      "rollback true": 1,
    });
  });
});
