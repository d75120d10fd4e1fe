// What is free and due on SQLite, which uses the system's clock in whole milliseconds: nothing counts as due that may
// not be. The test sets the system's clock.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openStore } from "../../../server/storage/open.ts";
import { FIRST_FREE, type Store } from "../../../server/storage/store.ts";
import { RECORD } from "../../support/claims.ts";
import { addClaims, changeLock, lockId, SECOND_US } from "../../support/store-fixture.ts";

const START_MS = 1_900_000_000_000;
const START_US = START_MS * 1_000;

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
const page = (prefix: string) =>
  store.freeLocks({ kind: "prefix", prefix, statuses: [], paused: [] }, FIRST_FREE, 9);
const namesOf = async () => (await page("f/")).locks.map(({ name }) => name);

describe("in the millisecond in which it is due", () => {
  test("a lock is not free yet, and is free a millisecond later", async () => {
    await due("f/a", START_US);
    expect(await namesOf()).toEqual([]);
    expect((await page("f/")).nextInUs).toBe(0);
    vi.setSystemTime(START_MS + 1);
    expect(await namesOf()).toEqual(["f/a"]);
  });

  test("a watched lease has not ended yet, and has a millisecond later", async () => {
    const id = await lockId(store, "a");
    await addClaims(store, id, { state: "held", deadlineUs: START_US });
    const soon = await store.poll([id], SECOND_US);
    expect([soon.due, soon.dueSoon.get(id)]).toEqual([[], 1_000]);
    vi.setSystemTime(START_MS + 1);
    expect((await store.poll([id], SECOND_US)).due).toEqual([id]);
  });
});

test("the next due lock is the earliest of all requested groups", async () => {
  await due("f/a", START_US + 5 * SECOND_US);
  await due("g/a", START_US + 2 * SECOND_US);
  await due("g/b", START_US + 9 * SECOND_US);
  expect((await page("")).nextInUs).toBe(2 * SECOND_US);
  expect((await page("f/")).nextInUs).toBe(5 * SECOND_US);
  expect((await page("h/")).nextInUs).toBeNull();
});
