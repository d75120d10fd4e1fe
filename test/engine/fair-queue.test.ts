// Which source's item is next, and which source loses an item if there is no room.

import { expect, test } from "vitest";
import { FairQueue } from "../../server/engine/fair-queue.ts";

function drained(queue: FairQueue<string>): string[] {
  const items: string[] = [];
  for (let item = queue.next(); item !== undefined; item = queue.next()) items.push(item);
  return items;
}

function queueOf(items: readonly string[], max = 100, eachMax?: number): FairQueue<string> {
  const queue = new FairQueue<string>(max, eachMax);
  // An item's first letter names its source.
  for (const item of items) expect(queue.add(item[0], item)).toBeNull();
  return queue;
}

test("sources take turns, and each keeps its own order", () => {
  const queue = queueOf(["a1", "a2", "a3", "b1", "c1", "b2"]);
  expect(drained(queue)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  expect(queue.next()).toBeUndefined();
});

test("a source that comes late waits for one item of each other source", () => {
  const queue = queueOf(["a1", "a2", "a3", "b1", "b2"]);
  expect(queue.next()).toBe("a1");
  expect(queue.add("c", "c1")).toBeNull();
  expect(drained(queue)).toEqual(["b1", "a2", "c1", "b2", "a3"]);
});

test("if there is no room, the source that has most loses its last item", () => {
  const queue = queueOf(["a1", "b1", "b2", "b3", "c1"], 5);
  expect(queue.add("d", "d1")).toBe("b3");
  expect(queue.add("a", "a2")).toBe("a2");
  expect(queue.add("e", "e1")).toBe("b2");
  // Every source has one.
  expect(queue.add("f", "f1")).toBe("f1");
  expect(drained(queue)).toEqual(["a1", "b1", "c1", "d1", "e1"]);
});

test("the source that has most loses the new item", () => {
  const queue = queueOf(["a1", "a2", "b1"], 3);
  expect(queue.add("a", "a3")).toBe("a3");
  expect(queue.add("b", "b2")).toBe("b2");
});

test("a source has at most its own bound, and has room again when its items are gone", () => {
  const queue = queueOf(["a1", "a2", "b1"], 4, 2);
  expect(queue.add("a", "a3")).toBe("a3");
  expect(queue.next()).toBe("a1");
  expect(queue.add("a", "a4")).toBeNull();
  expect(queue.add("c", "c1")).toBeNull();
  expect(drained(queue)).toEqual(["b1", "a2", "c1", "a4"]);
});
