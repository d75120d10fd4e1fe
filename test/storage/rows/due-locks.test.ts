// One step of the search for due locks: which of the locks whose bounds have passed are due, and where the search goes on.

import { describe, expect, test } from "vitest";
import { NEVER_DUE_US } from "../../../server/storage/rows/columns.ts";
import { boundFromRow, dueStep, isStale, type PassedBound } from "../../../server/storage/rows/due-locks.ts";

const NOW_US = 1_000;
const due = (id: number): PassedBound => ({ id: BigInt(id), atUs: NOW_US });
/** Released since its bound was written. */
const free = (id: number): PassedBound => ({ id: BigInt(id), atUs: null });
const renewed = (id: number): PassedBound => ({ id: BigInt(id), atUs: NOW_US + 1 });

/** Ids of due locks, and where the next step begins. */
function step(bounds: readonly PassedBound[], woken: readonly number[], max: number) {
  const { lockIds, next } = dueStep(bounds, woken.map(BigInt), NOW_US, max);
  return { ids: lockIds.map(Number), next: next === null ? null : Number(next) };
}

describe("a bound", () => {
  test("is read with the time that is exact, or with none", () => {
    for (const id of [7, "7", 7n]) expect(boundFromRow([id, "1000"])).toEqual({ id: 7n, atUs: 1_000 });
    expect(boundFromRow([7n, null])).toEqual({ id: 7n, atUs: null });
    expect(boundFromRow(["7", NEVER_DUE_US])).toEqual({ id: 7n, atUs: NEVER_DUE_US });
  });

  test("is stale unless the exact one has passed", () => {
    expect([due(1), { id: 1n, atUs: 0 }].map((bound) => isStale(bound, NOW_US))).toEqual([false, false]);
    const others = [free(1), renewed(1), { id: 1n, atUs: NEVER_DUE_US }];
    expect(others.map((bound) => isStale(bound, NOW_US))).toEqual([true, true, true]);
  });
});

describe("a step", () => {
  test("finds all of both kinds, each once, in order, and is the last one if neither list is full", () => {
    expect(step([due(3), due(10)], [2, 3, 9], 4)).toEqual({ ids: [2, 3, 9, 10], next: null });
    expect(step([], [], 4)).toEqual({ ids: [], next: null });
    expect(step([due(3)], [], 4)).toEqual({ ids: [3], next: null });
    expect(step([], [3], 4)).toEqual({ ids: [3], next: null });
  });

  test("returns no more than requested of two lists that are not full, and goes on behind the last one", () => {
    expect(step([due(1), due(4)], [2, 6], 3)).toEqual({ ids: [1, 2, 4], next: 4 });
  });

  test("of all steps finds each due lock once", () => {
    const ids = Array.from({ length: 200 }, (_, at) => at + 1);
    const kindOf = (id: number) => (id * 7) % 5;
    const passed = ids
      .filter((id) => kindOf(id) < 3)
      .map((id) => [due, free, renewed][kindOf(id)]?.(id) as PassedBound);
    const woken = ids.filter((id) => id % 3 === 0);
    const expected = ids.filter((id) => kindOf(id) === 0 || id % 3 === 0);
    for (const max of [1, 2, 3, 10, 199, 200, 1_000]) {
      const found: number[] = [];
      let steps = 0;
      for (let after = 0; ; ) {
        const behind = (id: bigint | number) => Number(id) > after;
        const { ids: some, next } = step(
          passed.filter(({ id }) => behind(id)).slice(0, max),
          woken.filter(behind).slice(0, max),
          max,
        );
        expect(some.length).toBeLessThanOrEqual(max);
        found.push(...some);
        steps += 1;
        if (next === null) break;
        expect(next).toBeGreaterThan(after);
        after = next;
      }
      expect(found).toEqual(expected);
      expect(steps).toBeLessThanOrEqual(Math.ceil(2 * (ids.length / max)) + 1);
    }
  });
});
