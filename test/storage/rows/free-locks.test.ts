// How groups of free locks are found: in few reads of few entries each, however many groups or locks there are. Which locks
// are found, and in which order, is in the contract suite.

import { describe, expect, test } from "vitest";
import { findFree } from "../../../server/storage/rows/free-locks.ts";
import {
  FREE_GROUPS_MAX,
  GROUP_ENTRIES_MAX,
  GROUP_READS_MAX,
  GROUP_READS_SMALL,
} from "../../../server/storage/storage-bounds.ts";
import {
  FIRST_FREE,
  type FreeLock,
  type FreePosition,
  type RecordGroup,
} from "../../../server/storage/store.ts";
import { FreeIndex } from "../../support/free-index.ts";

const namesOf = (locks: readonly FreeLock[]) => locks.map(({ name }) => name);

describe("groups", () => {
  const FOLDERS = Array.from({ length: 5_000 }, (_, index) => `f/${10_000 + index}/`);
  const page = (index: FreeIndex, from: FreePosition = FIRST_FREE, prefix = "f/") =>
    findFree(index, { kind: "prefix", prefix, statuses: [], paused: [] }, from, 1_000_000);

  function indexOf(folders: readonly string[], locksInEach: number, statuses = ["new"]): FreeIndex {
    const index = new FreeIndex();
    for (const folder of folders)
      for (const status of statuses)
        for (let lock = 0; lock < locksInEach; lock++) index.add(`${folder}${lock}`, 0, status);
    return index;
  }

  test("of 5,000 folders with a lock each are found in some reads for each page, and none is left out", async () => {
    const index = indexOf(FOLDERS, 1);
    const found: RecordGroup[] = [];
    for (let from: FreePosition | null = FIRST_FREE; from; ) {
      const before = index.groupReads;
      const { at, next } = await page(index, from);
      const readsMax = GROUP_READS_SMALL + FREE_GROUPS_MAX / GROUP_ENTRIES_MAX + 2;
      expect(index.groupReads - before).toBeLessThanOrEqual(readsMax);
      expect(at.groups?.groups.length).toBeLessThanOrEqual(FREE_GROUPS_MAX);
      if (next?.after === null || next === null) found.push(...(at.groups?.groups ?? []));
      from = next;
    }
    expect(found.map(({ folder }) => folder)).toEqual(FOLDERS);
  });

  test("with many locks each are found within the bound of reads, and the next page goes on", async () => {
    const index = indexOf(FOLDERS.slice(0, 50), 200, ["a", "b"]);
    const { at } = await page(index);
    const { groups = [], isLast } = at.groups ?? {};
    expect(index.groupReads).toBe(GROUP_READS_MAX);
    expect(isLast).toBe(false);
    expect(groups.length).toBeGreaterThanOrEqual(GROUP_READS_MAX);
    const next = await page(index, { behind: groups.at(-1) ?? null, after: null });
    expect(next.at.groups?.groups[0]).toEqual({ folder: FOLDERS[groups.length / 2], status: "a" });
  });

  test("that are few cost few entries, however many locks they have", async () => {
    const index = indexOf(["f/"], 10_000, ["a", "b"]);
    const { groups = [], isLast } = (await page(index)).at.groups ?? {};
    expect(groups.map(({ status }) => status)).toEqual(["a", "b"]);
    expect(isLast).toBe(true);
    expect(index.groupEntriesRead).toBeLessThanOrEqual(8);
  });

  test("that a page knows are not searched again by the next one", async () => {
    const index = indexOf(["f/"], 3);
    const selector = { kind: "prefix", prefix: "f/", statuses: [], paused: [] } as const;
    const first = await findFree(index, selector, FIRST_FREE, 2);
    expect(namesOf(first.locks)).toEqual(["f/0", "f/1"]);
    const { groupReads } = index;
    const second = await findFree(index, selector, first.next as FreePosition, 2);
    expect([namesOf(second.locks), second.next]).toEqual([["f/2"], null]);
    expect(index.groupReads).toBe(groupReads);
  });

  test("beyond as many as are read together are left to the next page", async () => {
    const statuses = Array.from({ length: FREE_GROUPS_MAX + 1 }, (_, status) => `${10_000 + status}`);
    const index = indexOf(["f/"], 1, statuses);
    const all = await page(index);
    expect([all.locks.length, all.at.groups?.isLast]).toEqual([FREE_GROUPS_MAX, false]);
    const { locks, next } = await page(index, all.next as FreePosition);
    expect([locks.length, next]).toEqual([1, null]);
  });
});
