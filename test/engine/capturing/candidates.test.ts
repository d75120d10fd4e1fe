// The search for locks that can be had: what is in the way hides nothing for ever, however much it is, and one search reads a
// bounded number of index entries.

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

/** A store in memory, which counts what it reads. */
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

/** Searches as captures do, one after the other, until one has found something. */
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
      // The first look finds one, and the second one fails.
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

describe("a search among names", () => {
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
