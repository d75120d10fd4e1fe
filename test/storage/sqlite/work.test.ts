// How many statements SQLite runs for a call, which durations its observer sees, and what happens after a failed
// COMMIT.

import { existsSync, rmSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { runPending, sqliteSchema } from "../../../server/storage/migrate/schema.ts";
import { durabilityOf, openStore } from "../../../server/storage/open.ts";
import { openSqliteFile } from "../../../server/storage/sqlite/file.ts";
import { sqliteStore } from "../../../server/storage/sqlite/sqlite-store.ts";
import { CACHED_CLAIMS_OF_LOCK } from "../../../server/storage/storage-bounds.ts";
import type { Store, StoreObserver } from "../../../server/storage/store.ts";
import { RECORD } from "../../support/claims.ts";
import {
  addClaims,
  changeLock,
  load,
  lockId,
  NO_CHANGES,
  NO_PLAN,
  planned,
  SECOND_US,
  transact,
} from "../../support/store-fixture.ts";

let nowUs: number;
let database: DatabaseSync;
let store: Store;
/** The name of each statement that was run. */
let ran: string[];
const timings: number[] = [];
/** The error that running a statement throws, by statement. */
const failures = new Map<string, Error>();

/** The database, with statements that can be made to fail. */
function failing(real: DatabaseSync): DatabaseSync {
  return new Proxy(real, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name !== "prepare") return value.bind(target);
      return (sql: string) => {
        const statement = target.prepare(sql);
        return {
          all: statement.all.bind(statement),
          get: statement.get.bind(statement),
          setReturnArrays: statement.setReturnArrays.bind(statement),
          run: (...values: never[]) => {
            const failure = failures.get(sql);
            if (failure) throw failure;
            return statement.run(...values);
          },
        };
      };
    },
  });
}

beforeEach(async () => {
  nowUs = 1_900_000_000 * SECOND_US;
  ran = [];
  failures.clear();
  timings.length = 0;
  database = openSqliteFile(":memory:");
  await runPending(sqliteSchema(database));
  store = openOn();
});

function openOn(cachedLocks?: number): Store {
  const observer: StoreObserver = {
    statement: (name, seconds) => {
      ran.push(name);
      timings.push(seconds);
    },
    transaction: (seconds) => void timings.push(seconds),
    connection() {},
  };
  return sqliteStore(failing(database), {
    path: "/data/rowlock.db",
    clock: () => nowUs,
    observer,
    cachedLocks,
  });
}
afterEach(async () => {
  vi.restoreAllMocks();
  await store.close();
});

/** The statements run during `work`. */
async function ranIn(work: () => Promise<unknown>): Promise<string[]> {
  ran.length = 0;
  await work();
  return [...ran];
}

describe("no work is spent on", () => {
  test("claims of a lock without holders or waiters, or if none are to be shown", async () => {
    const [idle, busy] = [await lockId(store, "idle"), await lockId(store, "busy")];
    await addClaims(store, busy, { state: "held" }, {});
    expect(await ranIn(() => store.views([idle], 10))).toEqual(["views"]);
    expect(await ranIn(() => store.views([busy], 0))).toEqual(["views"]);
    expect(await ranIn(() => store.views([busy], 1))).toEqual(["views", "shown_claims"]);
    await addClaims(store, idle, {});
    expect(await ranIn(() => store.view("idle", 1))).toEqual(["view", "shown_claims"]);
  });

  test("the queue of a lock without waiters, and what is due if nothing is decided", async () => {
    const [idle, busy] = [await lockId(store, "idle"), await lockId(store, "busy")];
    await addClaims(store, busy, {});
    const decided = (...ids: bigint[]) => ranIn(() => load(store, { locks: planned(...ids) }));
    expect(await decided(idle)).not.toContain("waiters");
    expect(await decided(idle)).not.toContain("due_claims");
    expect(await decided(busy)).toContain("waiters");
    expect(await ranIn(() => transact(store, {}, () => NO_CHANGES))).toEqual(["begin", "commit"]);
    const late = await lockId(store, "late");
    await addClaims(store, late, { state: "held", dueInUs: 1 });
    nowUs += SECOND_US;
    expect(await decided(late)).toContain("due_claims");
  });

  test("a name that exists already, which needs no transaction", async () => {
    await lockId(store, "a");
    expect(await ranIn(() => store.resolve(["a", "a"]))).toEqual(["lock_id", "lock_id"]);
  });

  test("a missing record, which needs no deletion", async () => {
    const id = await lockId(store, "a");
    const becomes = (record: typeof RECORD | null) =>
      ranIn(() =>
        changeLock(store, id, (lock) => {
          lock.record = record;
        }),
      );
    expect(await becomes(null)).not.toContain("remove_record");
    expect(await becomes(RECORD)).toContain("write_record");
    expect(await becomes(null)).toContain("remove_record");
  });

  test("a statement that was compiled before", async () => {
    const prepare = vi.spyOn(database, "prepare");
    for (let times = 0; times < 3; times++) await store.view("a", 1);
    expect(prepare).toHaveBeenCalledTimes(1);
  });
});

describe("a lock that this process has written", () => {
  const decided = (id: bigint, plan = {}) => ranIn(() => load(store, { locks: planned(id), ...plan }));
  const FROM_MEMORY = ["begin", "write_lock", "commit"];

  async function knownLock(...claims: Parameters<typeof addClaims>[2][]): Promise<bigint> {
    const id = await lockId(store, "known");
    await addClaims(store, id, ...claims);
    for (let times = 0; times < 2; times++) await load(store, { locks: planned(id) });
    return id;
  }

  test("is not read again, nor are its holders and waiters", async () => {
    const id = await knownLock({ state: "held" }, {});
    const { claims } = await store.holders(id, 1);
    expect(await decided(id, { claims, holdersOf: [id] })).toEqual(FROM_MEMORY);
    const known = await load(store, { locks: planned(id), claims });
    expect(known.claims).toEqual(claims);
    expect(known.locks.get(id)).toMatchObject({ holders: 1, waiting: 1 });
    expect(known.queues.get(id)?.head).toHaveLength(1);
  });

  test("is read for a request id that none of its live claims has", async () => {
    const id = await knownLock({ state: "ended", requestId: "ended before" });
    expect(await decided(id, { requestIds: ["new"] })).toEqual([
      ...["begin", "request", "write_lock", "commit"],
    ]);
    const { claims } = await load(store, { locks: planned(id), requestIds: ["ended before"] });
    expect(claims).toMatchObject([{ state: "ended", requestId: "ended before" }]);
    const byNumber = { locks: planned(id), claims: [{ lockId: id, ticketNumber: 1n }] };
    expect((await load(store, byNumber)).claims).toEqual(claims);
  });

  test("keeps a place that was extended up to the end of its wait, a lease and other places as they were", async () => {
    const [ends, waitUntilUs] = [{ dueInUs: 10 * SECOND_US }, nowUs + 30 * SECOND_US];
    const id = await knownLock({ ...ends, state: "held" }, { ...ends, waitUntilUs }, ends);
    const keys = [1n, 2n, 3n].map((ticketNumber) => ({ lockId: id, ticketNumber }));
    const [lease, place, other] = (await store.claims(keys)).claims as [Claim, Claim, Claim];
    await store.heartbeat(7n, [lease, place, { ...other, secret: "another" }], 60 * SECOND_US);
    const locks = [{ id, heads: 9, likelyQueue: true }];
    const { claims, queues } = await load(store, { locks });
    expect(await decided(id)).toEqual(FROM_MEMORY);
    expect(claims).toEqual([lease]);
    expect(queues.get(id)?.head).toEqual([{ ...place, replica: 7n, deadlineUs: waitUntilUs }, other]);
  });

  test("keeps a place that was extended, and ends one that ran out", async () => {
    const id = await knownLock({ dueInUs: 5 * SECOND_US });
    const places = (await store.claims([{ lockId: id, ticketNumber: 1n }])).claims;
    await store.heartbeat(7n, places, 60 * SECOND_US);
    nowUs += 10 * SECOND_US;
    expect(await decided(id)).toEqual(FROM_MEMORY);
    expect((await load(store, { locks: planned(id) })).queues.get(id)?.head).toMatchObject([
      { replica: 7n, deadlineUs: nowUs + 50 * SECOND_US },
    ]);
    nowUs += 60 * SECOND_US;
    expect((await load(store, { locks: planned(id) })).claims).toMatchObject([{ ticketNumber: 1n }]);
  });

  test("is read again after a transaction that failed", async () => {
    const id = await knownLock({ state: "held" });
    failures.set("COMMIT", Object.assign(new Error("as SQLite says it"), { errcode: 13 }));
    await expect(
      store.transact({ ...NO_PLAN, locks: planned(id) }, (loaded) => {
        for (const lock of loaded.locks.values()) lock.limit = 9;
        return { ...NO_CHANGES, locks: [...loaded.locks.values()] };
      }),
    ).rejects.toMatchObject({ reason: "full" });
    failures.clear();
    expect(await decided(id)).toContain("lock");
    expect((await load(store, { locks: planned(id) })).locks.get(id)?.limit).toBeNull();
  });

  test("is unknown once it was removed", async () => {
    const id = await knownLock();
    nowUs += 10 * SECOND_US;
    expect(await store.purgeLocks(SECOND_US, 10)).toBe(1);
    expect((await load(store, { locks: planned(id) })).locks.size).toBe(0);
  });

  test.each([
    ["as many others", [1, 1, 1], true],
    ["more others", [1, 1, 1, 1], false],
    ["others with more claims than are kept", [4 * CACHED_CLAIMS_OF_LOCK], false],
  ])("is known or not after %s were written: %j, %s", async (_, others, isKnown) => {
    store = openOn(4);
    const id = await knownLock({ state: "held" });
    for (const [at, count] of others.entries()) {
      const other = await lockId(store, `other ${at}`);
      await addClaims(store, other, ...Array.from({ length: count }, () => ({})));
      for (let times = 0; times < 2; times++) await load(store, { locks: planned(other) });
    }
    expect(!(await decided(id)).includes("lock")).toBe(isKnown);
  });
});

test("statements and transactions are timed in seconds", async () => {
  let nowMs = 5_000_000;
  vi.spyOn(performance, "now").mockImplementation(() => {
    nowMs += 1;
    return nowMs;
  });
  await store.view("a", 1);
  expect(timings).toEqual([0.001]);
  timings.length = 0;
  await store.transact(NO_PLAN, () => NO_CHANGES);
  // The last timing is of the whole transaction, which contains each of the others.
  const [whole = 0, ...each] = timings.toReversed();
  expect(each).toEqual(each.map(() => 0.001));
  expect(whole).toBeGreaterThan(0.001 * each.length);
  expect(whole).toBeLessThan(0.1);
});

describe("a COMMIT that fails", () => {
  const failed = (errcode: number) => Object.assign(new Error("as SQLite says it"), { errcode });

  test("because its log could not be written leaves its outcome open, and the next transaction works", async () => {
    failures.set("COMMIT", failed(10));
    const id = await lockId(store, "a").catch((error: unknown) => error);
    expect(id).toMatchObject({ kind: "unknown_outcome", reason: "io_error" });
    expect(database.isTransaction).toBe(false);
    failures.clear();
    expect(await lockId(store, "a")).toEqual(expect.any(BigInt));
  });
});

test("the pause after a fail-over is reported as its rest, and is absent when it is over", async () => {
  const note = { epochMin: 0n, pauseUsMin: 60 * SECOND_US, pauseUsMax: 3_600 * SECOND_US };
  expect(await store.failOver({ ...note, seenEpoch: 0n })).toBe(60 * SECOND_US);
  nowUs += 20 * SECOND_US;
  // The fail-over is already recorded.
  expect(await store.failOver({ ...note, seenEpoch: 0n })).toBe(40 * SECOND_US);
  nowUs += 50 * SECOND_US;
  expect(await store.failOver({ ...note, seenEpoch: 0n })).toBe(0);
});

describe("a database", () => {
  test("in memory makes no file", async () => {
    const memory = await openStore("sqlite::memory:");
    await memory.close();
    const isThere = existsSync(":memory:");
    rmSync(":memory:", { force: true });
    expect(isThere).toBe(false);
  });

  test("in a file is durable, and one in memory is not, before either is opened", async () => {
    expect(await durabilityOf("sqlite:/nowhere/rowlock.db")).toEqual([]);
    expect(await durabilityOf("sqlite::memory:")).toMatchObject([{ severity: "warning" }]);
    expect(await store.checkDurability()).toEqual([]);
  });
});
