// When the feed next looks for recent decisions: after a rest that depends on the last sweep's duration, within bounds.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  SWEEP_BEHIND_MS,
  WATCH_REST_MS_MAX,
  WATCH_REST_SHARE,
} from "../../../server/engine/engine-bounds.ts";
import { DecidedFeed, type DecidedListener } from "../../../server/engine/watching/decided-feed.ts";

let nowMs: number;
beforeEach(() => {
  nowMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
});
afterEach(() => vi.restoreAllMocks());

const turn = () => new Promise(setImmediate);

/** A feed over a database in which a sweep takes as long as the test says. */
async function scene(listener: Partial<DecidedListener> = {}) {
  const database = { takesMs: 0, fails: false, rulesRevision: 1n };
  let reads = 0;
  const failures: unknown[] = [];
  const feed = new DecidedFeed({
    async read() {
      reads += 1;
      nowMs += database.takesMs;
      if (database.fails) throw new Error("A fault made by a test.");
      const { rulesRevision } = database;
      return { nowUs: nowMs * 1_000, epoch: 0n, rulesRevision, locks: [], next: null };
    },
    onFailure: (_loop, error) => void failures.push(error),
  });
  await feed.begin({ seen() {}, broke() {}, async swept() {}, ...listener });
  /** Whether the feed sweeps when asked; waits for the sweep to end. */
  const looks = async () => {
    const before = reads;
    feed.look();
    await turn();
    return reads > before;
  };
  return { feed, database, failures, looks };
}

test("rests so many times as long as a sweep took, and no longer than a second", async () => {
  const { database, looks } = await scene();
  database.takesMs = 10;
  expect(await looks()).toBe(true);
  nowMs += 10 * WATCH_REST_SHARE - 1;
  expect(await looks()).toBe(false);
  nowMs += 1;
  database.takesMs = SWEEP_BEHIND_MS;
  expect(await looks()).toBe(true);
  nowMs += WATCH_REST_MS_MAX - 1;
  expect(await looks()).toBe(false);
  nowMs += 1;
  expect(await looks()).toBe(true);
});

test("rests after a sweep that failed as after the one before it, however long it took", async () => {
  const { database, looks, failures } = await scene();
  database.takesMs = 10;
  await looks();
  nowMs += 10 * WATCH_REST_SHARE;
  Object.assign(database, { takesMs: SWEEP_BEHIND_MS, fails: true });
  expect(await looks()).toBe(true);
  expect(failures).toHaveLength(1);
  nowMs += 10 * WATCH_REST_SHARE - 1;
  expect(await looks()).toBe(false);
  nowMs += 1;
  expect(await looks()).toBe(true);
});

test("says again that limit rules have changed when a listener could not read them", async () => {
  const said: boolean[] = [];
  const { database, looks } = await scene({
    async swept(rulesChanged) {
      said.push(rulesChanged);
      if (said.length === 1) throw new Error("A fault made by a test.");
    },
  });
  database.rulesRevision = 2n;
  for (let times = 0; times < 3; times++) await looks();
  expect(said).toEqual([true, true, false]);
});

test("each sweep tells every listener what it has seen and of a break, and a listener that has left hears nothing", async () => {
  const row = { id: 1n, name: "a", revision: 1n, holders: 0, waiting: 0 };
  const told: string[] = [];
  const listener = (who: string): DecidedListener => ({
    seen: ({ name }) => void told.push(`${who} ${name}`),
    broke: (why) => void told.push(`${who} ${why}`),
    swept: async () => void told.push(`${who} swept`),
  });
  const [one, other] = [listener("one"), listener("other")];
  let epoch = 0n;
  let reads = 0;
  const feed = new DecidedFeed({
    read: async () => {
      reads += 1;
      return { nowUs: 0, epoch, rulesRevision: 1n, locks: reads > 1 ? [row] : [], next: null };
    },
    onFailure: () => expect.unreachable(),
  });
  const look = async () => {
    feed.look();
    await feed.stop();
    return told.splice(0);
  };
  expect(await look()).toEqual([]);
  await feed.begin(one);
  await feed.begin(other);
  expect(reads).toBe(1);
  expect(await look()).toEqual(["one a", "other a", "one swept", "other swept"]);
  feed.end(one);
  epoch = 1n;
  expect(await look()).toEqual(["other a", "other failed_over", "other swept"]);
  feed.end(other);
  const before = reads;
  expect(await look()).toEqual([]);
  expect(reads).toBe(before);
});

test("two sweeps never run at once, and stopping waits for the one under way", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let swept = 0;
  const { feed, looks } = await scene({
    async swept() {
      swept += 1;
      await promise;
    },
  });
  expect(await looks()).toBe(true);
  expect(await looks()).toBe(false);
  let isStopped = false;
  const stopping = feed.stop().then(() => {
    isStopped = true;
  });
  await turn();
  expect(isStopped).toBe(false);
  resolve();
  await stopping;
  expect(swept).toBe(1);
  expect(await looks()).toBe(true);
});

test.each(["the first look", "a sweep"])(
  "reads nothing more after its last listener has left during %s",
  async (during) => {
    const listener: DecidedListener = { seen() {}, broke() {}, async swept() {} };
    let reads = 0;
    let gate = Promise.withResolvers<void>();
    const feed = new DecidedFeed({
      async read() {
        reads += 1;
        await gate.promise;
        return { nowUs: nowMs * 1_000, epoch: 0n, rulesRevision: 1n, locks: [], next: null };
      },
      onFailure: (_loop, error) => {
        throw error;
      },
    });
    const begun = feed.begin(listener);
    if (during === "a sweep") {
      gate.resolve();
      await begun;
      gate = Promise.withResolvers();
      feed.look();
    }
    feed.end(listener);
    gate.resolve();
    await begun;
    await feed.stop();
    const before = reads;
    nowMs += 10 * WATCH_REST_MS_MAX;
    feed.look();
    await turn();
    expect(reads).toBe(before);
  },
);
