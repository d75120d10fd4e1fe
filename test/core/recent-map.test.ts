// A map that never exceeds its bound, and forgets the entries set longest ago first.

import { expect, test } from "vitest";
import { RecentMap } from "../../server/core/recent-map.ts";

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
