// Contract: the reads for people and for gauges.

import { describe, expect, test } from "vitest";
import { keyText } from "../../../server/core/claim.ts";
import type { GuardRow } from "../../../server/core/lock.ts";
import type { ClaimTimes } from "../../../server/core/transitions.ts";
import { BUSY_LOCKS_PAGE, LIST_ROWS_MAX, LIST_SCAN_MAX } from "../../../server/storage/storage-bounds.ts";
import type { BusyLock, LockQuery, LockView } from "../../../server/storage/store.ts";
import { addClaims, changeLock, type FreshStore, lockId, SECOND_US } from "../../support/store-fixture.ts";

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
  const step = (query: Partial<LockQuery>) =>
    fresh().store.list({ prefix: "", afterName: null, max: 1000, which: "all", ...query });
  const names = async (query: Partial<LockQuery>) => (await step(query)).locks.map(({ name }) => name);
  /** Reads all steps of a listing. */
  const allNames = async (query: Partial<LockQuery>) => {
    const read: string[] = [];
    let afterName = query.afterName ?? null;
    do {
      const { locks, next } = await step({ ...query, afterName });
      read.push(...locks.map(({ name }) => name));
      afterName = next;
    } while (afterName !== null);
    return read;
  };

  test("live claims are counted by principal: holders in guard rows, further holders and waiters", async () => {
    const { store } = fresh();
    const [a, b] = [await lockId(store, "a"), await lockId(store, "b")];
    const by = (principal: string, state: "held" | "waiting" | "ended") => ({ principal, state }) as const;
    await addClaims(store, a, by("token:x", "held"), by("token:x", "held"), by("token:y", "waiting"));
    await addClaims(store, b, by("token:y", "held"), by("", "held"), by("token:z", "ended"));
    const counts = await store.claimsOfPrincipals();
    expect(counts.toSorted((one, other) => (one.principal < other.principal ? -1 : 1))).toEqual([
      { principal: "token:x", claims: 2, waiters: 0 },
      { principal: "token:y", claims: 2, waiters: 1 },
    ]);
  });

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

    test("of busy locks leaves out those without holders and waiters", async () => {
      const { store } = fresh();
      const ids = await store.resolve(["ended", "held", "idle", "waited", "without end"]);
      const add = (name: string, wanted: Parameters<typeof addClaims>[2]) =>
        addClaims(store, ids.get(name) as bigint, wanted);
      await add("ended", { state: "ended" });
      await add("held", { state: "held" });
      await add("waited", {});
      await add("without end", { state: "held", dueInUs: null });
      expect(await names({ which: "busy" })).toEqual(["held", "waited", "without end"]);
      expect(await names({ which: "busy", prefix: "w", max: 1 })).toEqual(["waited"]);
    });

    test("of locks with a limit or a rate leaves out those without one", async () => {
      const { store } = fresh();
      const ids = await store.resolve(["a", "paused", "rated", "unset", "z"]);
      const limit = (name: string, value: number | null) =>
        changeLock(store, ids.get(name) as bigint, (lock) => {
          lock.limit = value;
          lock.limitVersion += 1n;
        });
      await limit("a", 3);
      await limit("paused", 0);
      await limit("unset", null);
      const rate = { permits: 5, perUs: SECOND_US, burst: 5 };
      await changeLock(store, ids.get("rated") as bigint, (lock) => Object.assign(lock, { rate }));
      expect(await names({ which: "limited" })).toEqual(["a", "paused", "rated"]);
      expect(await names({ which: "limited", prefix: "p" })).toEqual(["paused"]);
    });

    test("returns where the next step begins, and nothing after the last", async () => {
      await fresh().store.resolve(["a", "b", "c"]);
      expect((await step({ max: 2 })).next).toBe("b");
      expect((await step({ max: 2, afterName: "b" })).next).toBeNull();
      expect((await step({ prefix: "nobody" })).next).toBeNull();
    });

    test("of very many locks is read in steps of a bounded size, whichever of them are wanted", async () => {
      const { store } = fresh();
      const many = Array.from({ length: LIST_SCAN_MAX * 2 + 1 }, (_, index) => `n/${10_000 + index}`);
      await store.resolve(many);
      for (const name of [many.at(0), many.at(-1)]) {
        await addClaims(store, await lockId(store, name as string), { state: "held" });
      }
      expect((await step({ max: many.length })).locks.length).toBe(LIST_ROWS_MAX);
      expect(await allNames({ prefix: "n/" })).toEqual(many);
      expect(await allNames({ prefix: "n/", which: "busy" })).toEqual([many.at(0), many.at(-1)]);
      expect(await allNames({ prefix: "n/", which: "limited" })).toEqual([]);
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
      for (const shown of [0, 1, 10, 100]) {
        const [ofB, ofA] = await store.views([b, a + 1000n, a], shown);
        expect((await step({})).locks).toEqual([guardOf(ofA), guardOf(ofB)]);
        expect(ofA?.holders).toEqual(holders.slice(0, shown));
        expect(ofA?.waiters).toEqual(waiters.slice(0, shown));
        expect(ofB?.holders).toEqual([]);
        expect(ofB?.waiters).toEqual([other].slice(0, shown));
        expect(await store.view("a", shown)).toEqual(ofA);
        expect(await store.view("b", shown)).toEqual(ofB);
      }
      expect(await store.views([], 1)).toEqual([]);
      expect(await store.view("A", 1)).toBeNull();
    });
  });

  describe("locks that are waited for", () => {
    test("are listed by the longest wait or by the most waiters, within the prefix and the maximum", async () => {
      const { store } = fresh();
      const ids = await store.resolve(["a/long", "a/many", "a/idle", "a/held", "b/many", "a/late"]);
      const add = (name: string, ...wanted: Parameters<typeof addClaims>[2][]) =>
        addClaims(store, ids.get(name) as bigint, ...wanted);
      await add("a/held", { state: "held", requestedAtUs: 1 });
      await add(
        "a/long",
        { state: "held" },
        { state: "ended", requestedAtUs: 1 },
        { requestedAtUs: 5 },
        { requestedAtUs: 10 },
      );
      await add("a/many", { requestedAtUs: 6 }, { requestedAtUs: 7 }, { requestedAtUs: 8 });
      await add("a/late", { requestedAtUs: 9 });
      await add("b/many", ...Array.from({ length: 4 }, () => ({ requestedAtUs: 2 })));
      const found = async (prefix: string, order: "longest_wait" | "most_waiters", max: number) => {
        const waited = await store.waitedLocks(prefix, order, max);
        return (
          await store.views(
            waited.map(({ id }) => id),
            1,
          )
        ).map(({ lock }) => lock.name);
      };
      expect(await found("", "longest_wait", 9)).toEqual(["b/many", "a/long", "a/many", "a/late"]);
      expect(await found("", "most_waiters", 9)).toEqual(["b/many", "a/many", "a/long", "a/late"]);
      expect(await found("a/", "longest_wait", 2)).toEqual(["a/long", "a/many"]);
      expect(await found("a/", "most_waiters", 1)).toEqual(["a/many"]);
      expect(await store.waitedLocks("a/l", "longest_wait", 1)).toEqual([
        { id: ids.get("a/long"), holders: 1, waiting: 2 },
      ]);
    });
  });

  describe("a queue", () => {
    test("is shown whole and in order, with the permits of each request", async () => {
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
        { lockId: id, ticketNumber: 3n, permits: 3 },
        { lockId: id, ticketNumber: 4n, permits: 1 },
        { lockId: id, ticketNumber: 5n, permits: 500 },
      ]);
      expect(nowUs).toBeGreaterThan(SECOND_US);
      expect((await store.queue(id + 1000n)).places).toEqual([]);
    });

    test("comes with the holders, the oldest first, up to the maximum", async () => {
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
    test("are those held or waited for, each once, with the age of the oldest wait", async () => {
      const { store } = fresh();
      const ids = await store.resolve(["held", "two wait", "three wait", "idle", "ended"]);
      const add = (name: string, ...wanted: Parameters<typeof addClaims>[2][]) =>
        addClaims(store, ids.get(name) as bigint, ...wanted);
      await add("held", { state: "held", requestedAtUs: 1 });
      await add("two wait", { state: "held", requestedAtUs: 1 }, { requestedAtUs: 2 }, { requestedAtUs: 3 });
      await add("three wait", { requestedAtUs: 5 }, { requestedAtUs: 6 }, { requestedAtUs: 7 });
      await add("ended", { state: "ended" });
      const busy: BusyLock[] = [];
      await store.busyLocks((locks) => void busy.push(...locks));
      busy.sort((a, b) => b.lock.waiting - a.lock.waiting);
      expect(busy.map(({ lock, oldestWaiterSinceUs }) => [lock.name, oldestWaiterSinceUs])).toEqual([
        ["three wait", 5],
        ["two wait", 2],
        ["held", null],
      ]);
      expect({ ...busy[1]?.lock, record: null }).toEqual((await store.view("two wait", 0))?.lock);
    });

    test("have the labels of their first holders, and all other live claims are seen once", async () => {
      const { store } = fresh();
      const ids = await store.resolve(["a", "b", "c"]);
      const team = (name: string) => ({ labels: { team: name } });
      const held = { state: "held", mode: "shared" } as const;
      const [a, b, c] = ["a", "b", "c"].map((name) => ids.get(name) as bigint) as [bigint, bigint, bigint];
      await addClaims(store, a, { ...held, ...team("first") }, { ...held, ...team("second") }, team("waits"));
      await addClaims(store, b, { state: "ended", ...team("ended") }, team("waits, too"));
      const many = Array.from({ length: BUSY_LOCKS_PAGE }, (_, index) => team(`${index}`));
      await addClaims(store, c, ...many);
      const first: (BusyLock["firstHolderLabels"] | null)[] = [];
      await store.busyLocks(
        (locks) => void first.push(...locks.map(({ firstHolderLabels }) => firstHolderLabels)),
      );
      expect(first).toHaveLength(3);
      expect(first.filter((labels) => labels !== null)).toEqual([{ team: "first" }]);
      const further: string[] = [];
      await store.furtherClaims(
        (claims) => void further.push(...claims.map(({ labels, state }) => `${labels.team} ${state}`)),
      );
      expect(further.slice(0, 3)).toEqual(["second held", "waits waiting", "waits, too waiting"]);
      expect(further.slice(3)).toEqual(many.map(({ labels }) => `${labels.team} waiting`));
    });

    test("have times, which are seen once for each live claim", async () => {
      const { store } = fresh();
      const ids = await store.resolve(["a", "b", "idle"]);
      const [a, b, idle] = ["a", "b", "idle"].map((name) => ids.get(name) as bigint) as [
        bigint,
        bigint,
        bigint,
      ];
      const held = { state: "held", mode: "shared" } as const;
      const endless = { ttlUs: null, deadlineUs: null };
      await addClaims(store, a, { ...held, requestedAtUs: 5, grantedAtUs: 6 }, { ...held, ...endless }, {});
      const many = Array.from({ length: BUSY_LOCKS_PAGE }, (_, requestedAtUs) => ({ requestedAtUs }));
      await addClaims(store, b, { state: "ended" }, ...many);
      await addClaims(store, idle, { state: "ended" });
      const seen: ClaimTimes[] = [];
      await store.claimTimes((claims) => void seen.push(...claims));
      const { claims } = await store.claims(seen);
      const timesOf = ({
        lockId,
        ticketNumber,
        state,
        requestedAtUs,
        grantedAtUs,
        ttlUs,
        deadlineUs,
      }: ClaimTimes) => ({
        ...{ lockId, ticketNumber, state, requestedAtUs, grantedAtUs, ttlUs, deadlineUs },
      });
      expect(seen).toHaveLength(3 + many.length);
      expect(new Map(seen.map((times) => [keyText(times), times]))).toEqual(
        new Map(claims.map((claim) => [keyText(claim), timesOf(claim)])),
      );
      expect(seen.filter(({ state }) => state === "held").map(({ ttlUs }) => ttlUs === null)).toEqual([
        false,
        true,
      ]);
    });
  });
}

/** The guard row that a listing returned for a lock it read in full. */
function guardOf(view: LockView | undefined): GuardRow | undefined {
  if (!view) return undefined;
  const { record, ...counters } = view.lock;
  return { ...counters, hasRecord: record !== null };
}
