// Contract: names are bytes, and each has exactly one guard row, whichever server creates it first.

import { describe, expect, test } from "vitest";
import { NAMES_MAX } from "../../../server/storage/storage-bounds.ts";
import type { FreshStore } from "../../support/store-fixture.ts";
import { BIG, resolve } from "../../support/store-fixture.ts";

export function contractOfNames(fresh: () => FreshStore): void {
  describe("names", () => {
    test.for([
      ["in upper and lower case, and with a blank after it", ["Job", "job", "Job "]],
      ["with blanks around it", [" a", "a", "a ", "a  ", "\ta"]],
      ["with NULs in it and after it", ["a", "a\0", "\0a", "a\0b", "\0"]],
      ["in letters that look or sort alike", ["é", "e\u0301", "E", "e", "ß", "ss", "ａ", "a"]],
      ["of emoji", ["🔒", "🔓", "👩‍🚀", "👩🚀"]],
      ["of digits that are the same number", ["1", "01", "1.0", "1e0"]],
      ["of 255 bytes that differ in the last", ["x".repeat(255), `${"x".repeat(254)}y`, "x".repeat(254)]],
      ["of 255 bytes in letters of four", [`${"🔒".repeat(63)}abc`, `${"🔒".repeat(63)}abd`]],
      ["that SQL would read as more than a name", ["a%", "a_", "a\\", "a'b", 'a"b', "a`b", "a;--", "NULL"]],
    ] as const)("a name %s is a lock of its own", async ([, names]) => {
      const { store } = fresh();
      const ids = await store.resolve(names);
      expect([...ids.keys()].sort()).toEqual([...names].sort());
      expect(new Set(ids.values()).size).toBe(names.length);
      expect(await store.find(names)).toEqual(ids);
      for (const name of names)
        expect((await store.view(name, 1))?.lock).toMatchObject({ name, id: ids.get(name) });
    });

    test("resolve returns the same ids again, and one for a repeated name", async () => {
      const { store } = fresh();
      const first = await store.resolve(["a", "b"]);
      expect(await store.resolve(["b", "c", "a", "b"])).toEqual(
        new Map([...first, ["c", (await store.find(["c"])).get("c")]]),
      );
      expect(await store.resolve([])).toEqual(new Map());
    });

    test("resolve creates those that may be made, and leaves out the others", async () => {
      const { store } = fresh();
      await store.resolve(["old"]);
      const asked: (readonly string[])[] = [];
      const only = (room: number) => (missing: readonly string[]) => {
        asked.push(missing);
        return missing.slice(0, room);
      };
      const ids = await store.resolve(["one", "old", "two", "one", "three"], only(2));
      expect([...ids.keys()].sort()).toEqual(["old", "one", "two"]);
      expect(await store.find(["old", "one", "two", "three"])).toEqual(ids);
      expect([...(await store.resolve(["three", "four"], only(0))).keys()]).toEqual([]);
      expect([...(await store.resolve(["old", "one"], only(0))).keys()].sort()).toEqual(["old", "one"]);
      expect(asked).toEqual([
        ["one", "two", "three"],
        ["three", "four"],
      ]);
    });

    test("find creates nothing, and leaves out missing names", async () => {
      const { store } = fresh();
      expect(await store.find(["nobody", "nowhere"])).toEqual(new Map());
      expect(await store.view("nobody", 1)).toBeNull();
      const ids = await store.resolve(["somebody"]);
      expect(await store.find(["nobody", "somebody"])).toEqual(ids);
      expect(await store.find([])).toEqual(new Map());
    });

    test("64 simultaneous first users of one name get one id", async () => {
      const { store, other } = fresh();
      const stores = other ? [store, other] : [store];
      const answers = await Promise.all(
        Array.from({ length: 64 }, (_, i) =>
          resolve(stores[i % stores.length] ?? store, ["new", `own ${i % 4}`]),
        ),
      );
      expect(new Set(answers.map((ids) => ids.get("new"))).size).toBe(1);
      expect(new Set(answers.flatMap((ids) => [...ids.values()])).size).toBe(5);
    });

    test("more new names than one statement takes each get an id of their own, and all are found", async () => {
      const { store } = fresh();
      const names = Array.from({ length: NAMES_MAX + 1 }, (_, i) => `many/${i}`);
      const ids = await store.resolve(names);
      expect(new Set(ids.values()).size).toBe(names.length);
      expect(await store.find(names)).toEqual(ids);
    });

    test("ids beyond 2^53 are exact", async () => {
      const { store } = fresh();
      const ids = [...(await store.resolve(["one", "two", "three"])).values()];
      for (const id of ids) expect(id).toBeGreaterThan(BIG);
      expect(new Set(ids).size).toBe(3);
    });
  });
}
