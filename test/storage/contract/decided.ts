// Contract: recent decisions, as the watches of locks read them.

import { describe, expect, test } from "vitest";
import type { DecidedFrom, DecidedLock } from "../../../server/storage/store.ts";
import { DECIDED_AT_STEP_US } from "../../../server/storage/store.ts";
import type { FreshStore } from "../../support/store-fixture.ts";
import { addClaims, changeLock, lockId, SECOND_US } from "../../support/store-fixture.ts";

const FROM_THE_START: DecidedFrom = { atUs: 0, afterLockId: 0n };
const decidedAt = "UPDATE rowlock_lock SET decided_at = ? WHERE id = ?";

export function contractOfDecided(fresh: () => FreshStore): void {
  const page = (from: DecidedFrom, untilUs: number | null = null, max = 100) =>
    fresh().store.decidedSince(from, untilUs, max);
  /** Reads all pages, with at most `max` locks each. */
  const pages = async (from: DecidedFrom, max: number) => {
    const read: DecidedLock[] = [];
    for (let next: DecidedFrom | null = from; next; ) {
      const found = await page(next, null, max);
      expect(found.locks.length).toBeLessThanOrEqual(max);
      read.push(...found.locks);
      next = found.next;
    }
    return read;
  };
  const names = (locks: readonly DecidedLock[]) => locks.map(({ name }) => name);

  describe("recent decisions", () => {
    test("are read in the order of time, from one time up to another", async () => {
      const { store, tamper } = fresh();
      const ids = await store.resolve(["a", "b", "c", "d"]);
      const at = { a: 40, b: 10, c: 30, d: 20 };
      for (const [name, us] of Object.entries(at)) await tamper(decidedAt, us, ids.get(name) as bigint);
      expect(names((await page(FROM_THE_START)).locks)).toEqual(["b", "d", "c", "a"]);
      expect(names((await page({ atUs: 20, afterLockId: 0n })).locks)).toEqual(["d", "c", "a"]);
      expect(names((await page({ atUs: 21, afterLockId: 0n }, 30)).locks)).toEqual(["c"]);
      const d = ids.get("d") as bigint;
      expect(names((await page({ atUs: 20, afterLockId: d })).locks)).toEqual(["c", "a"]);
    });

    test("are read page by page without gap or repetition, even if many have the same time", async () => {
      const { store, tamper } = fresh();
      const all = Array.from({ length: 23 }, (_, index) => `lock ${10 + index}`);
      const ids = await store.resolve(all);
      for (const [index, name] of all.entries())
        await tamper(decidedAt, 100 + Math.floor(index / 9), ids.get(name) as bigint);
      for (const max of [1, 2, 9, 22, 23, 24])
        expect(names(await pages(FROM_THE_START, max)).sort()).toEqual(all);
    });

    test("leave out those in the future, unless asked for", async () => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      const { nowUs } = await page(FROM_THE_START);
      await tamper(decidedAt, nowUs + 3_600 * SECOND_US, id);
      expect((await page(FROM_THE_START)).locks).toEqual([]);
      const ahead = await page({ atUs: nowUs, afterLockId: 0n }, Number.MAX_SAFE_INTEGER);
      expect(ahead.locks).toMatchObject([{ id }]);
    });

    test("contain what shows a change, and a lock that was decided about again", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      const { nowUs } = await page(FROM_THE_START);
      await addClaims(store, id, { state: "held" }, {});
      const from = { atUs: nowUs - DECIDED_AT_STEP_US - SECOND_US, afterLockId: 0n };
      const [first] = (await page(from)).locks;
      expect(first).toMatchObject({ id, name: "a", holders: 1, waiting: 1 });
      const changed = await changeLock(store, id, (lock) => {
        lock.limit = 7;
      });
      const [again] = (await page(from)).locks;
      expect(again?.revision).toBe(changed.revision);
      expect(again?.revision).not.toBe(first?.revision);
    });

    test("come with the clock and the epoch", async () => {
      const { store, tamper } = fresh();
      const before = await page(FROM_THE_START);
      expect(before.nowUs).toBeGreaterThan(SECOND_US);
      await tamper("UPDATE rowlock_meta SET epoch = 9");
      const after = await store.decidedSince(FROM_THE_START, null, 1);
      expect(after.epoch).toBe(9n);
      expect(after.nowUs).toBeGreaterThanOrEqual(before.nowUs);
    });
  });
}
