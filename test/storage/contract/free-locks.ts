// Contract: locks that are free and due, as a Capture finds them.

import { describe, expect, test } from "vitest";
import type { LockRecord } from "../../../server/core/record.ts";
import type { FreeLock, FreePlace, RecordGroup, WantedNames } from "../../../server/storage/store.ts";
import { RECORD } from "../../support/claims.ts";
import type { FreshStore } from "../../support/store-fixture.ts";
import { addClaims, changeLock, lockId, SECOND_US } from "../../support/store-fixture.ts";

/** `dueInS`: due this many seconds from now. */
type Wanted = Partial<LockRecord> & { readonly dueInS?: number };

export function contractOfFreeLocks(fresh: () => FreshStore): void {
  const put = async (name: string, { dueInS, ...wanted }: Wanted = {}) => {
    const { store } = fresh();
    const id = await lockId(store, name);
    await changeLock(store, id, (lock, nowUs) => {
      const notBeforeUs = dueInS === undefined ? null : nowUs + dueInS * SECOND_US;
      lock.record = { ...RECORD, notBeforeUs, ...wanted };
    });
    return id;
  };
  const groups = async (prefix: string, max = 100) => {
    const read: RecordGroup[] = [];
    for (;;) {
      const found = await fresh().store.recordGroups(prefix, read.at(-1) ?? null, max);
      expect(found.groups.length).toBeLessThanOrEqual(max);
      read.push(...found.groups);
      if (found.isLast) return read;
      expect(found.groups.length).toBeGreaterThan(0);
    }
  };
  const page = (
    groups: readonly RecordGroup[],
    after: FreePlace | null,
    entries: number,
    wanted: WantedNames = { prefix: "", paused: [] },
  ) => fresh().store.freeLocks(groups, after, wanted, entries);
  /** Reads all pages, with `entries` entries of each group per page; also counts the pages. */
  async function pages(groups: readonly RecordGroup[], entries: number, wanted?: WantedNames) {
    const locks: FreeLock[] = [];
    let after: FreePlace | null = null;
    for (let count = 1; ; count++) {
      const found = await page(groups, after, entries, wanted);
      locks.push(...found.locks);
      if (!found.next) return { locks, count };
      after = found.next;
    }
  }
  const free = async (groups: readonly RecordGroup[]) => (await pages(groups, 100)).locks;
  const named = (found: readonly RecordGroup[]) => found.map(({ folder, status }) => `${folder}:${status}`);

  describe("groups of locks with records", () => {
    const NAMES = ["a/1", "a/2", "a/b/1", "a/c/d/1", "a-/1", "ab", "a0/1", "é/1", "z"];

    test.for([
      ["", [":s", ":t", "a-/:s", "a/:s", "a/:t", "a/b/:s", "a/c/d/:s", "a0/:s", "é/:s"]],
      ["a/", ["a/:s", "a/:t", "a/b/:s", "a/c/d/:s"]],
      ["a/b", ["a/:s", "a/:t", "a/b/:s"]],
      ["a/b/", ["a/b/:s"]],
      ["a/c", ["a/:s", "a/:t", "a/c/d/:s"]],
      ["a", [":s", ":t", "a-/:s", "a/:s", "a/:t", "a/b/:s", "a/c/d/:s", "a0/:s"]],
      ["nobody/", []],
      ["é", [":s", ":t", "é/:s"]],
    ] as const)(
      "are those of the folder of the prefix, and of folders under it: %j",
      async ([prefix, expected]) => {
        for (const name of NAMES) await put(name, { status: name === "a/2" || name === "z" ? "t" : "s" });
        await lockId(fresh().store, "a/no record");
        expect(named(await groups(prefix))).toEqual(expected);
        for (const max of [1, 2, 3]) expect(named(await groups(prefix, max))).toEqual(expected);
      },
    );

    test("tell statuses apart by their bytes, the empty one included", async () => {
      for (const status of ["", "B", "b", "b ", "é"]) await put(`f/${status}`, { status });
      expect(named(await groups("f/"))).toEqual(["f/:", "f/:B", "f/:b", "f/:b ", "f/:é"]);
    });
  });

  describe("free locks", () => {
    const F = [{ folder: "f/", status: "" }];
    const names = (locks: readonly FreeLock[]) => locks.map(({ name }) => name);

    test("are those that nobody holds or waits for, that are due and not exhausted", async () => {
      const { store } = fresh();
      const held = await put("f/held");
      await addClaims(store, held, { state: "held" });
      const waited = await put("f/waited");
      await addClaims(store, waited, {});
      await put("f/exhausted", { attemptsLeft: 0 });
      await put("f/later", { dueInS: 3_600 });
      await put("f/other status", { status: "x" });
      const id = await put("f/free", { dueInS: -5, attemptsLeft: 1 });
      await put("g/other folder");
      await lockId(store, "f/no record");
      const found = await free(F);
      expect(found).toEqual([{ id, name: "f/free", dueAtUs: expect.any(Number), limit: null }]);
      expect(names(await free([...F, { folder: "f/", status: "x" }, { folder: "g/", status: "" }]))).toEqual([
        "f/other status",
        "g/other folder",
        "f/free",
      ]);
    });

    test("come back when the lease has ended, with the limit of their own", async () => {
      const { store } = fresh();
      const id = await put("f/a");
      await changeLock(store, id, (lock) => {
        lock.limit = 7;
        lock.holders += 1;
      });
      expect(await free(F)).toEqual([]);
      await changeLock(store, id, (lock) => {
        lock.holders -= 1;
      });
      expect(await free(F)).toEqual([{ id, name: "f/a", dueAtUs: 0, limit: 7 }]);
      await changeLock(store, id, (lock) => {
        lock.record = null;
      });
      expect(await free(F)).toEqual([]);
    });

    test("come in order of when they were due, then of the bytes of their names, page by page", async () => {
      const due = { "f/é": -9, "f/z": -9, "f/a": -3, "f/b": -20 };
      const base = await put("f/base", { dueInS: -9 });
      const [{ dueAtUs: atUs } = { dueAtUs: 0 }] = await free(F);
      for (const [name, dueInS] of Object.entries(due))
        await put(name, dueInS === -9 ? { notBeforeUs: atUs } : { dueInS });
      await put("f/y");
      await put("f/x");
      const order = ["f/x", "f/y", "f/b", "f/base", "f/z", "f/é", "f/a"];
      expect(names(await free(F))).toEqual(order);
      expect(base).toBeTypeOf("bigint");
      for (const entries of [1, 2, 3, 5]) {
        expect(names((await pages(F, entries)).locks)).toEqual(order);
        const under = { prefix: "f/b", paused: [] };
        expect(names((await pages(F, entries, under)).locks)).toEqual(["f/b", "f/base"]);
      }
    });

    test("of many groups are found together", async () => {
      const many = Array.from({ length: 130 }, (_, index) => `m/${1_000 + index}/job`);
      for (const name of many) await put(name);
      const found = await groups("m/", 500);
      expect(found).toHaveLength(130);
      expect(names(await free(found))).toEqual(many);
      expect(names((await pages(found, 1)).locks)).toEqual(many);
    });

    test("of several groups come in one order, however few entries of each are read at a time", async () => {
      const due = { "f/1": -9, "f/2": -5, "f/3": -1, "g/1": -8, "g/2": -4, "h/1": -3, "h/2": -2 };
      for (const [name, dueInS] of Object.entries(due)) await put(name, { dueInS });
      const all = await groups("");
      const order = ["f/1", "g/1", "f/2", "g/2", "h/1", "h/2", "f/3"];
      for (const entries of [1, 2, 3]) expect(names((await pages(all, entries)).locks)).toEqual(order);
    });

    test("are looked for among so many entries at a time, wanted or not, and all are found", async () => {
      for (let index = 0; index < 40; index++) await put(`f/mail-${10 + index}`, { dueInS: -50 });
      await put("f/report-1", { dueInS: -5 });
      const report = { prefix: "f/report-", paused: [] };
      expect(await page(F, null, 10, report)).toMatchObject({ locks: [], next: { name: "f/mail-19" } });
      const { locks, count } = await pages(F, 10, report);
      expect(names(locks)).toEqual(["f/report-1"]);
      expect(count).toBeGreaterThan(2);
    });

    test("that a pattern pauses are passed over, but for those with limits of their own", async () => {
      const { store } = fresh();
      for (const name of ["f/a-1", "f/a-2", "f/a-b-1", "f/a-b-c-1", "f/b-1"]) await put(name);
      await changeLock(store, await lockId(store, "f/a-2"), (lock) => {
        lock.limit = 3;
      });
      const paused = [
        { prefix: "f/a-", except: ["f/a-b-", "f/a-b-c-"] },
        { prefix: "f/a-b-c-", except: [] },
      ];
      for (const entries of [1, 2, 10])
        expect(names((await pages(F, entries, { prefix: "f/", paused })).locks)).toEqual([
          "f/a-2",
          "f/a-b-1",
          "f/b-1",
        ]);
      const all = [{ prefix: "", except: [] }];
      expect(names((await pages(F, 2, { prefix: "", paused: all })).locks)).toEqual(["f/a-2"]);
    });

    test("tell in how long the next one is due", async () => {
      const { store } = fresh();
      expect(await store.nextDueIn(F)).toBeNull();
      await put("f/past", { dueInS: -1 });
      await put("f/exhausted", { dueInS: 5, attemptsLeft: 0 });
      expect(await store.nextDueIn(F)).toBeNull();
      await put("f/later", { dueInS: 600 });
      await put("f/soon", { dueInS: 60 });
      const inUs = (await store.nextDueIn(F)) ?? 0;
      expect(inUs).toBeGreaterThan(30 * SECOND_US);
      expect(inUs).toBeLessThanOrEqual(60 * SECOND_US);
      expect(await store.nextDueIn([])).toBeNull();
    });
  });

  describe("locks by name", () => {
    test("are shown with and without a record, and those that nobody has named are left out", async () => {
      const { store } = fresh();
      const plain = await lockId(store, "plain");
      const held = await lockId(store, "held");
      await addClaims(store, held, { state: "held" });
      const task = await put("task", { status: "new", notBeforeUs: 5 });
      const taken = await put("taken", { status: "new" });
      await addClaims(store, taken, { state: "held" });
      const { nowUs, locks } = await store.namedLocks(["task", "nobody", "plain", "held", "taken", "TASK"]);
      expect(nowUs).toBeGreaterThan(SECOND_US);
      expect(locks.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
        { id: held, name: "held", limit: null, dueAtUs: null, status: "" },
        { id: plain, name: "plain", limit: null, dueAtUs: 0, status: "" },
        { id: taken, name: "taken", limit: null, dueAtUs: null, status: "new" },
        { id: task, name: "task", limit: null, dueAtUs: 5, status: "new" },
      ]);
      expect((await store.namedLocks([])).locks).toEqual([]);
    });
  });
}
