// The small worlds that are explored. Each has what one part of the design is about, and little else.
import type { World } from "./state.ts";

const TWO_LOCKS = { "a/x": 1, "a/y": 1 };
const TWO_POOLS = { "*": 1, "a/*": 1 };

/** Of two claims, or without changes: some seconds for all of them. */
export const SMALL: readonly World[] = [
  {
    name: "two claims of one lock and two pools, with lost answers and lapses",
    locks: { "a/x": 2 },
    pools: TWO_POOLS,
    claims: [{ lock: "a/x" }, { lock: "a/x" }],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "two locks under two pools, with lost answers and lapses",
    locks: TWO_LOCKS,
    pools: TWO_POOLS,
    claims: [{ lock: "a/x" }, { lock: "a/y" }],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "a pool is made while claims hold and wait",
    locks: TWO_LOCKS,
    pools: { "*": 1 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }],
    changes: [["make", "a/*", 1]],
    lapses: 1,
  },
  {
    name: "a pool is made, removed, and made again before its holders are counted",
    locks: TWO_LOCKS,
    pools: {},
    claims: [{ lock: "a/x" }, { lock: "a/y" }],
    changes: [
      ["make", "a/*", 1],
      ["remove", "a/*"],
      ["make", "a/*", 1],
    ],
  },
  {
    name: "a pool is paused, raised and lowered",
    locks: TWO_LOCKS,
    pools: { "*": 2, "a/*": 1 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }],
    changes: [
      ["set", "*", 0],
      ["set", "a/*", 2],
      ["set", "*", 2],
      ["set", "a/*", 0],
    ],
  },
  {
    name: "three claims of a pool that is raised and lowered",
    locks: { "a/x": 1, "a/y": 1, "a/z": 1 },
    pools: { "a/*": 1 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }, { lock: "a/z" }],
    changes: [
      ["set", "a/*", 3],
      ["set", "a/*", 2],
    ],
  },
  {
    name: "three levels change while claims wait at the widest",
    locks: TWO_LOCKS,
    pools: { "*": 0, "a*": 1, "a/*": 2 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }],
    changes: [
      ["set", "a/*", 1],
      ["set", "*", 1],
    ],
  },
  {
    name: "a narrow pool is made below claims that wait at wide ones",
    locks: TWO_LOCKS,
    pools: { "*": 0, "a*": 1 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }],
    changes: [
      ["make", "a/*", 1],
      ["set", "*", 1],
    ],
  },
  {
    name: "heavy claims that never fit a lowered limit",
    locks: { "a/x": 2, "a/y": 2 },
    pools: { "*": 2, "a/*": 4 },
    claims: [
      { lock: "a/x", permits: 2 },
      { lock: "a/y", permits: 2 },
    ],
    changes: [["set", "*", 1]],
    lapses: 1,
  },
  {
    name: "rates at two levels, one of them paused at first",
    locks: TWO_LOCKS,
    pools: { "*": 0, "a/*": 2 },
    rates: { "*": 2, "a/*": 1 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }],
    changes: [["set", "*", 2]],
    lapses: 1,
  },
  {
    name: "a try that must not wait beside one that does",
    locks: TWO_LOCKS,
    pools: { "*": 1, "a/*": 2 },
    claims: [{ lock: "a/x", atOnce: true }, { lock: "a/y" }],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "decisions from memory",
    locks: TWO_LOCKS,
    pools: { "*": 1, "a/*": 2 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }],
    optimistic: true,
  },
];

/** Of more claims, with all faults together: minutes. */
export const LARGE: readonly World[] = [
  {
    name: "four claims under two subtrees, with lost answers and lapses",
    locks: { "a/x": 2, "a/y": 1, "b/x": 1 },
    pools: { "*": 2, "a/*": 1, "b/*": 1 },
    claims: [{ lock: "a/x" }, { lock: "a/x" }, { lock: "a/y" }, { lock: "b/x" }],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "a pool is made while claims hold and wait, with lost answers and lapses",
    locks: TWO_LOCKS,
    pools: { "*": 1 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }],
    changes: [["make", "a/*", 1]],
    cuts: 1,
    lapses: 1,
  },
  {
    name: "a pool is made under three claims and removed",
    locks: { "a/x": 2, "a/y": 1 },
    pools: { "*": 2 },
    claims: [{ lock: "a/x" }, { lock: "a/x" }, { lock: "a/y" }],
    changes: [
      ["make", "a/*", 1],
      ["remove", "a/*"],
    ],
    lapses: 1,
  },
  {
    name: "a wide pool is made above a narrow one, and made again",
    locks: { "a/x": 1, "a/y": 1, "b/x": 1 },
    pools: { "a/*": 1 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }, { lock: "b/x" }],
    changes: [
      ["make", "*", 1],
      ["remove", "*"],
      ["make", "*", 1],
    ],
  },
  {
    name: "four claims at two levels that are paused, raised and lowered",
    locks: { "a/x": 1, "a/y": 1, "a/z": 2 },
    pools: { "*": 1, "a/*": 1 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }, { lock: "a/z" }, { lock: "a/z" }],
    changes: [
      ["set", "a/*", 3],
      ["set", "*", 3],
      ["set", "*", 2],
      ["set", "a/*", 1],
      ["set", "*", 0],
      ["set", "a/*", 2],
    ],
    lapses: 1,
  },
  {
    name: "heavy and light claims, rates and lowered limits",
    locks: { "a/x": 3, "a/y": 1, "b/x": 1 },
    pools: { "*": 3, "a/*": 3 },
    rates: { "*": 2, "a/*": 1 },
    claims: [{ lock: "a/x", permits: 2 }, { lock: "a/x" }, { lock: "a/y" }, { lock: "b/x" }],
    changes: [
      ["set", "*", 0],
      ["set", "a/*", 1],
      ["set", "a/x", 1],
      ["set", "*", 1],
      ["set", "a/*", 3],
    ],
    lapses: 1,
  },
  {
    name: "decisions from memory of three claims, while a limit changes",
    locks: { "a/x": 1, "a/y": 1, "b/x": 1 },
    pools: { "*": 1, "a/*": 1 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }, { lock: "b/x" }],
    changes: [["set", "a/*", 2]],
    optimistic: true,
  },
  {
    name: "decisions from memory, while a pool is made",
    locks: TWO_LOCKS,
    pools: { "*": 1 },
    claims: [{ lock: "a/x" }, { lock: "a/y" }],
    changes: [["make", "a/*", 1]],
    optimistic: true,
  },
];
