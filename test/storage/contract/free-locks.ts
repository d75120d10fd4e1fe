// Contract: locks that are free and due, as a Capture finds them.

import { describe, expect, test } from "vitest";
import type { LockRecord } from "../../../server/core/record.ts";
import type { FreeLock, RecordGroup } from "../../../server/storage/store.ts";
import { RECORD } from "../../support/claims.ts";
import type { FreshStore } from "../../support/store-fixture.ts";
import { addClaims, changeLock, lockId, SECOND_US } from "../../support/store-fixture.ts";

/** Stands for now, plus so many seconds. */
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
  const groups = (prefix: string, after: RecordGroup | null = null, max = 100) =>
    fresh().store.recordGroups(prefix, after, max);
  const free = (groups: readonly RecordGroup[], after: FreeLock | null = null, max = 100) =>
    fresh().store.freeLocks(groups, after, max);
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
        for (const max of [1, 2, 3]) {
          const read: RecordGroup[] = [];
          for (;;) {
            const page = await groups(prefix, read.at(-1) ?? null, max);
            expect(page.length).toBeLessThanOrEqual(max);
            read.push(...page);
            if (page.length < max) break;
          }
          expect(named(read)).toEqual(expected);
        }
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
      for (const max of [1, 2, 3, 5]) {
        const read: FreeLock[] = [];
        for (;;) {
          const page = await free(F, read.at(-1) ?? null, max);
          read.push(...page);
          if (page.length < max) break;
        }
        expect(names(read)).toEqual(order);
      }
    });

    test("of many groups are found together", async () => {
      const many = Array.from({ length: 130 }, (_, index) => `m/${1_000 + index}/job`);
      for (const name of many) await put(name);
      const found = await groups("m/", null, 500);
      expect(found).toHaveLength(130);
      expect(names(await free(found, null, 500))).toEqual(many);
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
