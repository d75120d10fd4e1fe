// The listing of claims: which ones it finds, in which order, how much it reads for that, and that its pages neither
// lose nor repeat a claim.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { CLAIMS_SEARCHED_MAX } from "../../../server/engine/engine-bounds.ts";
import type { ClaimPosition, ClaimsQuery, ListedClaim } from "../../../server/engine/history.ts";
import { listedClaims } from "../../../server/engine/views/past.ts";
import { PastStore } from "../../support/past-store.ts";

const NOW_US = 1_000_000;
const ALL: ClaimsQuery = {
  ...{ lockName: null, prefix: "", isSeen: null, owner: "", principal: "", labels: {}, states: [] },
  ...{ endReasons: [], fromUs: null, untilUs: null, heldAtUs: null, after: null },
};

const HELD: Partial<Claim> = { state: "held", endedAtUs: null, endReason: null };
const WAITING: Partial<Claim> = { ...HELD, state: "waiting", grantedAtUs: null };
const ended = (endedAtUs: number, more: Partial<Claim> = {}): Partial<Claim> => {
  return { state: "ended", requestedAtUs: 0, grantedAtUs: 0, endedAtUs, endReason: "released", ...more };
};

const textOf = (store: PastStore, { lockId, ticketNumber, state }: Claim) =>
  `${state} ${store.nameOf(lockId)} ${ticketNumber}`;

/** One page: the claims, and where it ended, if it was full or has stopped. */
async function page(store: PastStore, query: Partial<ClaimsQuery>, size = Number.POSITIVE_INFINITY) {
  const claims: string[] = [];
  let next: ClaimPosition | null = null;
  let stopped: Extract<ListedClaim, { kind: "stopped" }> | null = null;
  for await (const listed of listedClaims(store, { ...ALL, ...query }, NOW_US)) {
    next = listed.at;
    if (listed.kind === "stopped") {
      stopped = listed;
      return { claims, next, stopped };
    }
    claims.push(textOf(store, listed.item.claim));
    if (claims.length === size) return { claims, next, stopped };
  }
  return { claims, next: null, stopped };
}

const found = async (store: PastStore, query: Partial<ClaimsQuery> = {}) => (await page(store, query)).claims;

describe("a listing", () => {
  test("has the claims that fit all of its filters", async () => {
    const store = new PastStore();
    const own = { owner: "anna", principal: "token:a", labels: { team: "x", job: "7" } };
    store.add("a", ended(1, own));
    store.add("a", ended(2, { ...own, owner: "bert" }));
    store.add("a", ended(3, { ...own, principal: "token:b" }));
    store.add("a", ended(4, { ...own, labels: { team: "x" } }));
    store.add("a", { ...HELD, ...own });
    store.add("a", { ...WAITING, ...own });
    const labels = { job: "7" };
    expect(await found(store, { owner: "anna", principal: "token:a", labels })).toEqual([
      ...["held a 5", "waiting a 6"],
      "ended a 1",
    ]);
    expect(await found(store, { owner: "bert" })).toEqual(["ended a 2"]);
    expect(await found(store, { principal: "token:b" })).toEqual(["ended a 3"]);
    expect(await found(store, { labels: { team: "y" } })).toEqual([]);
    expect(await found(store, { labels: { toString: "" } })).toEqual([]);
    expect(await found(store, { states: ["waiting"] })).toEqual(["waiting a 6"]);
    expect(
      await found(store, { states: ["held", "ended"], owner: "anna", principal: "token:a", labels }),
    ).toEqual(["held a 5", "ended a 1"]);
  });

  test("leaves out what its caller may not see, and the locks of the servers", async () => {
    const store = new PastStore();
    for (const name of ["mine", "other", "\0ready/1"]) store.add(name, ended(1));
    for (const name of ["mine", "other"]) store.add(name, HELD);
    const isSeen = (name: string) => name === "mine";
    expect(await found(store, { isSeen })).toEqual(["held mine 2", "ended mine 1"]);
    expect(await found(store, { states: ["ended"] })).toEqual(["ended other 1", "ended mine 1"]);
  });
});

test("a listing of a time begins and ends where its order allows it", async () => {
  const store = new PastStore();
  for (let at = 1; at <= 1_000; at++)
    store.add("a", ended(at, { requestedAtUs: at - 1, grantedAtUs: at - 1 }));
  const read = async (query: Partial<ClaimsQuery>) => {
    store.reads.length = 0;
    const { claims } = await page(store, { states: ["ended"], ...query }, 1);
    return { claims, got: store.reads.reduce((sum, { got }) => sum + got, 0) };
  };
  expect(await read({ lockName: "a", heldAtUs: 100 })).toEqual({ claims: ["ended a 101"], got: 101 });
  expect(await read({ lockName: "a", untilUs: 51 })).toEqual({ claims: ["ended a 50"], got: 51 + 1 });
  expect(await read({ untilUs: 51 })).toEqual({ claims: ["ended a 50"], got: 50 });
  // Nothing is found: the search ends with the first step, and not with the last claim.
  expect(await read({ fromUs: 990, owner: "nobody" })).toEqual({ claims: [], got: 200 });
});

test("a search ends when it has gone through so many claims, says where, and goes on from there", async () => {
  const store = new PastStore();
  store.add("a", ended(1, { owner: "anna", requestedAtUs: 1 }));
  for (let at = 2; at <= CLAIMS_SEARCHED_MAX + 2; at++) store.add("a", ended(at, { requestedAtUs: at }));
  for (const lockName of ["a", null]) {
    const first = await page(store, { lockName, owner: "anna" });
    expect(first).toMatchObject({ claims: [], stopped: { backToUs: 3 } });
    const second = await page(store, { lockName, owner: "anna", after: first.next });
    expect(second).toEqual({ claims: ["ended a 1"], next: null, stopped: null });
  }
}, 60_000);

test("a search of live claims ends, too, and goes on from there", async () => {
  const store = new PastStore();
  for (let count = 0; count <= CLAIMS_SEARCHED_MAX; count++) store.add("z", WAITING);
  const first = await page(store, { lockName: "z", owner: "anna" });
  expect(first).toMatchObject({ claims: [], stopped: { backToUs: null } });
  expect(await page(store, { lockName: "z", owner: "anna", after: first.next })).toMatchObject({
    next: null,
  });
}, 60_000);

test("a claim that ends between two pages is not lost", async () => {
  for (const lockName of ["a", null]) {
    const store = new PastStore();
    store.add("a", HELD);
    const second = store.add("a", WAITING);
    const first = await page(store, { lockName }, 1);
    expect(first.claims).toEqual(["held a 1"]);
    Object.assign(second, ended(500));
    expect((await page(store, { lockName, after: first.next ?? null })).claims).toEqual(["ended a 2"]);
  }
});

/** A claim of one of few locks, with times that often coincide. */
const anyClaim = fc.record({
  name: fc.constantFrom("a", "a/b", "a/c", "b", "\u{1f512}"),
  state: fc.constantFrom("waiting", "held", "ended", "ended", "ended"),
  at: fc.nat({ max: 20 }),
  owner: fc.constantFrom("anna", "bert"),
});

test("pages of any size have each claim that fits once, whatever is asked for", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyClaim, { maxLength: 300 }),
      fc.record({
        lockName: fc.constantFrom(null, "a", "a/b"),
        prefix: fc.constantFrom("", "a/"),
        owner: fc.constantFrom("", "anna"),
        fromUs: fc.option(fc.nat({ max: 20 })),
        untilUs: fc.option(fc.nat({ max: 20 })),
      }),
      fc.integer({ min: 1, max: 50 }),
      async (claims, asked, size) => {
        const store = new PastStore();
        for (const { name, state, at, owner } of claims)
          store.add(name, { ...(state === "ended" ? ended(at) : state === "held" ? HELD : WAITING), owner });
        const query = asked.lockName === null ? asked : { ...asked, prefix: "" };
        const all = await found(store, query);
        const paged: string[] = [];
        let after: ClaimPosition | null = null;
        do {
          const next: Awaited<ReturnType<typeof page>> = await page(store, { ...query, after }, size);
          paged.push(...next.claims);
          after = next.next;
        } while (after);
        expect(paged).toEqual(all);
        expect(new Set(all).size).toBe(all.length);
        const fits = store.claims.filter(
          (claim) =>
            (query.lockName === null || store.nameOf(claim.lockId) === query.lockName) &&
            store.nameOf(claim.lockId).startsWith(query.prefix) &&
            (query.owner === "" || claim.owner === query.owner) &&
            (claim.state === "ended"
              ? (claim.endedAtUs ?? 0) >= (query.fromUs ?? 0) &&
                (claim.endedAtUs ?? 0) < (query.untilUs ?? 99)
              : query.untilUs === null),
        );
        expect([...all].sort()).toEqual(fits.map((claim) => textOf(store, claim)).sort());
      },
    ),
  );
}, 60_000);
