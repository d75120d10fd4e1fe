// A file that is removed, moved, replaced or changed under a server, in each way that people do it: nothing more is
// answered from it, because another server may meanwhile use what is at its path.

import {
  appendFileSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  type StatsFs,
  statfsSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { migrateUp } from "../../../server/storage/migrate/migrate.ts";
import { openStore } from "../../../server/storage/open.ts";
import { openSqliteFile } from "../../../server/storage/sqlite/file.ts";
import { sqliteStore } from "../../../server/storage/sqlite/sqlite-store.ts";
import type { Store } from "../../../server/storage/store.ts";
import { addClaims, lockId, NO_CHANGES, NO_PLAN, transact } from "../../support/store-fixture.ts";

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  return { ...fs, statfsSync: vi.fn(fs.statfsSync) };
});
const fileSystem = vi.mocked(statfsSync);

const CHANGED = { name: "StoreError", kind: "unavailable", reason: "file_changed" };

let folder: string;
let data: string;
let path: string;
let backup: string;
let store: Store;
const undo: (() => unknown)[] = [];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "rowlock-open-files-"));
  data = join(folder, "data");
  path = join(data, "rowlock.db");
  backup = join(folder, "backup.db");
  mkdirSync(data);
  await migrateUp(`sqlite:${path}`);
  copyFileSync(path, backup);
  store = await open();
});
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
  rmSync(folder, { recursive: true, force: true });
});

async function open(at = path): Promise<Store> {
  await migrateUp(`sqlite:${at}`);
  const opened = await openStore(`sqlite:${at}`);
  undo.push(() => opened.close());
  return opened;
}

const hold = async (at: Store) => await addClaims(at, await lockId(at, "a"), { state: "held" });

/** How the file at the path becomes another one, and whether another server can then be started on the path. */
const REPLACED: Record<string, () => void> = {
  "is removed": () => unlinkSync(path),
  "is removed with its log": () => {
    unlinkSync(path);
    unlinkSync(`${path}-wal`);
  },
  "is moved away": () => renameSync(path, join(folder, "aside.db")),
  "has a backup moved over it": () => renameSync(backup, path),
  "is replaced by a link to a backup": () => {
    unlinkSync(path);
    symlinkSync(backup, path);
  },
  "is in a folder that is renamed": () => {
    renameSync(data, join(folder, "aside"));
    mkdirSync(data);
  },
  "is in a folder that is replaced by a link": () => {
    renameSync(data, join(folder, "aside"));
    mkdirSync(join(folder, "other"));
    symlinkSync(join(folder, "other"), data);
  },
  "is in a folder that is removed": () => {
    rmSync(data, { recursive: true });
    mkdirSync(data);
  },
};

describe("an SQLite file that is open and", () => {
  test.each(Object.entries(REPLACED))("%s has one holder of a lock, in the new file", async (_, replace) => {
    await lockId(store, "a");
    replace();
    const second = await open();
    expect(await hold(second)).toHaveLength(1);
    await expect(hold(store)).rejects.toMatchObject(CHANGED);
    await expect(store.view("a", 1)).rejects.toThrow("was removed, moved or replaced");
    // What the second one writes is safe from what the first one does at its end.
    await store.close();
    expect((await second.view("a", 1))?.holders).toHaveLength(1);
  });

  test.each(
    Object.entries<() => void>({
      "is truncated": () => truncateSync(path),
      "has a backup copied over it": () => copyFileSync(backup, path),
      "is written by a program that ignores locks": () => appendFileSync(path, "x"),
      "has a log that is truncated": () => truncateSync(`${path}-wal`),
      "has a log that is written": () => writeFileSync(`${path}-wal`, "x"),
      "has a log that is removed": () => unlinkSync(`${path}-wal`),
      "has another log moved over its own": () => {
        writeFileSync(backup, "x");
        renameSync(backup, `${path}-wal`);
      },
      "has a log that is a link to another file": () => {
        writeFileSync(backup, "x");
        unlinkSync(`${path}-wal`);
        linkSync(backup, `${path}-wal`);
      },
    }),
  )("%s grants and shows nothing more", async (_, change) => {
    await hold(store);
    change();
    await expect(hold(store)).rejects.toMatchObject(CHANGED);
    await expect(store.view("a", 1)).rejects.toMatchObject(CHANGED);
  });

  test("is moved away and back grants nothing, because another server may have used the path meanwhile", async () => {
    await hold(store);
    renameSync(path, backup);
    await expect(store.view("a", 1)).rejects.toMatchObject(CHANGED);
    renameSync(backup, path);
    await expect(hold(store)).rejects.toMatchObject(CHANGED);
  });

  test("is replaced while a transaction runs is not answered for, and the repeat is refused", async () => {
    const deciding = store.transact(NO_PLAN, () => {
      unlinkSync(path);
      return NO_CHANGES;
    });
    await expect(deciding).rejects.toMatchObject({ kind: "unknown_outcome", reason: "file_changed" });
    await expect(store.transact(NO_PLAN, () => NO_CHANGES)).rejects.toMatchObject(CHANGED);
  });

  test("is replaced while it is opened is refused", () => {
    const second = join(data, "second.db");
    copyFileSync(backup, second);
    const exec = vi.spyOn(DatabaseSync.prototype, "exec");
    undo.push(() => exec.mockRestore());
    exec.mockImplementationOnce(() => renameSync(backup, second));
    expect(() => openSqliteFile(second)).toThrow("was removed, moved or replaced");
  });

  test("loses its log keeps what was acknowledged, if its server stops in good order", async () => {
    await hold(store);
    unlinkSync(`${path}-wal`);
    await expect(store.view("a", 1)).rejects.toThrow("stop this server in good order");
    await store.close();
    expect((await (await open()).view("a", 1))?.holders).toHaveLength(1);
  });

  test.each(
    Object.entries<() => void>({
      "is in a folder that moved, to which a link leads": () => {
        renameSync(data, join(folder, "aside"));
        symlinkSync(join(folder, "aside"), data);
      },
      "has a second name": () => linkSync(path, join(folder, "second.db")),
      "had another -shm beside it": () => {
        writeFileSync(`${path}-shm`, "x");
        unlinkSync(`${path}-shm`);
      },
      "has a lock file beside it that is removed": () => {
        writeFileSync(`${path}.lock`, "");
        unlinkSync(`${path}.lock`);
      },
    }),
  )("%s is used on, and no second server can be started", async (_, change) => {
    change();
    await hold(store);
    expect((await store.view("a", 1))?.holders).toHaveLength(1);
    await expect(openStore(`sqlite:${path}`)).rejects.toMatchObject({ reason: "in_use" });
  });

  test("is reached by a link is watched at both ends", async () => {
    const link = join(folder, "link.db");
    symlinkSync(path, link);
    await store.close();
    const linked = await open(link);
    await hold(linked);
    unlinkSync(link);
    await expect(hold(linked)).rejects.toMatchObject(CHANGED);
  });

  test.each<readonly [string, number, number]>([
    ["on a disk", 0xef53, 1],
    ["on NFS, whose server may correct the time", 0x6969, 0],
    ["on a 9p share of a host", 0x01021997, 0],
    ["on a FUSE or virtiofs share of a host", 0x65735546, 0],
    ["on an SMB share", 0xfe534d42, 0],
  ])("%s is told as changed by its time only where only writes change that", async (_, type, failures) => {
    await store.close();
    fileSystem.mockReturnValue({ type } as StatsFs);
    undo.push(() => fileSystem.mockReset());
    const opened = await open();
    await hold(opened);
    utimesSync(path, new Date(), new Date(Date.now() + 5_000));
    const outcomes = await Promise.allSettled([hold(opened), opened.view("a", 1)]);
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(2 * failures);
    appendFileSync(path, "x");
    await expect(hold(opened)).rejects.toMatchObject(CHANGED);
  });

  test("writes much, and carries its log over into the file, is not taken for a changed one", async () => {
    await store.close();
    const database = openSqliteFile(path);
    database.exec("PRAGMA wal_autocheckpoint = 10");
    const busy = sqliteStore(database, { path });
    undo.push(() => busy.close());
    const before = statSync(path);
    const id = await lockId(busy, "a");
    for (let round = 0; round < 5; round++) {
      await addClaims(busy, id, ...Array.from({ length: 100 }, () => ({ owner: "x".repeat(255) })));
      const failing = transact(busy, {}, () => {
        throw new Error("rolled back");
      });
      await expect(failing).rejects.toThrow("rolled back");
      await busy.raiseLevelMin({ level: 1, by: "test" });
    }
    expect(statSync(path).size).toBeGreaterThan(before.size);
    expect((await busy.view("a", 0))?.lock.waiting).toBe(500);
  });
});
