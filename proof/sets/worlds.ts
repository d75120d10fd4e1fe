// The small worlds that are explored. Each has what one part of the design is about, and little else.
import type { World } from "./state.ts";

const TWO = { a: 1, b: 1 };
const FOUR = { "p/x": 1, "q/x": 1, "p/y": 1, "q/y": 1 };
const THREE = { a: 1, b: 1, c: 1 };

/** Some seconds for all of them. */
export const SMALL: readonly World[] = [
  {
    name: "two sets in different orders, with lost answers and lapses",
    locks: TWO,
    claims: [{ wants: { a: 1, b: 1 } }, { wants: { b: 1, a: 1 } }],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "a set between claims for one lock, with lost answers and lapses",
    locks: TWO,
    claims: [{ wants: { a: 1 } }, { wants: { a: 1, b: 1 } }, { wants: { b: 1 } }],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "three sets in a circle of names",
    locks: THREE,
    claims: [{ wants: { a: 1, b: 1 } }, { wants: { b: 1, c: 1 } }, { wants: { c: 1, a: 1 } }],
    lapses: 1,
  },
  {
    name: "two sets behind holders of one lock each",
    locks: THREE,
    claims: [{ wants: { b: 1 } }, { wants: { a: 1 } }, { wants: { b: 1, c: 1 } }, { wants: { a: 1, b: 1 } }],
  },
  {
    name: "two sets that meet a third one at different locks",
    locks: THREE,
    claims: [{ wants: { a: 1, b: 1 } }, { wants: { c: 1, b: 1 } }, { wants: { a: 1, c: 1 } }],
    lapses: 1,
  },
  {
    name: "a heavy set beside light claims, while limits are lowered and raised",
    locks: { a: 3, b: 1 },
    claims: [{ wants: { a: 2, b: 1 } }, { wants: { b: 1, a: 1 } }, { wants: { a: 1 } }],
    changes: [
      ["a", 2],
      ["b", 0],
      ["b", 1],
      ["a", 1],
      ["a", 3],
    ],
  },
  {
    name: "two sets with two permits each of a pool of two",
    locks: { "p/x": 2, "p/y": 2, "p/z": 2 },
    pools: { "p/*": 2 },
    claims: [{ wants: { "p/z": 2 } }, { wants: { "p/x": 1, "p/y": 1 } }, { wants: { "p/y": 1, "p/x": 1 } }],
    lapses: 1,
  },
  {
    name: "a pool over one name of two sets, with lost answers",
    locks: { "p/x": 2, b: 2 },
    pools: { "p/*": 1 },
    claims: [{ wants: { "p/x": 1, b: 1 } }, { wants: { b: 1, "p/x": 1 } }],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "two pools of equal width, named in different orders",
    locks: FOUR,
    pools: { "p/*": 1, "q/*": 1 },
    claims: [{ wants: { "p/x": 1, "q/x": 1 } }, { wants: { "q/y": 1, "p/y": 1 } }],
    changes: [
      ["q/*", 0],
      ["p/*", 0],
      ["q/*", 1],
    ],
    lapses: 1,
  },
  {
    name: "two sets that come back to pools of equal width",
    locks: FOUR,
    pools: { "*": 0, "p/*": 2, "q/*": 2 },
    claims: [{ wants: { "p/x": 1, "q/x": 1 } }, { wants: { "q/y": 1, "p/y": 1 } }],
    changes: [
      ["p/*", 1],
      ["q/*", 1],
      ["*", 4],
    ],
  },
  {
    name: "limits of names and of a pool are lowered while sets wait at the pool",
    locks: { "p/x": 2, b: 2 },
    pools: { "p/*": 0 },
    claims: [{ wants: { "p/x": 1, b: 1 } }, { wants: { b: 1, "p/x": 1 } }, { wants: { b: 1 } }],
    changes: [
      ["b", 1],
      ["p/*", 1],
      ["p/x", 0],
      ["b", 2],
    ],
  },
  {
    name: "a pool is made while sets hold and wait, and the lead is no name under it",
    locks: { b: 1, "p/x": 2, "p/y": 1 },
    pools: { "*": 3 },
    claims: [{ wants: { b: 1, "p/x": 1, "p/y": 1 } }, { wants: { "p/x": 1, b: 1 } }],
    changes: [["p/*", 2]],
    lapses: 1,
  },
  {
    name: "a heavy set that never fits a lowered pool",
    locks: { "p/x": 2, "p/y": 1 },
    pools: { "p/*": 3 },
    claims: [{ wants: { "p/x": 2, "p/y": 1 } }, { wants: { "p/y": 1 } }],
    changes: [
      ["p/*", 2],
      ["p/*", 1],
    ],
    lapses: 1,
  },
  {
    name: "a set that must not wait beside one that does",
    locks: { "p/x": 1, b: 2 },
    pools: { "p/*": 1 },
    claims: [{ wants: { "p/x": 1, b: 1 }, atOnce: true }, { wants: { b: 2, "p/x": 1 } }, { wants: { b: 1 } }],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "a set that must not wait, and may not fit a lowered pool",
    locks: { "p/x": 1, "p/y": 1 },
    pools: { "p/*": 2 },
    claims: [{ wants: { "p/x": 1, "p/y": 1 }, atOnce: true }, { wants: { "p/y": 1 } }],
    changes: [["p/*", 1]],
    cuts: 1,
  },
  {
    name: "decisions from memory",
    locks: TWO,
    claims: [{ wants: { a: 1, b: 1 } }, { wants: { b: 1, a: 1 } }, { wants: { b: 1 } }],
    optimistic: true,
  },
];

/** Of more claims, with all faults together: minutes. */
export const LARGE: readonly World[] = [
  {
    name: "four claims at three locks, with lost answers and lapses",
    locks: THREE,
    claims: [
      { wants: { a: 1, b: 1 } },
      { wants: { c: 1, b: 1 } },
      { wants: { c: 1, a: 1 } },
      { wants: { b: 1 } },
    ],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "a set of three names, with lost answers and lapses",
    locks: THREE,
    claims: [
      { wants: { c: 1, a: 1, b: 1 } },
      { wants: { b: 1, c: 1 } },
      { wants: { a: 1 } },
      { wants: { b: 1 } },
    ],
    cuts: 1,
    lapses: 2,
  },
  {
    name: "heavy and light sets, while limits are paused, lowered and raised",
    locks: { a: 3, b: 2 },
    claims: [
      { wants: { a: 2, b: 1 } },
      { wants: { b: 2, a: 1 } },
      { wants: { a: 1 } },
      { wants: { b: 1, a: 1 } },
    ],
    changes: [
      ["a", 2],
      ["b", 0],
      ["a", 1],
      ["b", 1],
      ["a", 3],
      ["b", 2],
    ],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "sets and other claims under a pool that is paused, lowered and raised",
    locks: { "p/x": 2, "p/y": 2, b: 1 },
    pools: { "p/*": 2 },
    claims: [
      { wants: { "p/x": 1, "p/y": 1 } },
      { wants: { "p/y": 1, "p/x": 1 } },
      { wants: { b: 1, "p/x": 1 } },
      { wants: { "p/y": 1 } },
    ],
    changes: [
      ["p/*", 0],
      ["p/x", 1],
      ["p/*", 1],
      ["p/*", 3],
    ],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "sets under three pools, in different orders",
    locks: FOUR,
    pools: { "*": 2, "p/*": 1, "q/*": 1 },
    claims: [
      { wants: { "p/x": 1, "q/x": 1 } },
      { wants: { "q/y": 1, "p/y": 1 } },
      { wants: { "q/x": 1 } },
      { wants: { "p/y": 1, "q/x": 1 } },
    ],
    changes: [
      ["*", 4],
      ["q/*", 0],
      ["p/*", 0],
      ["q/*", 2],
      ["p/*", 2],
    ],
    lapses: 1,
  },
  {
    name: "two pools are made while sets hold and wait at a wider one",
    locks: { "p/x": 2, "q/x": 2, b: 1 },
    pools: { "*": 2 },
    claims: [
      { wants: { "q/x": 1, "p/x": 1 } },
      { wants: { "p/x": 1, "q/x": 1 } },
      { wants: { b: 1, "p/x": 1 } },
    ],
    changes: [
      ["p/*", 1],
      ["q/*", 1],
      ["*", 4],
    ],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "decisions from memory under a pool, while limits change",
    locks: { "p/x": 1, b: 1 },
    pools: { "p/*": 1 },
    claims: [{ wants: { "p/x": 1, b: 1 } }, { wants: { b: 1, "p/x": 1 } }, { wants: { b: 1 } }],
    changes: [
      ["b", 0],
      ["p/*", 0],
      ["b", 1],
    ],
    optimistic: true,
  },
];
