// Reads for display in steps: how much each step reads, and what it can skip.

import { describe, expect, test } from "vitest";
import { SHOWN_BY_LIST_MAX } from "../../../server/core/bounds.ts";
import type { GuardRow } from "../../../server/core/lock.ts";
import { CLAIMS_PER_STEP_MAX } from "../../../server/engine/engine-bounds.ts";
import { lockSteps, viewSteps } from "../../../server/engine/views/views.ts";
import type { LockQuery, LockView } from "../../../server/storage/store.ts";

type Row = Pick<GuardRow, "id" | "name" | "holders" | "waiting" | "hasRecord">;
const row = (id: number, overrides: Partial<Row> = {}): GuardRow =>
  ({
    id: BigInt(id),
    name: `lock ${id}`,
    holders: 1,
    waiting: 0,
    hasRecord: false,
    ...overrides,
  }) as GuardRow;

/** What was read, in which steps. */
async function viewsOf(
  locks: readonly (GuardRow | Pick<GuardRow, "id" | "holders" | "waiting">)[],
  gone: bigint[] = [],
) {
  const steps: bigint[][] = [];
  const shown: number[] = [];
  const store = {
    views: async (ids: readonly bigint[], max: number) => {
      steps.push([...ids]);
      shown.push(max);
      const there = ids.filter((id) => !gone.includes(id));
      // In any order, as a database may answer.
      return there
        .toReversed()
        .map((id) => ({ lock: { id }, holders: [], waiters: [] }) as unknown as LockView);
    },
  };
  const views: LockView[] = [];
  for await (const view of viewSteps(store, locks)) views.push(view);
  return { steps, shown, views, ids: views.map(({ lock }) => lock.id) };
}

describe("the claims of locks", () => {
  test("are read for as many locks as a step may have, up to a number of claims for each", async () => {
    const crowd = { holders: SHOWN_BY_LIST_MAX + 5, waiting: 0 };
    const atOnce = CLAIMS_PER_STEP_MAX / SHOWN_BY_LIST_MAX;
    const locks = Array.from({ length: 2 * atOnce + 1 }, (_, index) => row(index + 1, crowd));
    const { steps, shown, ids } = await viewsOf(locks);
    expect(steps.map((step) => step.length)).toEqual([atOnce, atOnce, 1]);
    expect(new Set(shown)).toEqual(new Set([SHOWN_BY_LIST_MAX]));
    expect(ids).toEqual(locks.map(({ id }) => id));
  });

  test("include the waiters", async () => {
    const crowd = { holders: SHOWN_BY_LIST_MAX, waiting: SHOWN_BY_LIST_MAX };
    const { steps } = await viewsOf([row(1, crowd), row(2, crowd), row(3, { waiting: 1 })]);
    expect(steps).toEqual([[1n], [2n], [3n]]);
  });

  test("are not read of an idle lock without a record, which is shown all the same", async () => {
    const idle = { holders: 0, waiting: 0 };
    const { steps, views, ids } = await viewsOf([row(1, idle), row(2), row(3, idle)]);
    expect(steps).toEqual([[2n]]);
    expect(ids).toEqual([1n, 2n, 3n]);
    expect(views[0]).toEqual({
      lock: { id: 1n, name: "lock 1", holders: 0, waiting: 0, record: null },
      holders: [],
      waiters: [],
    });
    const { steps: none } = await viewsOf([row(1, idle)]);
    expect(none).toEqual([]);
    expect((await viewsOf([])).steps).toEqual([]);
  });

  test("are read of an idle one that has a record, or whose size alone is known", async () => {
    const idle = { holders: 0, waiting: 0 };
    const { steps } = await viewsOf([row(1, { ...idle, hasRecord: true }), { id: 2n, ...idle }]);
    expect(steps).toEqual([[1n, 2n]]);
  });

  test("of a deleted lock are left out with it", async () => {
    const { ids } = await viewsOf([row(1), row(2), row(3)], [2n]);
    expect(ids).toEqual([1n, 3n]);
  });
});

describe("guard rows", () => {
  const PAGE = 3;
  const QUERY: LockQuery = { prefix: "lock", afterName: null, max: 100, which: "busy" };

  async function steps(count: number, query: Partial<LockQuery>) {
    const asked: LockQuery[] = [];
    const all = Array.from({ length: count }, (_, index) => row(100 + index));
    const store = {
      list: async (lockQuery: LockQuery) => {
        asked.push(lockQuery);
        const { afterName, max } = lockQuery;
        const from = all.filter(({ name }) => afterName === null || name > afterName);
        const locks = from.slice(0, Math.min(max, PAGE));
        return { locks, next: from.length > locks.length ? (locks.at(-1)?.name ?? null) : null };
      },
    };
    const names: string[] = [];
    for await (const part of lockSteps(store, { ...QUERY, ...query }))
      names.push(...part.map(({ name }) => name));
    return { asked, names };
  }

  test("are read page after page, each behind the one before it", async () => {
    const { asked, names } = await steps(7, {});
    expect(names).toEqual([0, 1, 2, 3, 4, 5, 6].map((index) => `lock ${100 + index}`));
    expect(asked.map(({ afterName }) => afterName)).toEqual([null, "lock 102", "lock 105"]);
    for (const { prefix, which } of asked) expect([prefix, which]).toEqual(["lock", "busy"]);
  });

  test("are read from the requested name, and no more than requested", async () => {
    const { asked, names } = await steps(9, { afterName: "lock 101", max: 4 });
    expect(names).toEqual([102, 103, 104, 105].map((id) => `lock ${id}`));
    expect(asked.map(({ max }) => max)).toEqual([4, 1]);
    expect((await steps(9, { max: PAGE })).asked).toHaveLength(1);
  });
});
