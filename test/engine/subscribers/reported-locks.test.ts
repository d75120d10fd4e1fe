// How a change of a lock is recognised, and in which turns all known locks are checked.

import { beforeEach, expect, test } from "vitest";
import { ReportedLocks } from "../../../server/engine/subscribers/watched-prefix.ts";
import type { DecidedLock } from "../../../server/storage/store.ts";

const lock = (name: string, id: bigint, revision = 1n): DecidedLock => {
  return { id, name, revision, holders: 0, waiting: 0 };
};

let known: ReportedLocks;
beforeEach(() => {
  known = new ReportedLocks();
});

/** Knows `a`, `b` and so on, with ids from 1 on. */
function knowing(...names: string[]): void {
  names.forEach((name, index) => {
    known.see(lock(name, BigInt(index + 1)));
  });
}

const nextOf = (max: number) => known.nextOf(max).map(({ name }) => name);

test("a lock is new with each revision, even a lower one, and when its name has another row", () => {
  expect(known.see(lock("a", 1n))).toBe(true);
  expect(known.see(lock("a", 1n))).toBe(false);
  expect(known.see(lock("a", 1n, 7n))).toBe(true);
  expect(known.see(lock("a", 1n, 3n))).toBe(true);
  expect(known.see(lock("a", 2n, 3n))).toBe(true);
  expect(known.see(lock("a", 2n, 3n))).toBe(false);
  expect([...known.values()]).toEqual([lock("a", 2n, 3n)]);
});

test("a lock is gone once, and only if its name has no other row by now", () => {
  knowing("a");
  expect(known.gone({ id: 9n, name: "a" })).toBe(false);
  expect(known.gone({ id: 1n, name: "b" })).toBe(false);
  expect(known.has("a")).toBe(true);
  expect(known.gone({ id: 1n, name: "a" })).toBe(true);
  expect(known.gone({ id: 1n, name: "a" })).toBe(false);
  expect(known.size).toBe(0);
});

test("a round reaches all of them once, a part at a time, and those that have come meanwhile", () => {
  expect(nextOf(2)).toEqual([]);
  knowing("a", "b", "c");
  expect(nextOf(2)).toEqual(["a", "b"]);
  known.see(lock("d", 4n));
  known.gone({ id: 3n, name: "c" });
  expect(nextOf(2)).toEqual(["d"]);
  expect(nextOf(2)).toEqual(["a", "b"]);
  expect(nextOf(1)).toEqual(["d"]);
  // The end of the round; the next round begins with the next part.
  expect(nextOf(1)).toEqual([]);
  expect(nextOf(5)).toEqual(["a", "b", "d"]);
});
