// Free locks of several groups in one order, as far as every group was read, and which of them are wanted.

import { describe, expect, test } from "vitest";
import { askedOf, freePage, isWanted } from "../../../server/storage/rows/free-page.ts";
import type { FreeLock } from "../../../server/storage/store.ts";

const lock = (name: string, dueAtUs = 0, limit: number | null = null): FreeLock => ({
  id: 1n,
  name,
  dueAtUs,
  limit,
});
const namesOf = (locks: readonly FreeLock[]) => locks.map(({ name }) => name);

describe("a page of free locks", () => {
  test("has those longest due first, then by the bytes of their names", () => {
    const ranges = [
      { locks: [lock("b", 1), lock("é", 5)], end: null },
      { locks: [lock("z", 0), lock("a", 1), lock("f", 5)], end: null },
    ];
    const { locks, next } = freePage(ranges);
    expect(namesOf(locks)).toEqual(["z", "a", "b", "f", "é"]);
    expect(next).toBeNull();
  });

  test("ends at the first place behind which a group was not read, and includes it", () => {
    const ranges = [
      { locks: [lock("a", 1), lock("c", 3)], end: lock("c", 3) },
      { locks: [lock("b", 2), lock("d", 4)], end: lock("d", 4) },
      { locks: [lock("e", 9)], end: null },
    ];
    const { locks, next } = freePage(ranges);
    expect(namesOf(locks)).toEqual(["a", "b", "c"]);
    expect(next).toMatchObject({ name: "c", dueAtUs: 3 });
    expect(freePage(ranges.toReversed()).next).toMatchObject({ name: "c" });
  });

  test("ends at a place although none of what was read is wanted", () => {
    expect(freePage([{ locks: [], end: lock("a", 1) }])).toEqual({ locks: [], next: lock("a", 1) });
    expect(freePage([])).toEqual({ locks: [], next: null });
  });
});

describe("a name is wanted", () => {
  const paused = [{ prefix: "task/old/", except: ["task/old/but/"] }];
  const wanted = { prefix: "task/", paused };

  test("under the prefix, and not where a pattern pauses it", () => {
    expect(isWanted(lock("task/a"), wanted)).toBe(true);
    expect(isWanted(lock("other/a"), wanted)).toBe(false);
    expect(isWanted(lock("task/old/a"), wanted)).toBe(false);
  });

  test("where a longer pattern or a limit of its own says otherwise", () => {
    expect(isWanted(lock("task/old/but/a"), wanted)).toBe(true);
    expect(isWanted(lock("task/old/a", 0, 3), wanted)).toBe(true);
    expect(isWanted(lock("other/a", 0, 3), wanted)).toBe(false);
    const both = [...paused, { prefix: "task/", except: [] }];
    expect(isWanted(lock("task/old/but/a"), { prefix: "task/", paused: both })).toBe(false);
  });

  test("without a look at it where its group has nothing that is not wanted", () => {
    const asked = (folder: string, prefix = "task/") => askedOf({ prefix, paused }, { folder, status: "" });
    expect(asked("task/new/")).toBeNull();
    expect(asked("task/old/")).toEqual({ prefix: "task/", paused });
    expect(asked("task/old/deeper/")).toEqual({ prefix: "task/", paused });
    expect(asked("task/")).toEqual({ prefix: "task/", paused });
    expect(asked("task/new/", "task/new/a")).toEqual({ prefix: "task/new/a", paused: [] });
  });
});
