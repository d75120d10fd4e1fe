// Contract: locks by the status in their records, as listings show them.

import { describe, expect, test } from "vitest";
import type { LockRecord } from "../../../server/core/lock.ts";
import type { RecordPosition, RecordSelector } from "../../../server/storage/store.ts";
import { RECORD } from "../../support/claims.ts";
import { addClaims, changeLock, type FreshStore, lockId } from "../../support/store-fixture.ts";

export function contractOfByStatus(fresh: () => FreshStore): void {
  const put = async (name: string, status: string, more: Partial<LockRecord> = {}) => {
    const id = await lockId(fresh().store, name);
    await changeLock(fresh().store, id, (lock) => {
      lock.record = { ...RECORD, status, ...more };
    });
    return id;
  };
  /** All names, in order, read in pages of `max`. */
  async function names(selector: Partial<RecordSelector>, max: number): Promise<string[]> {
    const found: string[] = [];
    let after: RecordPosition | null = null;
    do {
      const asked = { prefix: "", statuses: [], isExhausted: false, ...selector };
      const { locks, next } = await fresh().store.byStatus(asked, after, max);
      expect(locks.length).toBeLessThanOrEqual(max);
      found.push(...locks.map(({ at }) => at.name));
      after = next;
    } while (after !== null);
    return found;
  }

  describe("locks by status", () => {
    test.for([1, 2, 3, 100])(
      "come by folder and status, and then as they are due, in pages of %i",
      async (max) => {
        await put("t/c", "failed", { notBeforeUs: 2_000_000 });
        await put("t/b", "failed", { notBeforeUs: 1_000_000 });
        await put("t/a", "failed", { notBeforeUs: 2_000_000 });
        await put("t/at any time", "failed");
        await put("t/z exhausted", "failed", { attemptsLeft: 0 });
        await put("t/y held", "failed");
        await addClaims(fresh().store, await lockId(fresh().store, "t/y held"), { state: "held" });
        await put("t/new", "new");
        await put("t/done", "done");
        await put("t/below/1", "failed");
        await put("t", "failed");
        await put("u/1", "failed");
        await lockId(fresh().store, "t/without a record");
        const failed = ["t/y held", "t/z exhausted", "t/at any time", "t/b", "t/a", "t/c"];
        expect(await names({ prefix: "t/", statuses: ["failed"] }, max)).toEqual([...failed, "t/below/1"]);
        expect(await names({ prefix: "t/", statuses: ["new", "failed"] }, max)).toEqual([
          ...failed,
          "t/new",
          "t/below/1",
        ]);
        expect(await names({ prefix: "t/a", statuses: ["failed"] }, max)).toEqual(["t/at any time", "t/a"]);
        expect(await names({ statuses: ["failed"] }, max)).toEqual(["t", ...failed, "t/below/1", "u/1"]);
        expect(await names({ prefix: "t/", isExhausted: true }, max)).toEqual(["t/z exhausted"]);
        expect(await names({ prefix: "t/", statuses: ["new"], isExhausted: true }, max)).toEqual([]);
        expect(await names({ prefix: "t/", statuses: ["nobody's"] }, max)).toEqual([]);
      },
    );

    test("of more folders than one page reads come in further pages", async () => {
      const folders = Array.from({ length: 70 }, (_, index) => `f${String(index).padStart(2, "0")}/`);
      for (const folder of folders) await put(`${folder}x`, "failed", { attemptsLeft: 1 });
      await put("f69/y", "failed", { attemptsLeft: 0 });
      expect(await names({ prefix: "f", statuses: ["failed"] }, 1_000)).toEqual([
        ...folders.slice(0, 69).map((folder) => `${folder}x`),
        ...["f69/y", "f69/x"],
      ]);
      // Pages without a lock lead on.
      expect(await names({ prefix: "f", isExhausted: true }, 1_000)).toEqual(["f69/y"]);
    });
  });
}
