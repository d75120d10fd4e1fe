// The search for candidates: unavailable locks never hide an available one for ever, however many they are, and one
// search reads a bounded number of index entries.

import { describe, expect, test } from "vitest";
import type { LimitRule } from "../../../server/core/limit.ts";
import {
  type CandidateStore,
  type Candidates,
  CandidatesNamed,
  CandidatesUnder,
  type Reached,
  type Taking,
} from "../../../server/engine/capturing/candidates.ts";
import { CAPTURE_GROUPS_MAX, CAPTURE_LOOKS_MAX, CAPTURE_PAGE } from "../../../server/engine/engine-bounds.ts";
import { askedOf, freePage, isWanted } from "../../../server/storage/rows/free-page.ts";
import { folderOf } from "../../../server/storage/rows/values.ts";
import type { FreeLock, FreePlace, RecordGroup } from "../../../server/storage/store.ts";

const STATUS = "new";

/** An in-memory store that counts its reads. */
class Rows {
  readonly locks: FreeLock[] = [];
  readonly rules: LimitRule[] = [];
  entriesRead = 0;
  reads = 0;
  fails = false;

  add(name: string, dueAtUs = this.locks.length): void {
    this.locks.push({ id: BigInt(this.locks.length + 1), name, dueAtUs, limit: null });
  }

  pause(prefix: string): void {
    this.rules.push({ prefix, limit: 0, version: 1n, reason: "", changeMark: 0n });
  }

  readonly store: CandidateStore = {
    recordGroups: async (prefix, after, max) => {
      const folders = [...new Set(this.locks.map(({ name }) => folderOf(name)))].sort();
      const all = folders.filter((folder) => folder.startsWith(prefix) || folder === folderOf(prefix));
      const from = after ? all.indexOf(after.folder) + 1 : 0;
      const groups = all.slice(from, from + max).map((folder) => ({ folder, status: STATUS }));
      return { groups, isLast: from + max >= all.length };
    },
    freeLocks: async (groups, after, wanted, entries) => {
      this.reads += 1;
      const ranges = groups.map((group) => {
        const read = this.#in(group, after).slice(0, entries);
        this.entriesRead += read.length;
        const asked = askedOf(wanted, group);
        const end = read.length === entries ? (read.at(-1) ?? null) : null;
        return { locks: read.filter((lock) => !asked || isWanted(lock, asked)), end };
      });
      if (this.fails) throw new Error("away");
      return freePage(ranges);
    },
    nextDueIn: async () => null,
    namedLocks: async (names) => ({
      nowUs: 1,
      locks: this.locks
        .filter(({ name }) => names.includes(name))
        .map((lock) => ({ ...lock, status: STATUS })),
    }),
    limitRules: async () => {
      if (this.fails) throw new Error("away");
      return this.rules;
    },
  };

  #in({ folder }: RecordGroup, after: FreePlace | null): FreeLock[] {
    return freePage([
      { locks: this.locks.filter(({ name }) => folderOf(name) === folder), end: null },
    ]).locks.filter(
      ({ name, dueAtUs }) =>
        !after || dueAtUs > after.dueAtUs || (dueAtUs === after.dueAtUs && name > after.name),
    );
  }
}

function search(rows: Rows, prefix: string, from: Reached | null = null, taking: Taking = new Set()) {
  return new CandidatesUnder(rows.store, taking, { prefix, statuses: [], from });
}

async function names(candidates: Candidates, max = 1): Promise<string[]> {
  return (await candidates.next(max)).map(({ name }) => name);
}

/** Searches as captures do, one after the other, until a search finds something. */
async function found(rows: Rows, prefix: string, isFree = (_: string) => true) {
  let from: Reached | null = null;
  for (let searches = 1; searches < 50; searches++) {
    const candidates: CandidatesUnder = search(rows, prefix, from);
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
  test("finds what is behind 8,000 others of its folder", async () => {
    const rows = new Rows();
    for (let index = 0; index < 8_000; index++) rows.add(`jobs/mail-${index}`);
    rows.add("jobs/report-1");
    expect(await found(rows, "jobs/report-")).toEqual({ name: "jobs/report-1", searches: 1 });
  });

  test("finds what is behind 8,000 that a pattern pauses", async () => {
    const rows = new Rows();
    for (let index = 0; index < 8_000; index++) rows.add(`jobs/mail-${index}`);
    rows.add("jobs/report-1");
    rows.pause("jobs/mail-");
    expect(await found(rows, "jobs/")).toEqual({ name: "jobs/report-1", searches: 1 });
  });

  test("goes on where the one before it was cut short, and reads a bounded number of entries", async () => {
    const rows = new Rows();
    for (let index = 0; index < 70_000; index++) rows.add(`jobs/mail-${index}`);
    rows.add("jobs/report-1");
    const first = search(rows, "jobs/report-");
    expect(await names(first)).toEqual([]);
    expect(first.isDone).toBe(false);
    expect(rows.entriesRead).toBeLessThanOrEqual(CAPTURE_LOOKS_MAX * CAPTURE_PAGE);
    expect(rows.reads).toBeLessThanOrEqual(CAPTURE_LOOKS_MAX);
    expect(first.reached(true)?.after?.name).toMatch(/^jobs\/mail-/);
    expect((await found(rows, "jobs/report-"))?.searches).toBeGreaterThan(2);
  });

  test("finds what is behind thousands that others hold", async () => {
    const rows = new Rows();
    for (let index = 0; index < 3_000; index++) rows.add(`jobs/held-${index}`);
    rows.add("jobs/free");
    expect((await found(rows, "jobs/", (name) => name === "jobs/free"))?.name).toBe("jobs/free");
  });

  test("that begins in the middle goes once around, and says that it has seen all", async () => {
    const rows = new Rows();
    for (const name of ["a/1", "a/2", "b/1"]) rows.add(name);
    const from = { behind: null, after: { dueAtUs: 1, name: "a/2" } };
    const candidates = search(rows, "", from);
    expect([await names(candidates), await names(candidates)]).toEqual([["b/1"], ["a/1"]]);
    expect(candidates.reached(false)).toBeNull();
    expect(await names(candidates, 5)).toEqual(["a/2"]);
    expect(candidates.isDone).toBe(true);
  });

  test("keeps its place until it has come around, and begins anew where nothing was in the way", async () => {
    const rows = new Rows();
    for (const name of ["a/1", "a/2", "a/3"]) rows.add(name);
    const fromMiddle = search(rows, "a/", { behind: null, after: { dueAtUs: 0, name: "a/1" } });
    expect(await names(fromMiddle)).toEqual(["a/2"]);
    expect(fromMiddle.reached(false)).toEqual({ behind: null, after: { dueAtUs: 1, name: "a/2" } });
    const atFirst = search(rows, "a/");
    expect(await names(atFirst)).toEqual(["a/1"]);
    expect(atFirst.reached(false)).toBeNull();
  });

  test("reads few entries where the first ones can be had", async () => {
    const rows = new Rows();
    for (let index = 0; index < 10_000; index++) rows.add(`jobs/${index}`);
    expect(await names(search(rows, "jobs/"), 3)).toEqual(["jobs/0", "jobs/1", "jobs/2"]);
    expect(rows.entriesRead).toBe(3);
  });

  test("among many folders finds the longest due of them first, and comes to all", async () => {
    const rows = new Rows();
    const folders = CAPTURE_GROUPS_MAX + 200;
    for (let index = 0; index < folders; index++) rows.add(`f/${1_000 + index}/job`, folders - index);
    const candidates = search(rows, "f/");
    expect(await names(candidates)).toEqual([`f/${1_000 + CAPTURE_GROUPS_MAX - 1}/job`]);
    const all = new Set<string>();
    for (let more = await names(candidates, 50); more.length > 0; more = await names(candidates, 50))
      for (const name of more) all.add(name);
    expect(all.size + 1).toBe(folders);
  });

  test("ends at once where there is nothing", async () => {
    const rows = new Rows();
    const candidates = search(rows, "jobs/");
    expect(await names(candidates, 5)).toEqual([]);
    expect(candidates.isDone).toBe(true);
    expect(rows.reads).toBeLessThanOrEqual(1);
    expect(candidates.reached(true)).toBeNull();
  });

  test("reads more at a time where much of what it finds cannot be had", async () => {
    const rows = new Rows();
    const taking: Taking = new Set();
    for (let index = 0; index < 100; index++) {
      rows.add(`jobs/${100 + index}`);
      if (index < 99) taking.add(`jobs/${100 + index}`);
    }
    expect(await names(search(rows, "jobs/", null, taking))).toEqual(["jobs/199"]);
    expect(rows.reads).toBe(1);
    // No capture here takes these locks, and they are not wanted: only the search itself can skip them.
    const unwanted = new Rows();
    for (let index = 0; index < 1_000; index++) unwanted.add(`jobs/mail-${index}`);
    unwanted.add("jobs/report");
    expect(await names(search(unwanted, "jobs/report"))).toEqual(["jobs/report"]);
    expect(unwanted.reads).toBeLessThanOrEqual(Math.ceil(Math.log2(1_001)) + 1);
  });

  test("reads a bounded number of entries of many groups together, however many are wanted", async () => {
    const rows = new Rows();
    const folders = 20;
    for (let index = 0; index < 2 * CAPTURE_PAGE; index++) rows.add(`jobs/${index % folders}/${index}`);
    expect(await names(search(rows, "jobs/"), 2 * CAPTURE_PAGE)).toHaveLength(2 * CAPTURE_PAGE);
    expect(rows.entriesRead / rows.reads).toBeLessThanOrEqual(CAPTURE_PAGE + folders);
  });

  test("passes over what others of this server are taking", async () => {
    const rows = new Rows();
    for (const name of ["a/1", "a/2"]) rows.add(name);
    const taking: Taking = new Set(["a/1"]);
    expect(await names(search(rows, "a/", null, taking), 2)).toEqual(["a/2"]);
    expect([...taking]).toEqual(["a/1", "a/2"]);
  });
});

describe("a read that fails", () => {
  test("leaves no lock behind that is never a candidate again", async () => {
    const rows = new Rows();
    for (const name of ["a/1", "a/2", "a/3"]) rows.add(name);
    const taking: Taking = new Set();
    const read = rows.store.freeLocks;
    let reads = 0;
    const store: CandidateStore = {
      ...rows.store,
      // The first read finds one lock, and the second fails.
      freeLocks: (...asked) => {
        reads += 1;
        rows.fails = reads === 2;
        return read(asked[0], asked[1], asked[2], 1);
      },
    };
    const target = { prefix: "a/", statuses: [], from: null };
    const candidates = new CandidatesUnder(store, taking, target);
    await expect(candidates.next(2)).rejects.toThrow("away");
    expect([...taking]).toEqual([]);
    expect(await names(new CandidatesUnder(store, taking, target), 3)).toEqual(["a/1", "a/2", "a/3"]);
  });
});

describe("a search that wants certain statuses", () => {
  test("reads the groups of these alone, and goes on behind those of others", async () => {
    const rows = new Rows();
    for (const name of ["a/1", "b/1", "c/1"]) rows.add(name);
    const status = (folder: string) => (folder === "b/" ? "ready" : "failed");
    const read: RecordGroup[][] = [];
    const store: CandidateStore = {
      ...rows.store,
      // One group at a time.
      recordGroups: async (prefix, after) => {
        const { groups, isLast } = await rows.store.recordGroups(prefix, after, 1);
        return { groups: groups.map(({ folder }) => ({ folder, status: status(folder) })), isLast };
      },
      freeLocks: (groups, ...asked) => {
        read.push([...groups]);
        return rows.store.freeLocks(groups, ...asked);
      },
    };
    const target = { prefix: "", statuses: ["ready", "late"], from: null };
    const candidates = new CandidatesUnder(store, new Set(), target);
    expect(await names(candidates, 5)).toEqual(["b/1"]);
    expect(candidates.isDone).toBe(true);
    expect(read.flat()).toEqual([{ folder: "b/", status: "ready" }]);
    const all = new CandidatesUnder(store, new Set(), { ...target, statuses: [] });
    expect(await names(all, 5)).toEqual(["a/1", "b/1", "c/1"]);
  });
});

describe("when the next lock is due", () => {
  const due = (rows: Rows, groupsAtOnce: number): CandidateStore => ({
    ...rows.store,
    recordGroups: (prefix, after) => rows.store.recordGroups(prefix, after, groupsAtOnce),
    nextDueIn: async (groups) => groups.length * 1_000,
  });
  const target = { prefix: "", statuses: [], from: null };

  test("is known where all groups were looked at together, and asked of these", async () => {
    const rows = new Rows();
    for (const name of ["a/1", "b/1"]) rows.add(name);
    const candidates = new CandidatesUnder(due(rows, 2), new Set(), target);
    expect(await candidates.nextDueIn()).toBeNull();
    await names(candidates, 5);
    expect(await candidates.nextDueIn()).toBe(2_000);
  });

  test("is not known where there are more groups, wherever the search began", async () => {
    const rows = new Rows();
    for (const name of ["a/1", "b/1", "c/1"]) rows.add(name);
    const candidates = new CandidatesUnder(due(rows, 2), new Set(), target);
    await names(candidates, 5);
    expect(await candidates.nextDueIn()).toBeNull();
    const from = { behind: { folder: "b/", status: STATUS }, after: null };
    const fromMiddle = new CandidatesUnder(due(rows, 2), new Set(), { ...target, from });
    await names(fromMiddle, 1);
    expect(await fromMiddle.nextDueIn()).toBeNull();
  });
});

describe("limits of 0", () => {
  test("are in the way where a pattern has one, and other limits are not", async () => {
    const rows = new Rows();
    rows.add("t/1");
    rows.rules.push({ prefix: "t/", limit: 3, version: 1n, reason: "", changeMark: 0n });
    rows.rules.push({ prefix: "u/", limit: null, version: 1n, reason: "", changeMark: 0n });
    const [under, named] = [search(rows, "t/"), new CandidatesNamed(rows.store, new Set(), ["t/1"], [])];
    expect([await under.paused(), await named.paused()]).toEqual([false, false]);
    rows.pause("v/");
    expect([await under.paused(), await named.paused()]).toEqual([true, true]);
  });

  test("pass over a lock that has one of its own, and one that a pattern known by then pauses", async () => {
    const rows = new Rows();
    for (const name of ["a/1", "a/2", "b/1"]) rows.add(name, 1);
    rows.locks[1] = { ...(rows.locks[1] as FreeLock), limit: 0 };
    const taking: Taking = new Set();
    const candidates = search(rows, "", null, taking);
    expect(await candidates.paused()).toBe(false);
    expect(await names(candidates, 5)).toEqual(["a/1", "b/1"]);
    expect([...taking]).toEqual(["a/1", "b/1"]);
    rows.pause("a/");
    rows.rules.push({ prefix: "b/", limit: 2, version: 1n, reason: "", changeMark: 0n });
    const paused = search(rows, "");
    expect(await paused.paused()).toBe(true);
    expect(await names(paused, 5)).toEqual(["b/1"]);
    const named = new CandidatesNamed(rows.store, new Set(), ["a/1", "a/none", "b/1", "b/none"], []);
    expect(await named.paused()).toBe(true);
    expect(await names(named, 5)).toEqual(["b/none", "b/1"]);
    rows.rules.splice(0);
    expect(await named.paused()).toBe(false);
  });
});

describe("a search among names", () => {
  const named = (rows: Rows, asked: string[], statuses: string[] = []) =>
    new CandidatesNamed(rows.store, new Set(), asked, statuses);

  test("gives a few at a time, each once, and passes over what others of this server are taking", async () => {
    const rows = new Rows();
    const all = ["n/1", "n/2", "n/3", "n/4"];
    for (const name of all) rows.add(name, 1);
    const candidates = new CandidatesNamed(rows.store, new Set(["n/2"]), all, []);
    expect([await names(candidates, 2), await names(candidates, 2), await names(candidates, 2)]).toEqual([
      ["n/1", "n/3"],
      ["n/4"],
      [],
    ]);
  });

  test("leaves out what is held or not due, and says when the first of these is due", async () => {
    const rows = new Rows();
    const nowUs = 10_000;
    const locks = [
      { name: "n/held", dueAtUs: null },
      { name: "n/now", dueAtUs: nowUs },
      { name: "n/later", dueAtUs: nowUs + 500 },
      { name: "n/soon", dueAtUs: nowUs + 1 },
      { name: "n/last", dueAtUs: nowUs + 900 },
    ].map((lock, index) => ({ ...lock, id: BigInt(index + 1), limit: null, status: "" }));
    const store: CandidateStore = { ...rows.store, namedLocks: async () => ({ nowUs, locks }) };
    const asked = locks.map(({ name }) => name);
    const candidates = new CandidatesNamed(store, new Set(), asked, []);
    expect(await names(candidates, 9)).toEqual(["n/now"]);
    expect(await candidates.nextDueIn()).toBe(1);
    const free = new CandidatesNamed(store, new Set(), ["n/now"], []);
    await names(free);
    expect(await free.nextDueIn()).toBeNull();
  });

  test("wants only the statuses that it was asked for, and takes an unused name for one without", async () => {
    const rows = new Rows();
    rows.add("n/1");
    expect(await names(named(rows, ["n/1", "n/none"], [STATUS]), 9)).toEqual(["n/1"]);
    expect(await names(named(rows, ["n/1", "n/none"], ["other", ""]), 9)).toEqual(["n/none"]);
  });

  test("gives those that are due since the same time in the order of their bytes", async () => {
    const rows = new Rows();
    // In UTF-16 order the second name would come after the third.
    const inOrder = ["n/a", "n/\u{ff5e}", "n/\u{1f512}"];
    for (const name of inOrder.toReversed()) rows.add(name, 1);
    expect(await names(named(rows, inOrder.toReversed()), 9)).toEqual(inOrder);
  });

  test("finds those that are free, longest due first, and those that nobody has used", async () => {
    const rows = new Rows();
    rows.add("n/2", 1);
    rows.add("n/1", 0);
    const taking: Taking = new Set();
    const candidates = new CandidatesNamed(rows.store, taking, ["n/2", "n/1", "n/none"], []);
    expect(await candidates.next(3)).toEqual([
      { name: "n/1", id: 2n },
      { name: "n/none", id: null },
      { name: "n/2", id: 1n },
    ]);
    expect([...taking].toSorted()).toEqual(["n/1", "n/2", "n/none"]);
  });
});
