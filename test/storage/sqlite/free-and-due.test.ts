// What is free and due on SQLite, which uses the system's clock in whole milliseconds: nothing counts as due that may
// not be. The test sets the system's clock.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openStore } from "../../../server/storage/open.ts";
import type { Store } from "../../../server/storage/store.ts";
import { RECORD } from "../../support/claims.ts";
import { addClaims, changeLock, lockId, SECOND_US } from "../../support/store-fixture.ts";

const START_MS = 1_900_000_000_000;
const START_US = START_MS * 1_000;
const F = { folder: "f/", status: "" };
const G = { folder: "g/", status: "" };

let store: Store;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: START_MS });
  store = await openStore("sqlite::memory:");
});
afterEach(async () => {
  await store.close();
  vi.useRealTimers();
});

async function due(name: string, notBeforeUs: number): Promise<void> {
  await changeLock(store, await lockId(store, name), (lock) => {
    lock.record = { ...RECORD, notBeforeUs };
  });
}
const namesOf = async () =>
  (await store.freeLocks([F], null, { prefix: "", paused: [] }, 9)).locks.map(({ name }) => name);

describe("in the millisecond in which it is due", () => {
  test("a lock is not free yet, and is so a millisecond later", async () => {
    await due("f/a", START_US);
    expect(await namesOf()).toEqual([]);
    expect(await store.nextDueIn([F])).toBe(0);
    vi.setSystemTime(START_MS + 1);
    expect(await namesOf()).toEqual(["f/a"]);
    expect(await store.nextDueIn([F])).toBeNull();
  });

  test("a lease that is watched has not ended yet, and has a millisecond later", async () => {
    const id = await lockId(store, "a");
    await addClaims(store, id, { state: "held", deadlineUs: START_US });
    const soon = await store.watch([id], SECOND_US);
    expect([soon.due, soon.dueSoon.get(id)]).toEqual([[], 1_000]);
    vi.setSystemTime(START_MS + 1);
    expect((await store.watch([id], SECOND_US)).due).toEqual([id]);
  });
});

test("the next lock that is due is the earliest of all groups that are asked for", async () => {
  await due("f/a", START_US + 5 * SECOND_US);
  await due("g/a", START_US + 2 * SECOND_US);
  await due("g/b", START_US + 9 * SECOND_US);
  expect(await store.nextDueIn([F, G])).toBe(2 * SECOND_US);
  expect(await store.nextDueIn([F])).toBe(5 * SECOND_US);
  expect(await store.nextDueIn([])).toBeNull();
});

test("a named lock that is held by as many as wait for it is not free", async () => {
  await addClaims(store, await lockId(store, "both"), { state: "held" }, {});
  await lockId(store, "neither");
  const { locks } = await store.namedLocks(["both", "neither", "never named"]);
  expect(locks.map(({ name, dueAtUs }) => [name, dueAtUs])).toEqual([
    ["both", null],
    ["neither", 0],
  ]);
});
