// The listing of changes: which ones it finds, how much it reads for that, and that pages neither lose nor repeat one.

import { describe, expect, test } from "vitest";
import type { LimitRule } from "../../../server/core/limit.ts";
import { CHANGES_SEARCHED_MAX } from "../../../server/engine/engine-bounds.ts";
import type { ChangePosition, ChangesQuery } from "../../../server/engine/history.ts";
import { listedChanges } from "../../../server/engine/views/past.ts";
import type { KeptChange } from "../../../server/storage/store.ts";
import { PastStore } from "../../support/past-store.ts";

const ALL: ChangesQuery = {
  ...{ lockName: null, prefix: "", isSeen: null, kinds: [], fromUs: null, untilUs: null },
  ...{ changedBy: "", after: null },
};

const change = (id: number, overrides: Partial<KeptChange> = {}): KeptChange => ({
  ...{ kind: "limit", target: "etl/load", isPattern: false, by: "ops", from: "1", to: "2", reason: "why" },
  ...{ atUs: 10 * id, id: BigInt(id) },
  ...overrides,
});

const pattern = (id: number, target: string) => change(id, { target, isPattern: true });

/** Rules whose limits are gone count, too. */
const RULES = ["", "etl/", "web/"].map((prefix) => ({ prefix, limit: null }) as LimitRule);

function storeWith(...kept: KeptChange[]) {
  const store = new PastStore();
  store.kept = kept;
  return store;
}

async function page(store: PastStore, query: Partial<ChangesQuery> = {}, size = Number.POSITIVE_INFINITY) {
  const ids: number[] = [];
  const source = { changes: store.changes.bind(store), limitRules: async () => RULES };
  for await (const listed of listedChanges(source, { ...ALL, ...query })) {
    if (listed.kind === "stopped") return { ids, next: listed.at, stopped: true };
    ids.push(Number(listed.item.id));
    if (ids.length === size) return { ids, next: listed.at };
  }
  return { ids, next: null };
}

const found = async (store: PastStore, query: Partial<ChangesQuery> = {}) => (await page(store, query)).ids;

describe("a listing", () => {
  const store = storeWith(
    change(1),
    change(2, { target: "web/one", by: "anna" }),
    pattern(3, "etl/*"),
    pattern(4, "*"),
    pattern(5, "web/*"),
    change(6, { kind: "record" }),
    change(7, { kind: "policy", target: "" }),
    // A lock may be named like a pattern.
    change(8, { target: "etl/*" }),
  );

  test("of a lock has its own changes and those of patterns that match its name", async () => {
    expect(await found(store, { lockName: "etl/load" })).toEqual([6, 4, 3, 1]);
    expect(await found(store, { lockName: "etl/*" })).toEqual([8, 4, 3]);
    expect(await found(store, { lockName: "other" })).toEqual([4]);
  });

  test("of a prefix has names and patterns that begin so", async () => {
    expect(await found(store, { prefix: "etl/" })).toEqual([8, 6, 3, 1]);
    expect(await found(store, { prefix: "etl/*" })).toEqual([8, 3]);
  });
});

test("pages of any size have each change once, even of one instant", async () => {
  const store = storeWith(...Array.from({ length: 1_000 }, (_, id) => change(id, { atUs: id >> 3 })));
  const all = await found(store);
  expect(all).toHaveLength(1_000);
  for (const size of [1, 7, 200, 201]) {
    const paged: number[] = [];
    for (let after: ChangePosition | null = null; ; ) {
      const next: Awaited<ReturnType<typeof page>> = await page(store, { after }, size);
      paged.push(...next.ids);
      after = next.next;
      if (!after) break;
    }
    expect(paged).toEqual(all);
  }
}, 60_000);

test("a search ends when it has gone through so many changes, says where, and goes on from there", async () => {
  const store = storeWith(
    ...Array.from({ length: CHANGES_SEARCHED_MAX + 1 }, (_, index) =>
      change(index, { by: index === 0 ? "anna" : "ops" }),
    ),
  );
  const first = await page(store, { changedBy: "anna" });
  expect(first).toMatchObject({ ids: [], stopped: true, next: { id: 1n } });
  expect(await page(store, { changedBy: "anna", after: first.next })).toEqual({ ids: [0], next: null });
});

test("a search ends with the time that is asked for", async () => {
  const store = storeWith(...Array.from({ length: 1_000 }, (_, index) => change(index)));
  await found(store, { fromUs: 9_950, changedBy: "nobody" });
  expect(store.reads).toEqual([{ of: "changes", max: 200, got: 200 }]);
});
