// Contract: free locks, as a Capture finds them.

import { describe, expect, test } from "vitest";
import type { LockRecord } from "../../../server/core/lock.ts";
import {
  FIRST_FREE,
  type FreeLock,
  type FreePosition,
  type FreeSelector,
  type PausedNames,
  type RecordGroup,
} from "../../../server/storage/store.ts";
import { RECORD } from "../../support/claims.ts";
import { addClaims, changeLock, type FreshStore, lockId, SECOND_US } from "../../support/store-fixture.ts";

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
  type Under = Omit<Extract<FreeSelector, { kind: "prefix" }>, "kind">;
  const under = (prefix: string, statuses: readonly string[] = [], paused: readonly PausedNames[] = []) => ({
    prefix,
    statuses,
    paused,
  });
  const page = (selector: Under, from: FreePosition, atMost: number) =>
    fresh().store.freeLocks({ kind: "prefix", ...selector }, from, atMost);
  /** Reads all pages, with `atMost` entries of each group per page; also counts the pages. */
  async function pages(selector: Under, atMost: number) {
    const locks: FreeLock[] = [];
    const groups: RecordGroup[] = [];
    for (let from = FIRST_FREE, count = 1; ; count++) {
      const { locks: more, at, next } = await page(selector, from, atMost);
      locks.push(...more);
      if (from.after === null) groups.push(...(at.groups?.groups ?? []));
      if (!next) return { locks, groups, count };
      from = next;
    }
  }
  const groups = async (prefix: string) => (await pages(under(prefix), 100)).groups;
  const free = async (selector: Under) => (await pages(selector, 100)).locks;
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
        // From any group on, the others follow.
        const all = await groups(prefix);
        for (const [index, behind] of all.entries()) {
          const { at } = await page(under(prefix), { behind, after: null }, 100);
          expect(named(at.groups?.groups ?? [])).toEqual(expected.slice(index + 1));
        }
      },
    );

    test("distinguish statuses by their bytes, the empty one included", async () => {
      for (const status of ["", "B", "b", "b ", "é"]) await put(`f/${status}`, { status });
      expect(named(await groups("f/"))).toEqual(["f/:", "f/:B", "f/:b", "f/:b ", "f/:é"]);
    });
  });

  describe("free locks", () => {
    const F = under("f/", [""]);
    const names = (locks: readonly FreeLock[]) => locks.map(({ name }) => name);

    test("have no holders or waiters, are due, and have attempts left", async () => {
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
      expect(found).toEqual([{ id, name: "f/free", freeSinceUs: expect.any(Number), limit: null }]);
      expect(names(await free(under("")))).toEqual(["f/other status", "g/other folder", "f/free"]);
      expect(names(await free(under("", ["x", "y"])))).toEqual(["f/other status"]);
    });

    test("include locks whose lease has ended, with their own limits", async () => {
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
      expect(await free(F)).toEqual([{ id, name: "f/a", freeSinceUs: 0, limit: 7 }]);
      await changeLock(store, id, (lock) => {
        lock.record = null;
      });
      expect(await free(F)).toEqual([]);
    });

    test("are in order of due time, then of the bytes of their names, page by page", async () => {
      const due = { "f/é": -9, "f/z": -9, "f/a": -3, "f/b": -20 };
      const base = await put("f/base", { dueInS: -9 });
      const [{ freeSinceUs: atUs } = { freeSinceUs: 0 }] = await free(F);
      for (const [name, dueInS] of Object.entries(due))
        await put(name, dueInS === -9 ? { notBeforeUs: atUs } : { dueInS });
      await put("f/y");
      await put("f/x");
      const order = ["f/x", "f/y", "f/b", "f/base", "f/z", "f/é", "f/a"];
      expect(names(await free(F))).toEqual(order);
      expect(base).toBeTypeOf("bigint");
      for (const entries of [1, 2, 3, 5]) {
        expect(names((await pages(F, entries)).locks)).toEqual(order);
        expect(names((await pages(under("f/b"), entries)).locks)).toEqual(["f/b", "f/base"]);
      }
    });

    test("of many groups are found together", async () => {
      const many = Array.from({ length: 130 }, (_, index) => `m/${1_000 + index}/job`);
      for (const name of many) await put(name);
      expect(await groups("m/")).toHaveLength(130);
      expect(names(await free(under("m/")))).toEqual(many);
      expect(names((await pages(under("m/"), 1)).locks)).toEqual(many);
    });

    test("of several groups are in one order, however few entries of each are read at a time", async () => {
      const due = { "f/1": -9, "f/2": -5, "f/3": -1, "g/1": -8, "g/2": -4, "h/1": -3, "h/2": -2 };
      for (const [name, dueInS] of Object.entries(due)) await put(name, { dueInS });
      const order = ["f/1", "g/1", "f/2", "g/2", "h/1", "h/2", "f/3"];
      for (const entries of [1, 2, 3]) expect(names((await pages(under(""), entries)).locks)).toEqual(order);
    });

    test("are searched in steps of a bounded number of entries, and all are found", async () => {
      for (let index = 0; index < 40; index++) await put(`f/mail-${10 + index}`, { dueInS: -50 });
      await put("f/report-1", { dueInS: -5 });
      const report = under("f/report-");
      expect(await page(report, FIRST_FREE, 10)).toMatchObject({
        locks: [],
        next: { after: { name: "f/mail-19" } },
      });
      const { locks, count } = await pages(report, 10);
      expect(names(locks)).toEqual(["f/report-1"]);
      expect(count).toBeGreaterThan(2);
    });

    test("leave out those that a pattern pauses, except those with their own limits", async () => {
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
        expect(names((await pages(under("f/", [], paused), entries)).locks)).toEqual([
          "f/a-2",
          "f/a-b-1",
          "f/b-1",
        ]);
      const all = [{ prefix: "", except: [] }];
      expect(names((await pages(under("", [], all), 2)).locks)).toEqual(["f/a-2"]);
    });

    test("come with the time until the next one is free, if none is free now", async () => {
      const nextInUs = async () => (await page(F, FIRST_FREE, 100)).nextInUs;
      expect(await nextInUs()).toBeNull();
      await put("f/exhausted", { dueInS: 5, attemptsLeft: 0 });
      expect(await nextInUs()).toBeNull();
      await put("f/later", { dueInS: 600 });
      await put("f/soon", { dueInS: 60 });
      const inUs = (await nextInUs()) ?? 0;
      expect(inUs).toBeGreaterThan(30 * SECOND_US);
      expect(inUs).toBeLessThanOrEqual(60 * SECOND_US);
      await put("f/past", { dueInS: -1 });
      const { locks, next, nextInUs: unknown, at } = await page(F, FIRST_FREE, 100);
      expect([names(locks), next, unknown]).toEqual([["f/past"], null, null]);
      const behind = await page(F, { ...at, after: locks[0] ?? null }, 100);
      expect(behind.locks).toEqual([]);
      expect(behind.nextInUs).toBeGreaterThan(30 * SECOND_US);
      // If there are groups before these, nobody knows.
      const middle = { behind: { folder: "e/", status: "" }, after: null };
      expect(await page(under("f/soon"), middle, 100)).toMatchObject({ next: null, nextInUs: null });
    });
  });

  describe("locks by name", () => {
    const among = (names: readonly string[], statuses: readonly string[] = []) =>
      fresh().store.freeLocks({ kind: "names", names, statuses }, FIRST_FREE, 1);

    test("are found with and without a record, and so are unused names", async () => {
      const { store } = fresh();
      const plain = await lockId(store, "plain");
      // With as many holders as waiters.
      await addClaims(store, await lockId(store, "held"), { state: "held" }, {});
      const task = await put("task", { status: "new", notBeforeUs: 5 });
      await addClaims(store, await put("taken", { status: "new" }), { state: "held" });
      const names = ["task", "nobody", "plain", "held", "taken", "TASK"];
      const page = await among(names);
      expect(page).toMatchObject({ next: null, nextInUs: null });
      expect(page.locks).toEqual([
        { id: null, name: "TASK", limit: null, freeSinceUs: 0 },
        { id: null, name: "nobody", limit: null, freeSinceUs: 0 },
        { id: plain, name: "plain", limit: null, freeSinceUs: 0 },
        { id: task, name: "task", limit: null, freeSinceUs: 5 },
      ]);
      expect((await among(names, ["new"])).locks.map(({ id }) => id)).toEqual([task]);
      expect((await among([])).locks).toEqual([]);
    });

    test("come with the time until the next one is free", async () => {
      await put("task/1", { dueInS: 600 });
      await put("task/2", { dueInS: 60 });
      await put("task/3", { dueInS: 30 });
      const { locks, nextInUs } = await among(["task/1", "task/2"]);
      expect(locks).toEqual([]);
      expect(nextInUs).toBeGreaterThan(30 * SECOND_US);
      expect(nextInUs).toBeLessThanOrEqual(60 * SECOND_US);
    });
  });
}
