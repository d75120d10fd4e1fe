// The witness: only the loss of its own mark shows that rows were set back.

import { describe, expect, test } from "vitest";
import {
  FORGETFUL,
  type Testimony,
  Witness,
  type WitnessMemory,
} from "../../../server/engine/background/witness.ts";
import { openStore } from "../../../server/storage/open.ts";
import { type Store, StoreError, WITNESS_KEPT_US } from "../../../server/storage/store.ts";

const REPLICA = 5n;

async function stage() {
  const store = await openStore("sqlite::memory:");
  const setBackUs: number[] = [];
  let failing: ((written: Promise<unknown>) => Promise<never>) | null = null;
  const marking: Pick<Store, "mark"> = {
    mark: (...asked) => {
      const written = store.mark(...asked);
      const fail = failing;
      failing = null;
      return fail ? fail(written) : written;
    },
  };
  let isRecordable = true;
  const setBack = async (writtenUs: number) => {
    setBackUs.push(writtenUs);
    const fails = !isRecordable;
    isRecordable = true;
    if (fails) throw new StoreError("unavailable", "full", "A test's.");
  };
  const witness = (memory: WitnessMemory = FORGETFUL) =>
    new Witness({
      store: marking,
      checked: { setBack },
      memory,
      replica: REPLICA,
    });
  return {
    store,
    setBackUs,
    witness,
    failNext(how: typeof failing) {
      failing = how;
    },
    /** The next loss cannot be recorded. */
    failRecord() {
      isRecordable = false;
    },
  };
}

/** Stands for the file that keeps the testimony. */
function memory(first: Testimony = { witness: 7n, marks: [], atUs: 0 }) {
  const memory = {
    testimony: first,
    read: async () => memory.testimony,
    write: async (next: Testimony) => {
      memory.testimony = next;
    },
  };
  return memory;
}

const unknownOutcome = async (written: Promise<unknown>): Promise<never> => {
  await written;
  throw new StoreError("unknown_outcome", "connection_lost", "A test's.");
};
const notDone = async (): Promise<never> => {
  throw new StoreError("unavailable", "full", "A test's.");
};

describe("a witness", () => {
  test("finds its mark again, even if the outcome of a write was unknown or it was not written", async () => {
    const { witness, setBackUs, failNext } = await stage();
    const file = memory();
    const first = witness(file);
    await first.look();
    for (const how of [unknownOutcome, unknownOutcome, notDone, unknownOutcome]) {
      failNext(how);
      await expect(first.look()).rejects.toBeInstanceOf(StoreError);
    }
    await witness(file).look();
    expect(setBackUs).toEqual([]);
    expect(file.testimony.marks).toHaveLength(1);
  });

  test("reports a missing or older mark, with the time of its write", async () => {
    const { store, witness, setBackUs } = await stage();
    for (const setBack of [() => store.retire(REPLICA), () => store.mark(REPLICA, null, 1n)]) {
      const one = witness();
      await one.look();
      await one.look();
      await setBack();
      const beforeUs = Date.now() * 1_000;
      await one.look();
      expect(setBackUs).toHaveLength(1);
      expect(setBackUs.pop()).toBeLessThanOrEqual(beforeUs);
      await one.look();
      expect(setBackUs).toEqual([]);
    }
  });

  test("reports again what could not be recorded", async () => {
    const { store, witness, setBackUs, failRecord } = await stage();
    const one = witness();
    await one.look();
    await store.retire(REPLICA);
    failRecord();
    await expect(one.look()).rejects.toMatchObject({ reason: "full" });
    for (let looks = 0; looks < 2; looks++) await one.look();
    expect(setBackUs).toHaveLength(2);
  });

  test("does not report a mark that was idle for so long that it was deleted", async () => {
    const { witness, setBackUs } = await stage();
    const file = memory({ witness: 7n, marks: [3n], atUs: Date.now() * 1_000 - WITNESS_KEPT_US });
    await witness(file).look();
    expect(setBackUs).toEqual([]);
  });
});
