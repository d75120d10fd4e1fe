// How a replica notices, without any other server, that rows it has seen were set back.

import { describe, expect, test, vi } from "vitest";
import { DURATION_US_MAX } from "../../../server/core/bounds.ts";
import { NO_FAIL_OVER } from "../../../server/core/fail-over.ts";
import { LEVEL } from "../../../server/core/level.ts";
import { CheckedStore } from "../../../server/engine/transaction/checked-store.ts";
import { openStore } from "../../../server/storage/open.ts";
import type { FailOverNote, Loaded, Store, Writes } from "../../../server/storage/store.ts";
import { ROW_LOCKED, StoreError } from "../../../server/storage/store.ts";
import { CLAIM } from "../../support/claims.ts";
import { lockRow } from "../../support/scripted-transactions.ts";
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
  const checked = new CheckedStore(store, { pauseUs, onFailOver: (us) => void pausesUs.push(us) });
  const id = await lockId(store, "a");
  /** Decides only to write the guard row and the given changes. */
  const decide = (changes: Partial<Writes> = {}) =>
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
  test("records a fail-over if a lock's token is lower than it has seen it, once", async () => {
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

  test("records one if the epoch itself was set back, and begins an epoch after the lost one", async () => {
    const store = await openStore("sqlite::memory:");
    let epoch = 900n;
    const notes: FailOverNote[] = [];
    const setBack: Pick<Store, "transact" | "failOver" | "levelMin"> = {
      levelMin: () => store.levelMin(),
      transact: (plan, decide) =>
        store.transact(plan, (loaded) => decide({ ...loaded, failOver: { ...NO_FAIL_OVER, epoch } })),
      failOver: async (note) => notes.push(note),
    };
    const checked = new CheckedStore(setBack, { pauseUs: null, onFailOver() {} });
    const transact = () => checked.transact(NO_PLAN, () => NO_CHANGES);
    await transact();
    epoch = 800n;
    await expect(transact()).rejects.toMatchObject({ reason: "failed_over" });
    expect(notes).toMatchObject([{ seenEpoch: 800n, epochMin: 901n }]);
  });

  test("records one with a later attempt if another transaction holds the facts, to delay no lock", async () => {
    const store = await openStore("sqlite::memory:");
    let isHeld = true;
    let notes = 0;
    const replaced: Pick<Store, "transact" | "failOver" | "levelMin"> = {
      levelMin: () => store.levelMin(),
      transact: (plan, decide) => store.transact(plan, (loaded) => decide({ ...loaded, isSuccessor: true })),
      failOver: async () => {
        if (isHeld) throw new StoreError("transient", ROW_LOCKED, "A test's.");
        return ++notes;
      },
    };
    const checked = new CheckedStore(replaced, { pauseUs: null, onFailOver() {} });
    for (const held of [true, false]) {
      isHeld = held;
      const transacting = checked.transact(NO_PLAN, () => NO_CHANGES);
      await expect(transacting).rejects.toMatchObject({ kind: "transient", reason: "failed_over" });
      expect(notes).toBe(held ? 0 : 1);
    }
  });

  test("pauses grants for the configured time", async () => {
    const { id, store, decide, setToken, pausesUs } = await watched(5 * SECOND_US);
    await addClaims(store, id, { state: "held", ttlUs: 500 * SECOND_US });
    await decide();
    await setToken(0n);
    await expect(decide()).rejects.toMatchObject({ reason: "failed_over" });
    expect(pausesUs).toEqual([5 * SECOND_US]);
  });

  /** A database whose content the test sets. */
  async function scripted(pauseUs: number | null = null) {
    const store = await openStore("sqlite::memory:");
    const now = {
      failOver: NO_FAIL_OVER,
      tokens: [0n, 0n],
      noting: async (_note: FailOverNote): Promise<number> => 5,
    };
    const notes: FailOverNote[] = [];
    const pausesUs: number[] = [];
    const checked = new CheckedStore(
      {
        levelMin: () => store.levelMin(),
        transact: (plan, decide) =>
          store.transact(plan, (loaded) => {
            const locks = now.tokens.map(
              (lastToken, id) => [BigInt(id), lockRow(BigInt(id), { lastToken })] as const,
            );
            decide({ ...loaded, failOver: now.failOver, locks: new Map(locks) });
            return NO_CHANGES;
          }),
        failOver: async (note) => {
          notes.push(note);
          return await now.noting(note);
        },
      } satisfies Pick<Store, "transact" | "failOver" | "levelMin">,
      { pauseUs, onFailOver: (us) => void pausesUs.push(us) },
    );
    const transact = (claims: Partial<Pick<Writes, "added" | "changed">> = {}) =>
      checked.transact(NO_PLAN, ({ locks }) => ({ ...NO_CHANGES, locks: [...locks.values()], ...claims }));
    return { checked, transact, now, notes, pausesUs };
  }

  test("accepts lower tokens in a new epoch, and forgets the earlier epoch's", async () => {
    const { transact, now, notes } = await scripted();
    now.tokens = [7n, 7n];
    await transact();
    now.failOver = { ...NO_FAIL_OVER, epoch: 1n };
    now.tokens = [3n];
    await transact();
    now.tokens = [3n, 5n];
    await transact();
    expect(notes).toEqual([]);
    now.tokens = [2n];
    await expect(transact()).rejects.toMatchObject({ reason: "failed_over" });
    expect(notes).toMatchObject([{ seenEpoch: 1n, epochMin: 2n }]);
  });

  test("remembers no token of an epoch that another transaction has seen to be over", async () => {
    const store = await openStore("sqlite::memory:");
    const begun: PromiseWithResolvers<void>[] = [];
    const failOver = vi.fn(async () => 0);
    const epochs = [0n, 1n, 1n];
    const tokens = [9n, 3n, 4n];
    const checked = new CheckedStore(
      {
        transact: async (plan, decide) => {
          const index = begun.length;
          begun.push(Promise.withResolvers());
          await store.transact(plan, (loaded) => {
            const facts = { ...NO_FAIL_OVER, epoch: epochs[index] as bigint };
            const lock = lockRow(1n, { lastToken: tokens[index] as bigint });
            decide({ ...loaded, failOver: facts, locks: new Map([[1n, lock]]) });
            return NO_CHANGES;
          });
          await begun[index]?.promise;
        },
        failOver,
        levelMin: () => store.levelMin(),
      } satisfies Pick<Store, "transact" | "failOver" | "levelMin">,
      { pauseUs: null, onFailOver() {} },
    );
    const transact = () =>
      checked.transact(NO_PLAN, ({ locks }) => ({ ...NO_CHANGES, locks: [...locks.values()] }));
    const older = transact();
    const newer = transact();
    for (const index of [1, 0]) begun[index]?.resolve();
    await Promise.all([older, newer]);
    const last = transact();
    begun[2]?.resolve();
    await last;
    expect(failOver).not.toHaveBeenCalled();
  });

  test("fails with the record's error, unless that is a held row", async () => {
    const { transact, now, pausesUs } = await scripted();
    now.tokens = [7n];
    await transact();
    now.tokens = [6n];
    const away = new StoreError("unavailable", "connection_lost", "A test's.");
    now.noting = () => Promise.reject(away);
    await expect(transact()).rejects.toBe(away);
    expect(pausesUs).toEqual([]);
  });

  test("pauses grants for its longest lease, ignoring waits and leases without end", async () => {
    const { transact, now, notes } = await scripted();
    const nowUs = Date.now() * 1_000;
    const claim = (state: "held" | "waiting", inUs: number | null) => ({
      ...CLAIM,
      state,
      deadlineUs: inUs === null ? null : nowUs + inUs,
    });
    now.tokens = [7n];
    await transact({ added: [claim("held", 300 * SECOND_US), claim("waiting", 900 * SECOND_US)] });
    await transact({ changed: [claim("held", 200 * SECOND_US), claim("held", null)] });
    now.tokens = [6n];
    await expect(transact()).rejects.toMatchObject({ reason: "failed_over" });
    expect(notes[0]?.pauseUsMin).toBeGreaterThan(200 * SECOND_US);
    expect(notes[0]?.pauseUsMin).toBeLessThanOrEqual(301 * SECOND_US);
    expect(notes[0]?.pauseUsMax).toBe(DURATION_US_MAX);
  });
});

describe("rows that another check found set back", () => {
  const WRITTEN_US = 1_000;

  async function scripted() {
    const store = await openStore("sqlite::memory:");
    const now = { failOver: NO_FAIL_OVER, failure: null as Error | null };
    const notes: FailOverNote[] = [];
    const failed: number[] = [];
    const checked = new CheckedStore(
      {
        levelMin: () => store.levelMin(),
        transact: (plan, decide) =>
          store.transact(plan, (loaded) => decide({ ...loaded, failOver: now.failOver })),
        failOver: async (note) => {
          if (now.failure) throw now.failure;
          notes.push(note);
          now.failOver = { epoch: note.epochMin, atUs: WRITTEN_US + 1, grantsFromUs: 0 };
          return 5;
        },
      } satisfies Pick<Store, "transact" | "failOver" | "levelMin">,
      { pauseUs: null, onFailOver: (pauseUs) => void failed.push(pauseUs) },
    );
    return { checked, now, notes, failed };
  }

  test("are recorded as a fail-over, once, and decisions go on", async () => {
    const { checked, notes, failed } = await scripted();
    await checked.setBack(WRITTEN_US);
    expect(notes).toHaveLength(1);
    expect(failed).toEqual([5]);
    await checked.transact(NO_PLAN, () => NO_CHANGES);
    await checked.setBack(WRITTEN_US);
    expect(notes).toHaveLength(1);
  });

  test("need no record if another server has made it since", async () => {
    const { checked, now, notes } = await scripted();
    now.failOver = { epoch: 1n, atUs: WRITTEN_US, grantsFromUs: 0 };
    await checked.setBack(WRITTEN_US);
    expect(notes).toEqual([]);
  });

  test("block all decisions until the fail-over is recorded, if the first attempt fails", async () => {
    for (const failure of [
      new StoreError("transient", ROW_LOCKED, "A test's."),
      new StoreError("unavailable", "connection_lost", "A test's."),
    ]) {
      const { checked, now, notes } = await scripted();
      now.failure = failure;
      await expect(checked.setBack(WRITTEN_US)).rejects.toBeInstanceOf(StoreError);
      // An earlier time does not hide it.
      await expect(checked.setBack(1)).rejects.toBeInstanceOf(StoreError);
      now.failOver = { epoch: 1n, atUs: WRITTEN_US - 1, grantsFromUs: 0 };
      await expect(checked.transact(NO_PLAN, () => NO_CHANGES)).rejects.toBeInstanceOf(StoreError);
      now.failure = null;
      await expect(checked.transact(NO_PLAN, () => NO_CHANGES)).rejects.toMatchObject({
        reason: "failed_over",
      });
      expect(notes).toHaveLength(1);
      await checked.transact(NO_PLAN, () => NO_CHANGES);
    }
  });
});

describe("a replica that a later version rules out", () => {
  const ruledOut = { level: LEVEL + 1, by: "9.1.0" };

  test("decides nothing from then on, not even about rows that it knows, and says why", async () => {
    const { store, decide } = await watched();
    await decide();
    await store.raiseLevelMin({ level: LEVEL, by: "8.0.0" });
    await decide();
    await store.raiseLevelMin(ruledOut);
    for (const _ of [1, 2])
      await expect(decide()).rejects.toMatchObject({
        kind: "unavailable",
        reason: "too_old",
        message:
          `This server is too old for its database: it has level ${LEVEL}, and version 9.1.0 has used the database, which ` +
          `rules out servers below level ${LEVEL + 1}. Start version 9.1.0 or the one before it.`,
      });
  });

  test("records no fail-over either, as it may not understand the rows that seem to show one", async () => {
    const { store, decide, setToken } = await watched();
    await setToken(7n);
    await decide();
    await store.raiseLevelMin(ruledOut);
    await setToken(6n);
    await expect(decide()).rejects.toMatchObject({ reason: "too_old" });
    expect(await epochOf(store)).toBe(0n);
  });
});

test("those under way are waited for, and those that begin later are not", async () => {
  const ends: (() => void)[] = [];
  const transact = () => new Promise<void>((resolve) => ends.push(resolve));
  const store = { transact, levelMin: async () => null } as unknown as Store;
  const checked = new CheckedStore(store, { pauseUs: null, onFailOver() {} });
  const begin = () => void checked.transact(NO_PLAN, () => NO_CHANGES);
  await checked.drained();
  begin();
  begin();
  let isDrained = false;
  const draining = checked.drained().then(() => {
    isDrained = true;
  });
  begin();
  ends[1]?.();
  await Promise.resolve();
  expect(isDrained).toBe(false);
  ends[0]?.();
  await draining;
});
