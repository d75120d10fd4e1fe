// Contract: a record is read as it was written, is deleted with its lock, and is found when it is due. Locks without a
// record pay nothing for it.

import { describe, expect, test } from "vitest";
import type { Lock, LockRecord, RunEnd } from "../../../server/core/lock.ts";
import { IdleScan } from "../../../server/storage/rows/guard-scans.ts";
import { folderOf } from "../../../server/storage/rows/values.ts";
import { IDLE_SCAN_MAX } from "../../../server/storage/storage-bounds.ts";
import { FIRST_FREE } from "../../../server/storage/store.ts";
import { RECORD } from "../../support/claims.ts";
import {
  addClaims,
  BIG,
  changeLock,
  type FreshStore,
  load,
  lockId,
  NO_CHANGES,
  planned,
  raised,
  SECOND_US,
  transact,
} from "../../support/store-fixture.ts";

const HOUR_US = 3600 * SECOND_US;
const LATEST_US = Number.MAX_SAFE_INTEGER;

const FULL: LockRecord = {
  notBeforeUs: LATEST_US,
  attemptsLeft: 1_000_000,
  status: "🔒".repeat(15),
  version: BIG,
  attemptsSince: 2n ** 63n - 1n,
  principal: `token:${"🔒".repeat(62)}a`,
  lastRun: {
    owner: `${"🔒".repeat(63)}abc`,
    fencingToken: BIG + 1n,
    grantedAtUs: LATEST_US - 2,
    endedAtUs: LATEST_US - 3,
    end: "force_released",
    status: "\0'\"\\ ".repeat(12),
  },
  lastSuccess: {
    owner: `${"🔒".repeat(63)}xyz`,
    fencingToken: BIG - 1n,
    grantedAtUs: LATEST_US - 5,
    endedAtUs: LATEST_US - 4,
    end: "released",
    status: "🔒".repeat(15),
  },
  failures: 2 ** 32 - 1,
};

export function contractOfRecords(fresh: () => FreshStore): void {
  const remember = (id: bigint, record: LockRecord | null) =>
    changeLock(fresh().store, id, (lock) => {
      lock.record = record;
    });

  describe("a record", () => {
    test.for([
      ["filled to its brim", RECORD, FULL],
      ["emptied", FULL, RECORD],
      ["taken away", FULL, null],
      ["made anew", null, FULL],
    ] as const)("can be %s, and every reader reads it as it was written", async ([, from, to]) => {
      const { store, other } = fresh();
      const id = await lockId(store, "etl/a");
      await remember(id, from);
      for (const by of [store, other ?? store])
        expect((await load(by, { locks: planned(id) })).locks.get(id)?.record).toEqual(from);
      await remember(id, to);
      for (const by of [store, other ?? store]) {
        expect((await by.view("etl/a", 0))?.lock.record).toEqual(to);
        expect((await by.views([id], 1)).map(({ lock }) => lock.record)).toEqual([to]);
        expect((await by.list({ prefix: "", afterName: null, max: 1, which: "all" })).locks).toMatchObject([
          { id, hasRecord: to !== null },
        ]);
        expect((await load(by, { locks: planned(id) })).locks.get(id)?.record).toEqual(to);
      }
    });

    test("is counted for the principal that it belongs to, until it is deleted", async () => {
      const { store, other } = fresh();
      const ids = [...(await store.resolve(["a", "b", "c", "d", "no record"])).values()];
      const [a, b, c, d] = ids as [bigint, bigint, bigint, bigint];
      const of = (principal: string) => ({ ...RECORD, principal });
      await remember(a, of("token:x"));
      await remember(b, of("token:x"));
      await remember(c, of("token:y"));
      await remember(d, of(""));
      const counts = async (by = store) =>
        Object.fromEntries(
          (await by.recordsOfPrincipals()).map(({ principal, records }) => [principal, records]),
        );
      for (const by of [store, other ?? store])
        expect(await counts(by)).toEqual({ "token:x": 2, "token:y": 1 });
      await remember(a, { ...of("token:x"), status: "changed", version: 2n });
      expect(await counts()).toEqual({ "token:x": 2, "token:y": 1 });
      await remember(b, null);
      await remember(c, of("token:z"));
      expect(await counts()).toEqual({ "token:x": 1, "token:z": 1 });
    });

    test("stores every way in which a run can end", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      for (const end of ["released", "expired", "force_released"] satisfies RunEnd[]) {
        const lastRun = { ...(FULL.lastRun as NonNullable<LockRecord["lastRun"]>), end };
        await remember(id, { ...FULL, lastRun });
        expect((await store.view("a", 0))?.lock.record?.lastRun).toEqual(lastRun);
      }
    });

    test("is added, changed, kept and deleted at many locks in one transaction, each independently", async () => {
      const { store, other } = fresh();
      const names = Array.from({ length: 150 }, (_, index) => `n/${1000 + index}`);
      const ids = await store.resolve(names);
      const locks = planned(...[...ids.values()].sort((a, b) => (a < b ? -1 : 1)));
      const version = (round: number, lock: Lock) => BigInt(round * 1_000) + lock.nextTicket + 1n;
      // By number and round: no record, one that changes in its own round, one that stays, and one that comes and goes.
      const recordOf = (lock: Lock, round: number): LockRecord | null => {
        const number = Number(lock.name.slice(2));
        if (number % 4 === 0 || (number % 4 === 3 && round % 2 === 0)) return null;
        if (number % 4 === 2 && round > 1) return lock.record;
        const status = `${round}`.repeat(number % 3);
        return { ...(number % 2 === 0 ? RECORD : FULL), status, version: version(round, lock) };
      };
      for (let round = 1; round <= 4; round++) {
        const written = new Map<bigint, LockRecord | null>();
        await transact(round === 3 && other ? other : store, { locks }, (loaded) => {
          for (const lock of loaded.locks.values()) {
            lock.record = recordOf(lock, round);
            written.set(lock.id, lock.record);
          }
          return { ...NO_CHANGES, locks: raised(loaded) };
        });
        const read = await load(store, { locks });
        expect(new Map([...read.locks].map(([id, { record }]) => [id, record]))).toEqual(written);
      }
      expect(await store.checkInvariants(10)).toEqual(
        expect.not.arrayContaining([expect.objectContaining({ check: "no_guard" })]),
      );
    });

    test("is not written if the transaction fails", async () => {
      const { store } = fresh();
      const id = await lockId(store, "a");
      await remember(id, RECORD);
      const [claim] = await addClaims(store, id, {});
      const failing = transact(store, { locks: planned(id) }, (loaded) => {
        for (const lock of loaded.locks.values()) lock.record = FULL;
        if (!claim) throw new Error("There is no claim to add again.");
        return { ...NO_CHANGES, locks: raised(loaded), added: [claim] };
      });
      await expect(failing).rejects.toThrow();
      expect((await store.view("a", 0))?.lock.record).toEqual(RECORD);
      expect((await load(store, { locks: planned(id) })).locks.get(id)?.record).toEqual(RECORD);
    });

    test("makes its lock one to capture exactly while nobody holds it or waits for it", async () => {
      const { store } = fresh();
      const id = await lockId(store, "task/a");
      await remember(id, RECORD);
      const task = { kind: "prefix", prefix: "task/", statuses: [], paused: [] } as const;
      for (const counted of ["1 0", "0 0", "0 1", "0 0", "0 1", "1 0", "2 0", "1 1", "0 1", "0 0"]) {
        const [holders = 0, waiting = 0] = counted.split(" ").map(Number);
        await transact(store, { locks: planned(id) }, (loaded) => ({
          ...NO_CHANGES,
          locks: raised(loaded).map((lock) => Object.assign(lock, { holders, waiting })),
        }));
        const { locks } = await store.freeLocks(task, FIRST_FREE, 9);
        expect(locks.map((lock) => lock.id)).toEqual(counted === "0 0" ? [id] : []);
      }
    });

    test("protects its lock from deletion, until the record is deleted", async () => {
      const { store, tamper } = fresh();
      const id = await lockId(store, "a");
      await remember(id, RECORD);
      await tamper("UPDATE rowlock_lock SET decided_at = 1");
      expect(await store.purgeLocks(HOUR_US, 10)).toBe(0);
      await remember(id, null);
      await tamper("UPDATE rowlock_lock SET decided_at = 1");
      expect(await store.purgeLocks(HOUR_US, 10)).toBe(1);
    });

    test("does not hide idle locks from deletion, however many records there are", async () => {
      const { store, tamper } = fresh();
      const names = Array.from({ length: 60 }, (_, index) => `n/${1000 + index}`);
      const ids = [...(await store.resolve(names)).values()].sort((a, b) => (a < b ? -1 : 1));
      await transact(store, { locks: planned(...ids) }, (loaded) => {
        for (const lock of loaded.locks.values())
          if (Number(lock.name.slice(2)) % 20 !== 0) lock.record = RECORD;
        return { ...NO_CHANGES, locks: raised(loaded) };
      });
      await tamper("UPDATE rowlock_lock SET decided_at = 1 WHERE id > 0");
      expect(await store.purgeLocks(HOUR_US, 2)).toBe(2);
      expect(await store.purgeLocks(HOUR_US, 2)).toBe(1);
      expect(await store.purgeLocks(HOUR_US, 2)).toBe(0);
      expect((await store.find(names)).size).toBe(57);
    });
  });

  describe("the wake-up of a lock", () => {
    const wake = (id: bigint, wakesAtUs: number | null) =>
      changeLock(fresh().store, id, (lock) => Object.assign(lock, { wakesAtUs }));

    test("lies within the bound by which a search finds the lock, whichever locks are written with it", async () => {
      const { store } = fresh();
      const ids = [...(await store.resolve(["woken", "waits", "later", "held"])).values()];
      const [woken, waits, later, held] = ids as [bigint, bigint, bigint, bigint];
      await addClaims(store, held, { state: "held", dueInUs: HOUR_US });
      for (const id of [woken, waits, later])
        await addClaims(store, id, { state: "held", dueInUs: HOUR_US }, {});
      const { nowUs } = await load(store, {});
      await transact(store, { locks: planned(...ids.toSorted((a, b) => (a < b ? -1 : 1))) }, (loaded) => {
        Object.assign(loaded.locks.get(woken) as Lock, { wakesAtUs: nowUs - 1 });
        Object.assign(loaded.locks.get(later) as Lock, { wakesAtUs: nowUs + HOUR_US });
        return { ...NO_CHANGES, locks: raised(loaded) };
      });
      expect((await store.dueLocks(0n, 10)).lockIds).toEqual([woken]);
      expect((await store.checkInvariants(100)).filter(({ check }) => check === "wakes")).toEqual([]);
      await wake(later, nowUs - 1);
      await wake(woken, nowUs + HOUR_US);
      expect((await store.dueLocks(0n, 10)).lockIds).toEqual([later]);
      expect((await store.checkInvariants(100)).filter(({ check }) => check === "wakes")).toEqual([]);
    });

    test("makes it due when it has come, once, and not before", async () => {
      const { store } = fresh();
      const [past, ahead, none, both] = [
        await lockId(store, "past"),
        await lockId(store, "ahead"),
        await lockId(store, "none"),
        await lockId(store, "both"),
      ];
      const { nowUs } = await load(store, {});
      const ids = [past, ahead, none, both];
      for (const id of [past, ahead, none]) await addClaims(store, id, { dueInUs: 3 * HOUR_US });
      await addClaims(store, both, { state: "held", dueInUs: -1 }, { dueInUs: -1 });
      await wake(past, nowUs - 1);
      await wake(ahead, nowUs + HOUR_US);
      await wake(both, nowUs - 1);
      expect((await store.dueLocks(0n, 10)).lockIds).toEqual([past, both]);
      expect((await store.dueLocks(0n, 1)).lockIds).toEqual([past]);
      expect((await store.dueLocks(past, 1)).lockIds).toEqual([both]);
      const { revisions, due, dueSoon } = await store.poll(ids, 2 * HOUR_US);
      expect([...due].sort()).toEqual([past, both]);
      expect([...revisions.keys()].sort()).toEqual([...ids].sort());
      expect([...dueSoon.keys()]).toEqual([ahead]);
      expect(dueSoon.get(ahead)).toBeGreaterThan(0);
      expect(dueSoon.get(ahead)).toBeLessThanOrEqual(HOUR_US);
      expect((await store.poll(ids, SECOND_US)).dueSoon.size).toBe(0);
      await wake(past, null);
      expect((await store.poll([past], SECOND_US)).due).toEqual([]);
      expect((await store.dueLocks(0n, 10)).lockIds).toEqual([both]);
    });
  });

  test("the search for idle locks reaches each of them in bounded steps", () => {
    const scan = new IdleScan();
    // Many rows of the same time, as for locks that were created together.
    const rows = Array.from({ length: IDLE_SCAN_MAX * 3 + 10 }, (_, index) => ({
      id: BigInt(index + 1),
      decidedAtUs: Math.floor(index / (IDLE_SCAN_MAX * 1.5)),
      isIdle: index % (IDLE_SCAN_MAX * 0.7) === 5,
    }));
    const step = () => {
      const { decidedAtUs, id } = scan.after;
      const isBehind = (row: (typeof rows)[number]) =>
        row.decidedAtUs > decidedAtUs || (row.decidedAtUs === decidedAtUs && row.id > id);
      return scan.take(rows.filter(isBehind).slice(0, IDLE_SCAN_MAX), 1).map((row) => row.id);
    };
    const idle = rows.filter(({ isIdle }) => isIdle).map(({ id }) => id);
    // A round takes one step for each idle row, and one step that finds no more.
    const round = () => Array.from({ length: idle.length + 1 }, step).flat();
    expect([round(), round()]).toEqual([idle, idle]);
  });

  test("the folder of a name goes up to its last slash", () => {
    const folders = ["a", "etl/a", "etl/", "/", "a//b", "é/ü"].map(folderOf);
    expect(folders).toEqual(["", "etl/", "etl/", "/", "a//", "é/"]);
  });
}
