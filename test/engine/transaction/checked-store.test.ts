// How a replica notices, without any other server, that rows it has seen were set back.

import { describe, expect, test } from "vitest";
import { DURATION_US_MAX } from "../../../server/core/bounds.ts";
import { LEVEL } from "../../../server/core/level.ts";
import { NO_FAIL_OVER } from "../../../server/core/lock.ts";
import { CheckedStore } from "../../../server/engine/transaction/checked-store.ts";
import { openStore } from "../../../server/storage/open.ts";
import {
  type FailOverNote,
  type Loaded,
  ROW_LOCKED,
  type Store,
  StoreError,
  type Writes,
} from "../../../server/storage/store.ts";
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
const WRITTEN_US = 1_000;
const ROW_HELD = new StoreError("transient", ROW_LOCKED, "A test's.");
const AWAY = new StoreError("unavailable", "connection_lost", "A test's.");
const FAILED_OVER = { kind: "transient", reason: "failed_over" };

/** Over a database of its own, with one lock. */
async function watched(pauseUs: number | null = null) {
  const store = await openStore("sqlite::memory:");
  const pausesUs: number[] = [];
  const checked = new CheckedStore(store, { pauseUs, onFailOver: (us) => void pausesUs.push(us) });
  const id = await lockId(store, "a");
  /** Decides only to write the guard row. */
  const decide = () =>
    checked.transact({ ...NO_PLAN, locks: planned(id) }, (loaded: Loaded) => ({
      ...NO_CHANGES,
      locks: raised(loaded),
    }));
  const setToken = (token: bigint) =>
    changeLock(store, id, (lock) => {
      lock.lastToken = token;
    });
  return { store, id, decide, setToken, pausesUs };
}

const epochOf = async (store: Store) => (await load(store, {})).failOver.epoch;

/** Over a database whose content the test sets; `failure`: why a fail-over cannot be recorded. */
async function scripted() {
  const store = await openStore("sqlite::memory:");
  const now = {
    ...{ failOver: NO_FAIL_OVER, isSuccessor: false, tokens: [0n], failure: null as Error | null },
    /** A transaction that has begun ends after this. */
    until: Promise.resolve(),
  };
  const notes: FailOverNote[] = [];
  const pausesUs: number[] = [];
  const checked = new CheckedStore(
    {
      levelMin: () => store.levelMin(),
      async transact(plan, decide) {
        const { failOver, isSuccessor, tokens, until } = now;
        await store.transact(plan, (loaded) => {
          const rows = tokens.map((lastToken, id) => lockRow(BigInt(id), { lastToken }));
          const locks = new Map(rows.map((lock) => [lock.id, lock]));
          decide({ ...loaded, failOver, isSuccessor, locks });
          return NO_CHANGES;
        });
        await until;
      },
      async failOver(note) {
        if (now.failure) throw now.failure;
        notes.push(note);
        const failOver = { epoch: note.epochMin, atUs: WRITTEN_US + 1, grantsFromUs: 0 };
        Object.assign(now, { failOver, isSuccessor: false });
        return 5;
      },
    },
    { pauseUs: null, onFailOver: (us) => void pausesUs.push(us) },
  );
  const transact = (claims: Partial<Pick<Writes, "added" | "changed">> = {}) =>
    checked.transact(NO_PLAN, ({ locks }) => ({ ...NO_CHANGES, locks: [...locks.values()], ...claims }));
  return { checked, transact, now, notes, pausesUs };
}

const inEpoch = (epoch: bigint) => ({ ...NO_FAIL_OVER, epoch });

describe("a replica", () => {
  test.each([
    ["as long as a lease lasts by default", null, TTL_DEFAULT_US],
    ["for the configured time", 5 * SECOND_US, 5 * SECOND_US],
  ])(
    "records a fail-over, once, if a lock's token is lower than it has seen it, and pauses grants %s",
    async (_, configuredUs, pauseUs) => {
      const { id, store, decide, setToken, pausesUs } = await watched(configuredUs);
      if (configuredUs !== null) await addClaims(store, id, { state: "held", ttlUs: 500 * SECOND_US });
      await setToken(7n);
      await decide();
      await setToken(6n);
      await expect(decide()).rejects.toMatchObject(FAILED_OVER);
      const epoch = await epochOf(store);
      expect(epoch).toBeGreaterThan(0n);
      await decide();
      expect(await epochOf(store)).toBe(epoch);
      expect(pausesUs).toEqual([pauseUs]);
    },
  );

  test("records one if the epoch itself was set back, and begins an epoch after the lost one", async () => {
    const { transact, now, notes } = await scripted();
    now.failOver = inEpoch(900n);
    await transact();
    now.failOver = inEpoch(800n);
    await expect(transact()).rejects.toMatchObject(FAILED_OVER);
    expect(notes).toMatchObject([{ seenEpoch: 800n, epochMin: 901n }]);
  });

  test("records one with a later attempt if another transaction holds the facts, to delay no lock", async () => {
    const { transact, now, notes } = await scripted();
    now.isSuccessor = true;
    for (const failure of [ROW_HELD, null]) {
      now.failure = failure;
      await expect(transact()).rejects.toMatchObject(FAILED_OVER);
      expect(notes).toHaveLength(failure ? 0 : 1);
    }
  });

  test("accepts lower tokens in a new epoch, and forgets the earlier epoch's", async () => {
    const { transact, now, notes } = await scripted();
    now.tokens = [7n, 7n];
    await transact();
    now.failOver = inEpoch(1n);
    now.tokens = [3n];
    await transact();
    now.tokens = [3n, 5n];
    await transact();
    expect(notes).toEqual([]);
    now.tokens = [2n];
    await expect(transact()).rejects.toMatchObject(FAILED_OVER);
    expect(notes).toMatchObject([{ seenEpoch: 1n, epochMin: 2n }]);
  });

  test("remembers no token of an epoch that another transaction has seen to be over", async () => {
    const { transact, now, notes } = await scripted();
    const older = Promise.withResolvers<void>();
    Object.assign(now, { tokens: [9n], until: older.promise });
    const last = transact();
    Object.assign(now, { failOver: inEpoch(1n), tokens: [3n], until: Promise.resolve() });
    await transact();
    older.resolve();
    await last;
    now.tokens = [4n];
    await transact();
    expect(notes).toEqual([]);
  });

  test("fails with the record's error, unless that is a held row", async () => {
    const { transact, now, pausesUs } = await scripted();
    now.tokens = [7n];
    await transact();
    now.tokens = [6n];
    now.failure = AWAY;
    await expect(transact()).rejects.toBe(AWAY);
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
    await expect(transact()).rejects.toMatchObject(FAILED_OVER);
    expect(notes[0]?.pauseUsMin).toBeGreaterThan(200 * SECOND_US);
    expect(notes[0]?.pauseUsMin).toBeLessThanOrEqual(301 * SECOND_US);
    expect(notes[0]?.pauseUsMax).toBe(DURATION_US_MAX);
  });
});

describe("rows that another check found set back", () => {
  test("are recorded as a fail-over, once, and decisions go on", async () => {
    const { checked, transact, notes, pausesUs } = await scripted();
    for (let times = 0; times < 2; times++) {
      await checked.setBack(WRITTEN_US);
      expect(notes).toHaveLength(1);
      await transact();
    }
    expect(pausesUs).toEqual([5]);
  });

  test("need no record if another server has made it since", async () => {
    const { checked, now, notes } = await scripted();
    now.failOver = { epoch: 1n, atUs: WRITTEN_US, grantsFromUs: 0 };
    await checked.setBack(WRITTEN_US);
    expect(notes).toEqual([]);
  });

  test.each([ROW_HELD, AWAY])(
    "block all decisions until the fail-over is recorded, if the first attempt fails: %s",
    async (failure) => {
      const { checked, transact, now, notes } = await scripted();
      now.failure = failure;
      await expect(checked.setBack(WRITTEN_US)).rejects.toBeInstanceOf(StoreError);
      // An earlier time does not hide it.
      await expect(checked.setBack(1)).rejects.toBeInstanceOf(StoreError);
      now.failOver = { epoch: 1n, atUs: WRITTEN_US - 1, grantsFromUs: 0 };
      await expect(transact()).rejects.toBeInstanceOf(StoreError);
      now.failure = null;
      await expect(transact()).rejects.toMatchObject(FAILED_OVER);
      expect(notes).toHaveLength(1);
      await transact();
    },
  );
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
