// A map that never exceeds its bound, and forgets the entries set longest ago first.

import { expect, test } from "vitest";
import { RecentMap } from "../../server/core/recent-map.ts";

const SETS = 50_000;

test("the oldest entry is forgotten first, and setting it again renews it", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  map.set("c", 4);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([3, undefined, 4]);
});

test("a deleted or cleared entry leaves its room", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  expect([map.take("a"), map.take("a")]).toEqual([1, undefined]);
  map.delete("b");
  expect(map.get("b")).toBeUndefined();
  map.set("b", 2);
  map.set("c", 3);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([undefined, 2, 3]);
  map.clear();
  expect([map.get("b"), map.get("c")]).toEqual([undefined, undefined]);
});

test("a large map that is full takes about as long as a small one", () => {
  const usPerSet = (size: number) => {
    const map = new RecentMap<number, number>(size);
    for (let key = 0; key < size; key++) map.set(key, key);
    const cpu = process.cpuUsage();
    for (let key = 0; key < SETS; key++) map.set(size + key, key);
    const { user } = process.cpuUsage(cpu);
    expect([map.size, [...map.keys()][0]]).toEqual([size, SETS]);
    return user / SETS;
  };
  usPerSet(100);
  // 5 times as long because of the processor's caches. It was 80 times where the oldest key was looked for.
  expect(usPerSet(SETS)).toBeLessThan(20 * Math.max(usPerSet(100), 0.15));
});
