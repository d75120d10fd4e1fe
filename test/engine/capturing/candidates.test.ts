// The search for candidates: unavailable locks never hide an available one for ever, however many they are, and one
// search reads a bounded number of index entries.

import { describe, expect, test } from "vitest";
import type { LimitRule } from "../../../server/core/limit.ts";
import { type CandidateStore, Candidates, type Taking } from "../../../server/engine/capturing/candidates.ts";
import { CAPTURE_LOOKS_MAX } from "../../../server/engine/engine-bounds.ts";
import { findFree } from "../../../server/storage/rows/free-locks.ts";
import { FREE_ENTRIES_MAX, FREE_GROUPS_MAX } from "../../../server/storage/storage-bounds.ts";
import type { FreePosition } from "../../../server/storage/store.ts";
import { FreeIndex } from "../../support/free-index.ts";

/** A store in memory that counts its reads. */
class Rows extends FreeIndex {
  readonly rules: LimitRule[] = [];
  fails = false;

  /** So many names that begin so. */
  static of(prefix: string, count: number): Rows {
    const rows = new Rows();
    for (let index = 0; index < count; index++) rows.add(`${prefix}${index}`);
    return rows;
  }

  get reads(): number {
    return this.read.length;
  }

  pause(prefix: string): void {
    this.rules.push({
      prefix,
      limit: 0,
      rate: null,
      queueRules: null,
      version: 1n,
      reason: "",
      changeMark: 0n,
    });
  }

  readonly store: CandidateStore = {
    freeLocks: async (...asked) => {
      const page = await findFree(this, ...asked);
      if (this.fails) throw new Error("away");
      return page;
    },
    limitRules: async () => {
      if (this.fails) throw new Error("away");
      return this.rules;
    },
  };
}

function search(
  rows: Rows,
  prefix: string,
  from: FreePosition | null = null,
  taking: Taking = new Set(),
  statuses: readonly string[] = [],
) {
  return new Candidates(rows.store, taking, { kind: "prefix", prefix }, statuses, from);
}

function searchAmong(
  rows: Rows,
  names: readonly string[],
  statuses: readonly string[] = [],
  taking: Taking = new Set(),
) {
  return new Candidates(rows.store, taking, { kind: "names", names }, statuses, null);
}

async function names(candidates: Candidates, max = 1): Promise<string[]> {
  return (await candidates.next(max)).map(({ name }) => name);
}

/** Searches as captures do, one after the other, until a search finds something. */
async function found(rows: Rows, prefix: string, isFree = (_: string) => true) {
  let from: FreePosition | null = null;
  for (let searches = 1; searches < 50; searches++) {
    const candidates: Candidates = search(rows, prefix, from);
    await candidates.paused();
    for (;;) {
      const [name] = await names(candidates);
      if (name === undefined) break;
      if (isFree(name)) return { name, searches };
    }
    from = candidates.reached(!candidates.isDone);
  }
  return null;
}

describe("a search under a prefix", () => {
  test.each([
    ["other names of its folder", "jobs/report-", null],
    ["names that a pattern pauses", "jobs/", "jobs/mail-"],
  ])("finds what is behind 8,000 %s", async (_, prefix, paused) => {
    const rows = Rows.of("jobs/mail-", 8_000);
    rows.add("jobs/report-1");
    if (paused !== null) rows.pause(paused);
    expect(await found(rows, prefix)).toEqual({ name: "jobs/report-1", searches: 1 });
  });

  test("goes on where the previous one was cut short, and reads a bounded number of entries", async () => {
    const rows = Rows.of("jobs/mail-", 70_000);
    rows.add("jobs/report-1");
    const first = search(rows, "jobs/report-");
    expect(await names(first)).toEqual([]);
    expect(first.isDone).toBe(false);
    expect(rows.entriesRead).toBeLessThanOrEqual(CAPTURE_LOOKS_MAX * FREE_ENTRIES_MAX);
    expect(rows.reads).toBeLessThanOrEqual(CAPTURE_LOOKS_MAX);
    expect(first.reached(true)?.after?.name).toMatch(/^jobs\/mail-/);
    expect((await found(rows, "jobs/report-"))?.searches).toBeGreaterThan(2);
  });

  test("reads few entries if the first ones are available", async () => {
    const rows = Rows.of("jobs/", 10_000);
    expect(await names(search(rows, "jobs/"), 3)).toEqual(["jobs/0", "jobs/1", "jobs/2"]);
    expect(rows.entriesRead).toBe(3);
  });

  test("among many folders finds the longest due lock first, and reaches all folders", async () => {
    const rows = new Rows();
    const folders = FREE_GROUPS_MAX + 200;
    for (let index = 0; index < folders; index++) rows.add(`f/${1_000 + index}/job`, folders - index);
    const candidates = search(rows, "f/");
    expect(await names(candidates)).toEqual([`f/${1_000 + FREE_GROUPS_MAX - 1}/job`]);
    const all = new Set<string>();
    for (let more = await names(candidates, 50); more.length > 0; more = await names(candidates, 50))
      for (const name of more) all.add(name);
    expect(all.size + 1).toBe(folders);
  });

  test("reads more at a time if much of what it finds is not available", async () => {
    const rows = new Rows();
    const taking: Taking = new Set();
    for (let index = 0; index < 100; index++) {
      rows.add(`jobs/${100 + index}`);
      if (index < 99) taking.add(`jobs/${100 + index}`);
    }
    expect(await names(search(rows, "jobs/", null, taking))).toEqual(["jobs/199"]);
    expect(rows.reads).toBe(1);
    // No capture here takes these locks, and they are not wanted: only the search itself can skip them.
    const unwanted = Rows.of("jobs/mail-", 1_000);
    unwanted.add("jobs/report");
    expect(await names(search(unwanted, "jobs/report"))).toEqual(["jobs/report"]);
    expect(unwanted.reads).toBeLessThanOrEqual(Math.ceil(Math.log2(1_001)) + 1);
  });

  test("reads a bounded number of entries of many groups together, however many are wanted", async () => {
    const rows = new Rows();
    const folders = 20;
    for (let index = 0; index < 2 * FREE_ENTRIES_MAX; index++) rows.add(`jobs/${index % folders}/${index}`);
    expect(await names(search(rows, "jobs/"), 2 * FREE_ENTRIES_MAX)).toHaveLength(2 * FREE_ENTRIES_MAX);
    expect(rows.entriesRead / rows.reads).toBeLessThanOrEqual(FREE_ENTRIES_MAX + folders);
  });
});

test("a read that fails leaves no lock behind that would never be a candidate again", async () => {
  const rows = new Rows();
  for (const name of ["a/1", "a/2", "a/3"]) rows.add(name);
  const taking: Taking = new Set();
  let reads = 0;
  const store: CandidateStore = {
    ...rows.store,
    // The first read finds one lock, and the second fails.
    freeLocks: (selector, from) => {
      reads += 1;
      rows.fails = reads === 2;
      return rows.store.freeLocks(selector, from, 1);
    },
  };
  const under = () => new Candidates(store, taking, { kind: "prefix", prefix: "a/" }, [], null);
  await expect(under().next(2)).rejects.toThrow("away");
  expect([...taking]).toEqual([]);
  expect(await names(under(), 3)).toEqual(["a/1", "a/2", "a/3"]);
});

test("a search that wants certain statuses reads the groups of these alone, and goes on behind those of others", async () => {
  const rows = new Rows();
  for (let folder = 0; folder < FREE_GROUPS_MAX; folder++) rows.add(`a/${1_000 + folder}/1`, 0, "failed");
  rows.add("b/1", 0, "ready");
  rows.add("c/1", 0, "failed");
  const candidates = search(rows, "", null, new Set(), ["ready", "late"]);
  expect(await names(candidates, 5)).toEqual(["b/1"]);
  expect(candidates.isDone).toBe(true);
  expect(rows.read.flat()).toEqual([{ folder: "b/", status: "ready" }]);
  expect(await names(search(rows, ""), 1_000)).toHaveLength(FREE_GROUPS_MAX + 2);
});

describe("the time of the next free lock", () => {
  test("is known if all groups were read together, whether or not there was a lock to take", async () => {
    const rows = new Rows();
    rows.nowUs = 100;
    rows.add("a/1", 0);
    rows.add("b/1", 2_100);
    const candidates = search(rows, "");
    expect(await candidates.nextInUs()).toBeNull();
    await names(candidates, 5);
    expect(await candidates.nextInUs()).toBe(2_000);
    const nothing = search(rows, "b/");
    await names(nothing, 5);
    expect(await nothing.nextInUs()).toBe(2_000);
  });

  test("is now if one became free after the search", async () => {
    const rows = new Rows();
    rows.nowUs = 100;
    rows.add("a/1", 0);
    rows.add("b/1", 101);
    const candidates = search(rows, "");
    expect(await names(candidates, 5)).toEqual(["a/1"]);
    rows.nowUs = 101;
    expect(await candidates.nextInUs()).toBe(0);
  });

  test("is unknown if there are more groups, wherever the search began", async () => {
    const rows = new Rows();
    for (let folder = 0; folder <= FREE_GROUPS_MAX; folder++) rows.add(`a/${1_000 + folder}/1`, 0);
    rows.add("b/1", 2_000_000_000);
    const candidates = search(rows, "");
    await names(candidates, 1_000);
    expect(candidates.isDone).toBe(true);
    expect(await candidates.nextInUs()).toBeNull();
    const from = { behind: { folder: "a/1001/", status: "new" }, after: null };
    const fromMiddle = search(rows, "", from);
    await names(fromMiddle, 1);
    expect(await fromMiddle.nextInUs()).toBeNull();
  });
});

test("limits of 0 let the search skip a lock with its own limit of 0, and one that a known pattern pauses; other limits do not", async () => {
  const rows = new Rows();
  for (const name of ["a/1", "a/2", "b/1"]) rows.add(name, 1);
  Object.assign(rows.locks[1] ?? {}, { limit: 0 });
  rows.rules.push({
    prefix: "b/",
    limit: 2,
    rate: null,
    queueRules: null,
    version: 1n,
    reason: "",
    changeMark: 0n,
  });
  rows.rules.push({
    prefix: "u/",
    limit: null,
    rate: null,
    queueRules: null,
    version: 1n,
    reason: "",
    changeMark: 0n,
  });
  const taking: Taking = new Set();
  const candidates = search(rows, "", null, taking);
  expect(await candidates.paused()).toBe(false);
  expect(await searchAmong(rows, ["b/1"]).paused()).toBe(false);
  expect(await names(candidates, 5)).toEqual(["a/1", "b/1"]);
  expect([...taking]).toEqual(["a/1", "b/1"]);
  rows.pause("a/");
  const paused = search(rows, "");
  expect(await paused.paused()).toBe(true);
  expect(await names(paused, 5)).toEqual(["b/1"]);
  const named = searchAmong(rows, ["a/1", "a/none", "b/1", "b/none"]);
  expect(await named.paused()).toBe(true);
  expect(await names(named, 5)).toEqual(["b/none", "b/1"]);
  rows.rules.splice(0);
  expect(await named.paused()).toBe(false);
});

describe("a search among names", () => {
  test("returns a few at a time, each once, and skips those that other captures of this server are taking", async () => {
    const rows = new Rows();
    const all = ["n/1", "n/2", "n/3", "n/4"];
    for (const name of all) rows.add(name, 1);
    const candidates = searchAmong(rows, all, [], new Set(["n/2"]));
    expect([await names(candidates, 2), await names(candidates, 2), await names(candidates, 2)]).toEqual([
      ["n/1", "n/3"],
      ["n/4"],
      [],
    ]);
  });

  test("leaves out held locks and those not due, and returns when the first of these is due", async () => {
    const rows = new Rows();
    rows.nowUs = 10_000;
    rows.add("n/held", null);
    rows.add("n/now", rows.nowUs);
    rows.add("n/later", rows.nowUs + 500);
    rows.add("n/soon", rows.nowUs + 1);
    rows.add("n/last", rows.nowUs + 900);
    const candidates = searchAmong(
      rows,
      rows.locks.map(({ name }) => name),
    );
    expect(await names(candidates, 9)).toEqual(["n/now"]);
    expect(await candidates.nextInUs()).toBe(1);
    const free = searchAmong(rows, ["n/now"]);
    await names(free, 2);
    expect(await free.nextInUs()).toBeNull();
  });
});
