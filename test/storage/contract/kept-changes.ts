// Changes that people made: written with a transaction or alone, read newest first, kept for a time and up to a number.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { NotedChange } from "../../../server/core/noted-change.ts";
import type { KeptChange, Store } from "../../../server/storage/store.ts";
import {
  addClaims,
  type FreshStore,
  load,
  lockId,
  NO_CHANGES,
  planned,
  raised,
  SECOND_US,
  transact,
} from "../../support/store-fixture.ts";

const CHANGE: NotedChange = {
  kind: "limit",
  target: "etl/load",
  isPattern: false,
  by: "ops",
  from: "1",
  to: "2",
  reason: "more workers",
};
/** As long as each can be. */
const LONGEST: NotedChange = {
  kind: "forced_release",
  target: `${"ü".repeat(127)}*`,
  isPattern: true,
  by: "é".repeat(127),
  from: "x".repeat(4_096),
  to: "y".repeat(4_096),
  reason: "ø".repeat(127),
};

const targetsOf = (changes: readonly KeptChange[]) => changes.map(({ target }) => target);

/** Notes one change after the other, each at a time of its own. */
async function note(store: Store, ...targets: string[]): Promise<void> {
  for (const target of targets) {
    await store.noteChange({ ...CHANGE, target });
    const { nowUs } = await load(store, {});
    for (let later = nowUs; later <= nowUs + 2_000; ) later = (await load(store, {})).nowUs;
  }
}

export function contractOfKeptChanges(fresh: () => FreshStore): void {
  describe("changes", () => {
    test("are kept as the transaction that makes them decides, at the time of its decision, or not at all", async () => {
      const { store } = fresh();
      const id = await lockId(store, "etl/load");
      let atUs = 0;
      await transact(store, { locks: planned(id) }, (loaded) => {
        atUs = loaded.nowUs;
        return { ...NO_CHANGES, locks: raised(loaded), noted: [CHANGE, LONGEST] };
      });
      const kept = await store.changes(null, null, 10);
      expect(kept).toHaveLength(2);
      expect(kept).toEqual(
        expect.arrayContaining([CHANGE, LONGEST].map((change) => expect.objectContaining(change))),
      );
      // Those of one step of a coarse clock are a microsecond apart.
      for (const change of kept) expect(change.atUs - atUs).toBeOneOf([0, 1]);
      expect(kept[0]?.id).not.toBe(kept[1]?.id);
      const [claim] = await addClaims(store, id, { state: "ended" });
      const failing = transact(store, { locks: planned(id) }, (loaded) => ({
        ...NO_CHANGES,
        locks: raised(loaded),
        // Its request id is taken.
        added: [{ ...(claim as Claim), ticketNumber: 99n }],
        noted: [CHANGE],
      }));
      await expect(failing).rejects.toMatchObject({ reason: "duplicate_request" });
      expect(await store.changes(null, null, 10)).toEqual(kept);
    });

    test("that are made one after the other are listed in that order, even within a millisecond", async () => {
      const { store } = fresh();
      const id = await lockId(store, "etl/load");
      const targets = Array.from({ length: 20 }, (_, nth) => `made/${nth}`);
      for (const target of targets)
        await transact(store, { locks: planned(id) }, (loaded) => ({
          ...NO_CHANGES,
          locks: raised(loaded),
          noted: [{ ...CHANGE, target }],
        }));
      const kept = await store.changes(null, null, 20);
      expect(kept.map(({ target }) => target)).toEqual(targets.toReversed());
    });

    test("of limits by pattern are kept with the rule", async () => {
      const { store } = fresh();
      const rule = {
        prefix: "etl/",
        limit: 3,
        rate: null,
        queueRules: null,
        version: 1n,
        reason: "",
        changeMark: 5n,
      };
      await transact(store, { rule: { prefix: "etl/", afterLockId: 0n, rulesOnly: true } }, () => ({
        ...{ ...NO_CHANGES, rule },
        noted: [{ ...CHANGE, target: "etl/*", isPattern: true }],
      }));
      expect(await store.limitRules()).toEqual([rule]);
      expect(await store.changes(["etl/*"], null, 10)).toMatchObject([{ target: "etl/*", isPattern: true }]);
    });

    test("that no transaction of a lock makes are kept with the present time", async () => {
      const { store } = fresh();
      const before = await load(store, {});
      await store.noteChange({ ...CHANGE, kind: "policy", target: "" });
      const after = await load(store, {});
      const [kept] = await store.changes(null, null, 10);
      expect(kept).toMatchObject({ ...CHANGE, kind: "policy", target: "" });
      // SQLite's clock has steps of a millisecond.
      expect(kept?.atUs).toBeGreaterThanOrEqual(before.atLeastUs - 1_000);
      expect(kept?.atUs).toBeLessThanOrEqual(after.nowUs + 1_000);
    });

    test("are read newest first, of some targets or of all, and no page loses or repeats one", async () => {
      const { store, tamper } = fresh();
      expect(await store.changes(null, null, 5)).toEqual([]);
      await note(store, "a", "b", "a", "c", "b", "a");
      expect(targetsOf(await store.changes(null, null, 10))).toEqual(["a", "b", "c", "a", "b", "a"]);
      expect(targetsOf(await store.changes(["b", "c", "b", "d"], null, 10))).toEqual(["b", "c", "b"]);
      expect(await store.changes([], null, 10)).toEqual([]);
      // Two of one instant, at each page's end.
      await tamper("UPDATE rowlock_change SET changed_at = 5");
      for (const targets of [null, ["a", "b", "c"]]) {
        const all = await store.changes(targets, null, 10);
        const paged: KeptChange[] = [];
        for (let page = await store.changes(targets, null, 2); page.length > 0; ) {
          paged.push(...page);
          page = await store.changes(targets, page.at(-1) as KeptChange, 2);
        }
        expect(all).toHaveLength(6);
        expect(paged).toEqual(all);
      }
    });

    test("are deleted when they are old, and the oldest ones when there are too many", async () => {
      const { store } = fresh();
      await note(store, "a", "b", "c", "d", "e", "f");
      const kept = (await store.changes(null, null, 10)).reverse();
      const second = kept[2] as KeptChange;
      expect(await store.purgeChanges(second.atUs, 100, 1)).toBe(1);
      expect(await store.purgeChanges(second.atUs, 100, 10)).toBe(1);
      expect(await store.purgeChanges(second.atUs, 100, 10)).toBe(0);
      const { changesUs: beganUs } = await store.historyFrom();
      expect(beganUs).toBeLessThan((kept[0] as KeptChange).atUs + SECOND_US);
      expect(await store.purgeChanges(0, 3, 10)).toBe(1);
      expect(targetsOf(await store.changes(null, null, 10))).toEqual(["f", "e", "d"]);
      // History begins after what went before its time.
      expect((await store.historyFrom()).changesUs).toBe(Math.max(beganUs, second.atUs + 1));
      expect(await store.purgeChanges(second.atUs - 3_600 * SECOND_US, 3, 10)).toBe(0);
    });
  });
}
