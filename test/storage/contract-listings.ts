// Contract: what people and gauges are shown.

import { describe, expect, test } from "vitest";
import type { FreshStore } from "./fixture.ts";
import { addClaims, lockId, SECOND_US } from "./fixture.ts";

const NAMES = [
  "!",
  "A",
  "Z",
  "a",
  "a ",
  "a%",
  "a/",
  "a/b",
  "a/c/d",
  "a_",
  "aa",
  "b",
  "é",
  "ÿ",
  "ÿa",
  "Ā",
  "\uffff",
  "\uffffa",
  "\u{10000}",
  "\u{10ffff}",
  "\u{10ffff}z",
];

export function contractOfListings(fresh: () => FreshStore): void {
  const names = async (query: Partial<Parameters<FreshStore["store"]["list"]>[0]>) => {
    const whole = { prefix: "", afterName: null, max: 1000, busyOnly: false, shown: 0 };
    return (await fresh().store.list({ ...whole, ...query })).map((view) => view.lock.name);
  };

  describe("a listing", () => {
    test("is in the order of bytes", async () => {
      await fresh().store.resolve(NAMES.toReversed());
      const inBytes = NAMES.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(inBytes).not.toEqual(NAMES.toSorted());
      expect(await names({})).toEqual(inBytes);
    });

    test.for(["a", "a/", "a%", "a_", "A", "ÿ", "é", "\uffff", "\u{10ffff}", "nobody", "a/c/d", "\0"])(
      "of a prefix holds the names that begin with it: %j",
      async (prefix) => {
        await fresh().store.resolve(NAMES);
        expect((await names({ prefix })).sort()).toEqual(
          NAMES.filter((name) => name.startsWith(prefix)).sort(),
        );
      },
    );

    test.for(["", "a", "a/"])("is read page by page without gap or repetition: prefix %j", async (prefix) => {
      await fresh().store.resolve(NAMES);
      const whole = await names({ prefix });
      for (const max of [1, 2, 3]) {
        const read: string[] = [];
        while (read.length <= whole.length) {
          const page = await names({ prefix, max, afterName: read.at(-1) ?? null });
          expect(page.length).toBeLessThanOrEqual(max);
          if (page.length === 0) break;
          read.push(...page);
        }
        expect(read).toEqual(whole);
      }
    });

    test("goes on after a name that is gone, or that is not under the prefix", async () => {
      await fresh().store.resolve(NAMES);
      expect(await names({ prefix: "a", afterName: "a/bb" })).toEqual(["a/c/d", "a_", "aa"]);
      expect(await names({ prefix: "a/", afterName: "Z" })).toEqual(["a/", "a/b", "a/c/d"]);
      expect(await names({ prefix: "a/", afterName: "b" })).toEqual([]);
    });

    test("of busy locks leaves out those that nobody holds or waits for", async () => {
      const { store } = fresh();
      const ids = await store.resolve(["ended", "held", "idle", "waited", "without end"]);
      const add = (name: string, wanted: Parameters<typeof addClaims>[2]) =>
        addClaims(store, ids.get(name) as bigint, wanted);
      await add("ended", { state: "ended" });
      await add("held", { state: "held" });
      await add("waited", {});
      await add("without end", { state: "held", dueInUs: null });
      expect(await names({ busyOnly: true })).toEqual(["held", "waited", "without end"]);
      expect(await names({ busyOnly: true, prefix: "w", max: 1 })).toEqual(["waited"]);
    });

    test("shows the first holders and waiters of each lock, oldest first", async () => {
      const { store } = fresh();
      const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
      const holders = await addClaims(
        store,
        a,
        ...Array.from({ length: 11 }, () => ({ state: "held" as const })),
      );
      await addClaims(store, a, { state: "ended" });
      const waiters = await addClaims(store, a, ...Array.from({ length: 11 }, () => ({})));
      const [other] = await addClaims(store, b, {});
      const list = (shown: number) =>
        store.list({ prefix: "", afterName: null, max: 10, busyOnly: false, shown });
      for (const shown of [0, 1, 10, 100]) {
        const [ofA, ofB] = await list(shown);
        expect(ofA?.holders).toEqual(holders.slice(0, shown));
        expect(ofA?.waiters).toEqual(waiters.slice(0, shown));
        expect(ofB?.holders).toEqual([]);
        expect(ofB?.waiters).toEqual([other].slice(0, shown));
        expect(await store.show("a", shown)).toEqual(ofA);
        expect(await store.show("b", shown)).toEqual(ofB);
      }
      expect(await store.show("A", 1)).toBeNull();
    });
  });

  describe("a queue", () => {
    test("is shown whole and in order, with the permits that each asks for", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const other = await lockId(store, "b");
      await addClaims(store, other, {});
      await addClaims(
        store,
        id,
        { state: "held" },
        { state: "ended" },
        { permits: 3 },
        { permits: 1 },
        { permits: 500 },
      );
      const { nowUs, places } = await store.queue(id);
      expect(places).toEqual([
        { ticketNumber: 3n, permits: 3 },
        { ticketNumber: 4n, permits: 1 },
        { ticketNumber: 5n, permits: 500 },
      ]);
      expect(nowUs).toBeGreaterThan(SECOND_US);
      expect((await store.queue(id + 1000n)).places).toEqual([]);
    });

    test("has its holders beside it, the oldest first and no more than asked for", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const holders = await addClaims(
        store,
        id,
        ...Array.from({ length: 12 }, () => ({ state: "held" as const })),
      );
      await addClaims(store, id, {}, { state: "ended" });
      expect((await store.holders(id, 100)).claims).toEqual(holders);
      expect((await store.holders(id, 3)).claims).toEqual(holders.slice(0, 3));
      expect((await store.holders(id + 1000n, 3)).claims).toEqual([]);
    });
  });

  describe("busy locks", () => {
    test("are those held or waited for, those with most waiters first, with the age of the oldest wait", async () => {
      const { store } = fresh();
      const ids = await store.resolve(["held", "two wait", "three wait", "idle", "ended"]);
      const add = (name: string, ...wanted: Parameters<typeof addClaims>[2][]) =>
        addClaims(store, ids.get(name) as bigint, ...wanted);
      await add("held", { state: "held", requestedAtUs: 1 });
      await add("two wait", { state: "held", requestedAtUs: 1 }, { requestedAtUs: 2 }, { requestedAtUs: 3 });
      await add("three wait", { requestedAtUs: 5 }, { requestedAtUs: 6 }, { requestedAtUs: 7 });
      await add("ended", { state: "ended" });
      const busy = await store.busyLocks(10);
      expect(busy.map(({ lock, oldestWaiterSinceUs }) => [lock.name, oldestWaiterSinceUs])).toEqual([
        ["three wait", 5],
        ["two wait", 2],
        ["held", null],
      ]);
      expect(busy[1]?.lock).toEqual((await store.show("two wait", 0))?.lock);
      expect((await store.busyLocks(1)).map(({ lock }) => lock.name)).toEqual(["three wait"]);
    });
  });
}
