// Groups of records are traversed in few reads of few entries each, however many groups or locks there are.

import { describe, expect, test } from "vitest";
import {
  type GroupRange,
  type GroupRead,
  recordGroupReads,
} from "../../../server/storage/rows/record-groups.ts";
import {
  GROUP_ENTRIES_MAX,
  GROUP_READS_MAX,
  GROUP_READS_SMALL,
} from "../../../server/storage/storage-bounds.ts";
import type { RecordGroup } from "../../../server/storage/store.ts";

/** An index with this many locks in each folder, in order. */
class Index {
  readonly #entries: RecordGroup[];
  reads = 0;
  entriesRead = 0;

  constructor(folders: readonly string[], locksInEach: number, statuses: readonly string[] = ["new"]) {
    this.#entries = folders.flatMap((folder) =>
      statuses.flatMap((status) => Array.from({ length: locksInEach }, () => ({ folder, status }))),
    );
  }

  read({ ranges, entries }: GroupRead): RecordGroup[][] {
    this.reads += 1;
    return ranges.map((range) => {
      const found = this.#entries.filter((entry) => isIn(entry, range)).slice(0, entries);
      this.entriesRead += found.length;
      return found;
    });
  }

  groups(prefix: string, after: RecordGroup | null, max: number) {
    const reads = recordGroupReads(prefix, after, max);
    let read = reads.next();
    while (!read.done) read = reads.next(this.read(read.value));
    return read.value;
  }
}

function isIn({ folder, status }: RecordGroup, range: GroupRange): boolean {
  if (range.kind === "folder")
    return folder === range.folder && (range.aboveStatus === null || status > range.aboveStatus);
  const bytes = Buffer.from(folder);
  const fromStart = Buffer.compare(bytes, range.from);
  return (range.isAbove ? fromStart > 0 : fromStart >= 0) && Buffer.compare(bytes, range.below) < 0;
}

const FOLDERS = Array.from({ length: 5_000 }, (_, index) => `f/${10_000 + index}/`);

describe("groups", () => {
  test("of 5,000 folders with a lock each are found in some reads for each call, and none is left out", () => {
    const index = new Index(FOLDERS, 1);
    const found: RecordGroup[] = [];
    for (;;) {
      const before = index.reads;
      const { groups, isLast } = index.groups("f/", found.at(-1) ?? null, 500);
      expect(index.reads - before).toBeLessThanOrEqual(GROUP_READS_SMALL + 500 / GROUP_ENTRIES_MAX + 2);
      found.push(...groups);
      if (isLast) break;
    }
    expect(found.map(({ folder }) => folder)).toEqual(FOLDERS);
  });

  test("with many locks each are found within the bound of reads, and the next call goes on", () => {
    const index = new Index(FOLDERS.slice(0, 50), 200, ["a", "b"]);
    const { groups, isLast } = index.groups("f/", null, 500);
    expect(index.reads).toBe(GROUP_READS_MAX);
    expect(isLast).toBe(false);
    expect(groups.length).toBeGreaterThanOrEqual(GROUP_READS_MAX);
    const next = index.groups("f/", groups.at(-1) ?? null, 500).groups[0];
    expect(next).toEqual({ folder: FOLDERS[groups.length / 2], status: "a" });
  });

  test("that are few cost few entries, however many locks they have", () => {
    const index = new Index(["f/"], 10_000, ["a", "b"]);
    const { groups, isLast } = index.groups("f/", null, 500);
    expect(groups.map(({ status }) => status)).toEqual(["a", "b"]);
    expect(isLast).toBe(true);
    expect(index.entriesRead).toBeLessThanOrEqual(8);
  });

  test("beyond as many as are wanted are left to the next call", () => {
    const index = new Index(["f/"], 1, ["a", "b", "c"]);
    expect(index.groups("f/", null, 2)).toEqual({
      groups: [
        { folder: "f/", status: "a" },
        { folder: "f/", status: "b" },
      ],
      isLast: false,
    });
    expect(index.groups("f/", { folder: "f/", status: "b" }, 2)).toEqual({
      groups: [{ folder: "f/", status: "c" }],
      isLast: true,
    });
  });
});
