// Reads for display, over a store that only counts: how many run at once, how much each reads, and that nothing is read
// that the caller does not take.

import { expect, test } from "vitest";
import { SHOWN_BY_LIST_MAX } from "../../../server/core/bounds.ts";
import type { Claim } from "../../../server/core/claim.ts";
import type { Lock } from "../../../server/core/lock.ts";
import type { ViewedLock } from "../../../server/engine/answers.ts";
import { CLAIMS_PER_STEP_MAX, LISTINGS_QUEUED_MAX } from "../../../server/engine/engine-bounds.ts";
import { Fault } from "../../../server/engine/faults.ts";
import { ListingTurns, Views } from "../../../server/engine/views/views.ts";
import { StoreError } from "../../../server/storage/store.ts";
import { FREE_LOCK, RECORD } from "../../support/claims.ts";

const ROWS_PER_STEP = 200;
const ALL = { prefix: "", afterName: null, max: 1_000, busyOnly: false, order: "name" } as const;
const IDLE = { holders: 0, waiting: 0 };
const HELD = { holders: 1, waiting: 0 };

/** Locks with ids and names from 1 on; answers immediately, as an embedded database does. */
class CountingStore {
  readonly reads: { readonly of: string; readonly ids: readonly bigint[]; readonly claims: number }[] = [];
  readonly pages: { readonly afterName: string | null; readonly max: number }[] = [];
  readonly gone = new Set<bigint>();
  /** The test resolves it; until then a listing waits in its first step. */
  gate: Promise<void> = Promise.resolve();
  onRead = () => {};
  readonly #locks: readonly Lock[];

  constructor(...locks: readonly Partial<Lock>[]) {
    this.#locks = locks.map((lock, index) => {
      return { ...FREE_LOCK, ...lock, id: BigInt(index + 1), name: nameOf(index + 1), revision: 1n };
    });
  }

  async limitRules() {
    this.#read("limitRules");
    await this.gate;
    return [];
  }

  async list({ afterName, max }: { afterName: string | null; max: number }) {
    this.pages.push({ afterName, max });
    const left = this.#locks.filter(({ name }) => afterName === null || name > afterName);
    const read = left.slice(0, Math.min(max, ROWS_PER_STEP));
    const locks = read.map(({ record, ...counters }) => ({ ...counters, hasRecord: record !== null }));
    this.#read("list");
    return { locks, next: locks.length < left.length ? (locks.at(-1)?.name ?? null) : null };
  }

  /** In any order, as a database may answer. */
  async views(ids: readonly bigint[], shown: number) {
    const locks = this.#locks.filter(({ id }) => ids.includes(id) && !this.gone.has(id)).toReversed();
    const views = locks.map((lock) => {
      return { lock, holders: claims(lock.holders, shown), waiters: claims(lock.waiting, shown) };
    });
    const read = views.reduce((sum, { holders, waiters }) => sum + holders.length + waiters.length, 0);
    this.#read("views", ids, read);
    return views;
  }

  async view(): Promise<never> {
    throw new StoreError("unavailable", "pool_exhausted", "A fault made by a test.");
  }

  async byStatus(): Promise<never> {
    throw new Error("No test lists by status.");
  }

  async waitedLocks(_prefix: string, _order: string, max: number) {
    return this.#locks.slice(0, max);
  }

  #read(of: string, ids: readonly bigint[] = [], claims = 0): void {
    this.reads.push({ of, ids, claims });
    this.onRead();
  }
}

const nameOf = (id: number) => String(id).padStart(6, "0");
const many = (count: number, lock: Partial<Lock>) => Array.from({ length: count }, () => lock);
const claims = (count: number, shown: number) => many(Math.min(count, shown), {}) as unknown as Claim[];
const over = (store: CountingStore, atOnce = 1) => new Views(store, new ListingTurns(atOnce), () => 0);

async function taken(listing: AsyncIterable<ViewedLock>, count = Number.POSITIVE_INFINITY) {
  const names: string[] = [];
  for await (const { lock } of listing) {
    names.push(lock.name);
    if (names.length >= count) break;
  }
  return names;
}

test.for([
  ["idle", IDLE, []],
  ["held once", HELD, [CLAIMS_PER_STEP_MAX, CLAIMS_PER_STEP_MAX]],
  ["crowded with holders", { holders: 500, waiting: 0 }, [CLAIMS_PER_STEP_MAX / SHOWN_BY_LIST_MAX]],
  ["crowded with both", { holders: 500, waiting: 500 }, [1, 1, 1]],
] as const)(
  "a listing of locks that are %s is complete and in order, in steps of few claims",
  async ([, lock, first]) => {
    const store = new CountingStore(...many(450, lock));
    const names = await taken(over(store).views(ALL));
    expect(names).toEqual(Array.from({ length: 450 }, (_, index) => nameOf(index + 1)));
    expect(Math.max(...store.reads.map((read) => read.claims))).toBeLessThanOrEqual(CLAIMS_PER_STEP_MAX);
    const steps = store.reads.filter(({ of }) => of === "views").map(({ ids }) => ids.length);
    expect(steps.slice(0, first.length)).toEqual(first);
    expect(store.pages.map(({ afterName }) => afterName)).toEqual([null, nameOf(200), nameOf(400)]);
  },
);

test("a listing begins behind a name, and reads no more locks than were asked for", async () => {
  const store = new CountingStore(...many(900, HELD));
  const names = await taken(over(store).views({ ...ALL, afterName: nameOf(2), max: ROWS_PER_STEP + 1 }));
  expect([names.length, names[0], names.at(-1)]).toEqual([201, nameOf(3), nameOf(203)]);
  expect(store.pages.map(({ max }) => max)).toEqual([ROWS_PER_STEP + 1, 1]);
});

test("a listing is read only as far as its caller reads", async () => {
  const store = new CountingStore(...many(1_000, { holders: 10, waiting: 10 }));
  expect(await taken(over(store).views(ALL), 5)).toHaveLength(5);
  const read = store.reads.reduce((sum, step) => sum + step.claims, 0);
  expect(read).toBeLessThanOrEqual(5 * 20 + CLAIMS_PER_STEP_MAX);
});

test("claims are not read of an idle lock without a record, unless its size alone is known; a deleted lock is left out", async () => {
  const store = new CountingStore(IDLE, HELD, { ...IDLE, record: RECORD }, IDLE, HELD);
  const shown = await Array.fromAsync(over(store).views(ALL));
  expect(shown.map(({ lock }) => [Number(lock.id), lock.record])).toEqual([
    ...[1, 2].map((id) => [id, null]),
    ...[[3, RECORD]],
    ...[4, 5].map((id) => [id, null]),
  ]);
  store.gone.add(2n);
  expect(await taken(over(store).views(ALL))).toEqual([1, 3, 4, 5].map(nameOf));
  expect(await taken(over(store).viewsOf([{ id: 4n, ...IDLE }]))).toEqual([nameOf(4)]);
  const read = store.reads.filter(({ of }) => of === "views").map(({ ids }) => ids);
  expect(read).toEqual([[2n, 3n, 5n], [2n, 3n, 5n], [4n]]);
  const none = new CountingStore(IDLE);
  await taken(over(none).views(ALL));
  expect(none.reads.map(({ of }) => of)).toEqual(["limitRules", "list"]);
});

test("between two steps of a listing the event loop turns, though the database answers at once", async () => {
  const store = new CountingStore(...many(100, { holders: 10, waiting: 10 }));
  let turns = 0;
  const seenAt: number[] = [];
  store.onRead = () => {
    seenAt.push(turns);
    setImmediate(() => {
      turns += 1;
    });
  };
  await taken(over(store).views(ALL));
  expect(seenAt.length).toBeGreaterThan(40);
  expect(seenAt).toEqual(seenAt.map((_, index) => index));
});

test("few listings are read at once, more wait in turn, and too many are refused", async () => {
  const store = new CountingStore(IDLE);
  const opened = Promise.withResolvers<void>();
  store.gate = opened.promise;
  const views = over(store, 5);
  const ended: number[] = [];
  const under = Array.from({ length: LISTINGS_QUEUED_MAX + 2 }, (_, index) =>
    taken(views.views(ALL)).then(() => ended.push(index)),
  );
  const refused = await taken(views.views(ALL)).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(Fault);
  expect(refused).toMatchObject({ kind: "overloaded", reason: "listings_queued" });
  expect(store.pages).toEqual([]);
  opened.resolve();
  await Promise.all(under);
  expect(ended).toEqual(ended.toSorted((a, b) => a - b));
  expect(await taken(views.views(ALL))).toHaveLength(1);
});

test("a listing that fails, or is given up, frees its turn", async () => {
  const views = over(new CountingStore(...many(10, HELD)));
  for (let times = 0; times < 3; times++) {
    await expect(views.view("a")).rejects.toMatchObject({ kind: "unavailable", reason: "pool_exhausted" });
    expect(await taken(views.views(ALL), 1)).toHaveLength(1);
  }
});

test.each([0, 1, 2])("a listing that is cancelled after %i reads reads nothing more", async (reads) => {
  const store = new CountingStore(HELD, HELD);
  const isOver = () => store.reads.length >= reads;
  const shown = await taken(over(store).views(ALL, undefined, isOver));
  expect(store.reads.map(({ of }) => of)).toEqual(["limitRules", "list", "views"].slice(0, reads));
  expect(shown).toEqual([]);
});

test("listings that were cancelled before their turn read nothing, and the next one has its turn", async () => {
  const store = new CountingStore(HELD, HELD);
  const gate = Promise.withResolvers<void>();
  store.gate = gate.promise;
  const views = over(store);
  let isOver = false;
  const first = taken(views.views(ALL));
  const cancelled = Array.from({ length: 50 }, () => taken(views.views(ALL, undefined, () => isOver)));
  const last = taken(views.views(ALL));
  isOver = true;
  gate.resolve();
  expect(await Promise.all(cancelled)).toEqual(cancelled.map(() => []));
  for (const names of await Promise.all([first, last])) expect(names).toEqual([nameOf(1), nameOf(2)]);
  expect(store.reads.map(({ of }) => of)).toEqual(many(2, {}).flatMap(() => ["limitRules", "list", "views"]));
});
