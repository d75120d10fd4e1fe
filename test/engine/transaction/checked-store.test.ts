// How a replica notices that rows which it has seen were set back, without any other server.

import { describe, expect, test } from "vitest";
import { NO_FAIL_OVER } from "../../../server/core/fail-over.ts";
import { checkedStore } from "../../../server/engine/transaction/checked-store.ts";
import { openStore } from "../../../server/storage/open.ts";
import type { Changes, FailOverNote, Loaded, Store } from "../../../server/storage/store.ts";
import { ROW_LOCKED, StoreError } from "../../../server/storage/store.ts";
import {
  addClaims,
  changeLock,
  load,
  lockId,
  NO_CHANGES,
  NO_PLAN,
  planned,
  raised,
  SECOND_US,
} from "../../support/store-fixture.ts";

const TTL_DEFAULT_US = 30 * SECOND_US;

async function watched(pauseUs: number | null = null) {
  const store = await openStore("sqlite::memory:");
  const pausesUs: number[] = [];
  const checked = checkedStore(store, { pauseUs, onFailOver: (us) => void pausesUs.push(us) });
  const id = await lockId(store, "a");
  /** Decides nothing but to write the guard row, and what else is given. */
  const decide = (changes: Partial<Changes> = {}) =>
    checked.transact({ ...NO_PLAN, locks: planned(id) }, (loaded: Loaded) => ({
      ...NO_CHANGES,
      locks: raised(loaded),
      ...changes,
    }));
  const setToken = (token: bigint) =>
    changeLock(store, id, (lock) => {
      lock.lastToken = token;
    });
  return { store, id, decide, setToken, pausesUs };
}

const epochOf = async (store: Store) => (await load(store, {})).failOver.epoch;

describe("a replica", () => {
  test("notes a fail-over when a lock's token is lower than it has seen it, once", async () => {
    const { store, decide, setToken, pausesUs } = await watched();
    await setToken(7n);
    await decide();
    await setToken(6n);
    await expect(decide()).rejects.toMatchObject({ kind: "transient", reason: "failed_over" });
    const epoch = await epochOf(store);
    expect(epoch).toBeGreaterThan(0n);
    await decide();
    expect(await epochOf(store)).toBe(epoch);
    expect(pausesUs).toEqual([TTL_DEFAULT_US]);
  });

  test("takes tokens that rise or stay for what they are", async () => {
    const { store, decide, setToken } = await watched();
    for (const token of [1n, 1n, 2n, 9n]) {
      await setToken(token);
      await decide();
    }
    expect(await epochOf(store)).toBe(0n);
  });

  test("notes one when the epoch itself was set back, and goes beyond the one that was lost", async () => {
    const store = await openStore("sqlite::memory:");
    let epoch = 900n;
    const notes: FailOverNote[] = [];
    const setBack: Pick<Store, "transact" | "failOver"> = {
      transact: (plan, decide) =>
        store.transact(plan, (loaded) => decide({ ...loaded, failOver: { ...NO_FAIL_OVER, epoch } })),
      failOver: async (note) => notes.push(note),
    };
    const checked = checkedStore(setBack, { pauseUs: null, onFailOver() {} });
    const transact = () => checked.transact(NO_PLAN, () => NO_CHANGES);
    await transact();
    epoch = 800n;
    await expect(transact()).rejects.toMatchObject({ reason: "failed_over" });
    expect(notes).toMatchObject([{ seenEpoch: 800n, epochMin: 901n }]);
  });

  test("notes one with a later attempt where another transaction holds the facts, which is not to hold a lock", async () => {
    const store = await openStore("sqlite::memory:");
    let isHeld = true;
    let notes = 0;
    const replaced: Pick<Store, "transact" | "failOver"> = {
      transact: (plan, decide) => store.transact(plan, (loaded) => decide({ ...loaded, isSuccessor: true })),
      failOver: async () => {
        if (isHeld) throw new StoreError("transient", ROW_LOCKED, "A test's.");
        return ++notes;
      },
    };
    const checked = checkedStore(replaced, { pauseUs: null, onFailOver() {} });
    for (const held of [true, false]) {
      isHeld = held;
      const transacting = checked.transact(NO_PLAN, () => NO_CHANGES);
      await expect(transacting).rejects.toMatchObject({ kind: "transient", reason: "failed_over" });
      expect(notes).toBe(held ? 0 : 1);
    }
  });

  test("lets nothing be granted for as long as a lease that it gave itself may last", async () => {
    const { store, id, decide, setToken, pausesUs } = await watched();
    const [claim] = await addClaims(store, id, { state: "held", dueInUs: 500 * SECOND_US });
    if (!claim) throw new Error("The claim was not added.");
    await decide({ changed: [claim] });
    await setToken(0n);
    await expect(decide()).rejects.toMatchObject({ reason: "failed_over" });
    expect(pausesUs[0]).toBeGreaterThan(499 * SECOND_US);
    expect(pausesUs[0]).toBeLessThanOrEqual(500 * SECOND_US);
  });

  test("lets nothing be granted for as long as it was told", async () => {
    const { id, store, decide, setToken, pausesUs } = await watched(5 * SECOND_US);
    await addClaims(store, id, { state: "held", ttlUs: 500 * SECOND_US });
    await decide();
    await setToken(0n);
    await expect(decide()).rejects.toMatchObject({ reason: "failed_over" });
    expect(pausesUs).toEqual([5 * SECOND_US]);
  });
});
