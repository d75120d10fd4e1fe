// Reads for display, over a store that only counts: how many run at once, how much each reads, and that nothing is read
// that the caller does not take.

import { expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Lock } from "../../../server/core/lock.ts";
import type { ViewedLock } from "../../../server/engine/answers.ts";
import { CLAIMS_PER_STEP_MAX, LISTINGS_QUEUED_MAX } from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { ListingTurns } from "../../../server/engine/views/listing-turns.ts";
import { Views } from "../../../server/engine/views/views.ts";
import { StoreError } from "../../../server/storage/store.ts";
import { FREE_LOCK } from "../../support/claims.ts";

const ROWS_PER_STEP = 200;
const ALL = { prefix: "", afterName: null, max: 1_000, busyOnly: false, order: "name" } as const;

/** Locks with a given number of holders and waiters each; answers immediately, as an embedded database does. */
class CountingStore {
  readonly steps: { readonly locks: number; readonly claims: number }[] = [];
  /** The test resolves it; until then a listing waits in its first step. */
  gate: Promise<void> = Promise.resolve();
  onStep = () => {};
  readonly #locks: readonly Lock[];

  constructor(count: number, live: Pick<Lock, "holders" | "waiting">) {
    this.#locks = Array.from({ length: count }, (_, index) => lockOf(BigInt(index + 1), live));
  }

  async limitRules() {
    await this.gate;
    return [];
  }

  async list({ afterName, max }: { afterName: string | null; max: number }) {
    const from = this.#locks.findIndex(({ name }) => afterName === null || name > afterName);
    const read = from < 0 ? [] : this.#locks.slice(from, from + Math.min(max, ROWS_PER_STEP));
    const locks = read.map(({ record, ...counters }) => ({ ...counters, hasRecord: record !== null }));
    this.#stepped(locks.length, 0);
    return { locks, next: locks.length < ROWS_PER_STEP ? null : (locks.at(-1)?.name ?? null) };
  }

  async views(ids: readonly bigint[], shown: number) {
    const views = ids.map((id) => {
      const lock = this.#locks[Number(id) - 1] as Lock;
      return { lock, holders: claims(lock.holders, shown), waiters: claims(lock.waiting, shown) };
    });
    const read = views.reduce((sum, { holders, waiters }) => sum + holders.length + waiters.length, 0);
    this.#stepped(ids.length, read);
    return views;
  }

  async view(): Promise<never> {
    throw new StoreError("unavailable", "pool_exhausted", "A fault made by a test.");
  }

  async waitedLocks(_prefix: string, _order: string, max: number) {
    return this.#locks.slice(0, max);
  }

  #stepped(locks: number, claims: number): void {
    this.steps.push({ locks, claims });
    this.onStep();
  }
}

function lockOf(id: bigint, live: Pick<Lock, "holders" | "waiting">): Lock {
  return { ...FREE_LOCK, ...live, id, name: String(id).padStart(6, "0"), revision: 1n };
}

const claims = (count: number, shown: number) =>
  Array.from({ length: Math.min(count, shown) }, () => ({}) as Claim);

async function taken(listing: AsyncIterable<ViewedLock>, count = Number.POSITIVE_INFINITY) {
  const names: string[] = [];
  for await (const { lock } of listing) {
    names.push(lock.name);
    if (names.length >= count) break;
  }
  return names;
}

test.for([
  ["idle", { holders: 0, waiting: 0 }],
  ["held once", { holders: 1, waiting: 0 }],
  ["crowded", { holders: 500, waiting: 500 }],
] as const)(
  "a listing of locks that are %s is complete and in order, in steps of few claims",
  async ([, live]) => {
    const store = new CountingStore(450, live);
    const names = await taken(new Views(store, new ListingTurns(1)).views(ALL));
    expect(names).toHaveLength(450);
    expect(names).toEqual(names.toSorted());
    expect(Math.max(...store.steps.map((step) => step.claims))).toBeLessThanOrEqual(CLAIMS_PER_STEP_MAX);
  },
);

test("a listing is read only as far as its caller reads", async () => {
  const store = new CountingStore(1_000, { holders: 10, waiting: 10 });
  expect(await taken(new Views(store, new ListingTurns(1)).views(ALL), 5)).toHaveLength(5);
  const read = store.steps.reduce((sum, step) => sum + step.claims, 0);
  expect(read).toBeLessThanOrEqual(5 * 20 + CLAIMS_PER_STEP_MAX);
});

test("between two steps of a listing the event loop turns, though the database answers at once", async () => {
  const store = new CountingStore(100, { holders: 10, waiting: 10 });
  let turns = 0;
  const seenAt: number[] = [];
  store.onStep = () => {
    seenAt.push(turns);
    setImmediate(() => {
      turns += 1;
    });
  };
  await taken(new Views(store, new ListingTurns(1)).views(ALL));
  expect(seenAt.length).toBeGreaterThan(40);
  expect(seenAt).toEqual(seenAt.map((_, index) => index));
});

test("few listings are read at once, more wait in turn, and too many are refused", async () => {
  const store = new CountingStore(1, { holders: 0, waiting: 0 });
  const opened = Promise.withResolvers<void>();
  store.gate = opened.promise;
  const views = new Views(store, new ListingTurns(5));
  const ended: number[] = [];
  const under = Array.from({ length: LISTINGS_QUEUED_MAX + 2 }, (_, index) =>
    taken(views.views(ALL)).then(() => ended.push(index)),
  );
  const refused = await taken(views.views(ALL)).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Fault);
  expect(refused).toMatchObject({ kind: "overloaded", reason: "listings_queued" });
  expect(store.steps).toEqual([]);
  opened.resolve();
  await Promise.all(under);
  expect(ended).toEqual(ended.toSorted((a, b) => a - b));
  expect(await taken(views.views(ALL))).toHaveLength(1);
});

test("a listing that fails, or is given up, frees its turn", async () => {
  const store = new CountingStore(10, { holders: 1, waiting: 0 });
  const views = new Views(store, new ListingTurns(1));
  for (let times = 0; times < 3; times++) {
    await expect(views.view("a")).rejects.toMatchObject({
      kind: "unavailable",
      reason: "pool_exhausted",
    });
    expect(await taken(views.views(ALL), 1)).toHaveLength(1);
  }
});

/** What a listing reads if its caller loses interest after this many reads. */
async function readUntil(reads: number): Promise<{ asked: readonly unknown[]; shown: readonly string[] }> {
  const { store, asked } = smallStore();
  const seen: string[] = [];
  let isOver = reads === 0;
  const watched = new Proxy(store, {
    get: (target, verb: keyof typeof store) => async (first: never, second: never, third: never) => {
      seen.push(verb);
      isOver = seen.length >= reads;
      return await (target[verb] as (...asked: unknown[]) => unknown)(first, second, third);
    },
  });
  const shown = await taken(new Views(watched, new ListingTurns(1)).views(ALL, undefined, () => isOver));
  expect(asked.length).toBeLessThanOrEqual(1);
  return { asked: seen, shown };
}

test("a cancelled listing reads nothing more", async () => {
  expect(await readUntil(0)).toEqual({ asked: [], shown: [] });
  expect(await readUntil(1)).toEqual({ asked: ["limitRules"], shown: [] });
  expect(await readUntil(2)).toEqual({ asked: ["limitRules", "list"], shown: [] });
  expect(await readUntil(3)).toMatchObject({ asked: ["limitRules", "list", "views"] });
});

test("listings that were cancelled before their turn read nothing, and the next one has its turn", async () => {
  const { store, asked } = smallStore();
  const gate = Promise.withResolvers<void>();
  const limitRules = async () => {
    asked.push(["rules"]);
    await gate.promise;
    return [];
  };
  const views = new Views({ ...store, limitRules }, new ListingTurns(1));
  let isOver = false;
  const first = taken(views.views(ALL));
  const cancelled = Array.from({ length: 50 }, () => taken(views.views(ALL, undefined, () => isOver)));
  const last = taken(views.views(ALL));
  isOver = true;
  gate.resolve();
  expect(await Promise.all(cancelled)).toEqual(cancelled.map(() => []));
  expect(await Promise.all([first, last])).toEqual([
    ["000001", "000002"],
    ["000001", "000002"],
  ]);
  expect(asked).toEqual([["rules"], ["list", "all"], ["rules"], ["list", "all"]]);
});

/** A store of two locks, which records its queries. */
function smallStore() {
  const asked: unknown[] = [];
  const locks = [1n, 2n].map((id) => lockOf(id, { holders: 1, waiting: 0 }));
  const view = (lock: Lock) => ({ lock, holders: claims(lock.holders, 10), waiters: [] });
  const store = {
    limitRules: async () => [],
    view: async () => null,
    list: async ({ which }: { which: string }) => {
      asked.push(["list", which]);
      return {
        locks: locks.map(({ record, ...lock }) => ({ ...lock, hasRecord: record !== null })),
        next: null,
      };
    },
    views: async (ids: readonly bigint[]) => locks.filter(({ id }) => ids.includes(id)).map(view),
    waitedLocks: async () => [],
  };
  return { store, asked };
}
