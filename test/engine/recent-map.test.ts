// A map that never exceeds its bound, and forgets the entries set longest ago first.

import { expect, test } from "vitest";
import { RecentMap } from "../../server/engine/recent-map.ts";

test("what was set longest ago is forgotten first, and setting it again counts", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  map.set("c", 4);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([3, undefined, 4]);
});

test("what is deleted or cleared away leaves its room", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.delete("a");
  expect(map.get("a")).toBeUndefined();
  map.set("c", 3);
  expect([map.get("a"), map.get("b"), map.get("c")]).toEqual([undefined, 2, 3]);
  map.clear();
  expect([map.get("b"), map.get("c")]).toEqual([undefined, undefined]);
});
