// The feed of changes on a fake clock: when it sweeps, how far back each sweep reads, what its listeners hear, and when
// earlier reports no longer count.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  CLOCK_BACK_US,
  POLL_REST_MS_MAX,
  SWEEP_BEHIND_MS,
  TRANSACTION_US_MAX,
  WATCH_REST_MS_MAX,
  WATCH_REST_SHARE,
  WIDE_SWEEP_MS,
} from "../../../server/engine/engine-bounds.ts";
import { DecisionFeed, type DecisionListener } from "../../../server/engine/subscribers/decision-feed.ts";
import type { DecidedFrom, DecidedLock, DecidedPage } from "../../../server/storage/store.ts";
import { DECIDED_AT_STEP_US } from "../../../server/storage/store.ts";

const START_US = 1_000_000_000;
const TICK_MS = 100;

let beganMs: number;
beforeEach(() => {
  vi.useFakeTimers();
  beganMs = performance.now();
});
afterEach(() => void vi.useRealTimers());

const nowMs = () => performance.now() - beganMs;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const row = (id: bigint): DecidedLock => ({ id, name: `lock ${id}`, revision: 1n, holders: 0, waiting: 0 });

/** A listener that records what it hears. */
function listener(who = "", heard: string[] = []) {
  const said = (what: string) => void heard.push(`${who}${what}`);
  const listener: DecisionListener = {
    decided: ({ name }) => said(name),
    rulesChanged: (prefixes) => said(`rules ${prefixes}`),
    missed: said,
  };
  return { ...listener, heard };
}

/** A feed over a database in which a read takes as long, and finds what, the test says. */
function scene() {
  const database = { takesMs: 0, fails: false, epoch: 0n, clockUs: START_US };
  const pages: Pick<DecidedPage, "locks" | "next">[] = [];
  const reads: { from: DecidedFrom; untilUs: number | null; atMs: number }[] = [];
  /** Reads of what lies ahead of the clock. */
  const aheadReads: typeof reads = [];
  const aheadPages: typeof pages = [];
  const failures: unknown[] = [];
  /** A read waits for this. */
  const gate = { promise: Promise.resolve() };
  const feed = new DecisionFeed({
    async read(from, untilUs) {
      const isAhead = untilUs === Number.MAX_SAFE_INTEGER;
      (isAhead ? aheadReads : reads).push({ from, untilUs, atMs: nowMs() });
      const { takesMs, fails } = database;
      const nowUs = database.clockUs + nowMs() * 1_000;
      if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs));
      await gate.promise;
      if (fails) throw new Error("A fault made by a test.");
      return {
        nowUs,
        epoch: database.epoch,
        ...((isAhead ? aheadPages : pages).shift() ?? { locks: [], next: null }),
      };
    },
    intervalMs: TICK_MS,
    onFailure: (loop, error) => void failures.push([loop, error]),
  });
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate.promise = promise;
    return resolve;
  };
  return { feed, database, pages, reads, aheadPages, aheadReads, failures, hold };
}

/** As `scene`, with one listener; forgets the read with which the feed has begun. */
async function begun() {
  const stage = scene();
  const one = listener();
  await stage.feed.begin(one);
  stage.reads.length = 0;
  return { ...stage, one, heard: one.heard };
}

describe("sweeps", () => {
  test("go back behind the one before by more than the times may lag", async () => {
    const { reads } = await begun();
    await pass(2 * TICK_MS);
    const backUs = reads.map(({ from }, sweep) => START_US + sweep * TICK_MS * 1_000 - from.atUs);
    expect(backUs).toHaveLength(2);
    for (const us of backUs) expect(us).toBeGreaterThan(DECIDED_AT_STEP_US);
    expect(backUs[1]).toBeLessThan(TRANSACTION_US_MAX);
  });

  test("find a decision that is seen as late as a transaction can last", async () => {
    const { reads } = await begun();
    // Decided at START_US, by a transaction that commits only now, so sweeps in between did not see it.
    const decidedAtUs = START_US - DECIDED_AT_STEP_US;
    await pass(TRANSACTION_US_MAX / 1_000 - 1);
    reads.length = 0;
    await pass(WIDE_SWEEP_MS + TICK_MS);
    expect(Math.min(...reads.map(({ from }) => from.atUs))).toBeLessThanOrEqual(decidedAtUs);
  });

  test("go far back once a second, and a little in between", async () => {
    const { reads } = await begun();
    await pass(3 * WIDE_SWEEP_MS);
    const isWide = reads.map(({ from, atMs }) => START_US + atMs * 1_000 - from.atUs > TRANSACTION_US_MAX);
    expect(isWide.flatMap((wide, sweep) => (wide ? sweep + 1 : []))).toEqual([10, 20, 30]);
  });

  test("report once a second what lies ahead of the clock, page by page and round again", async () => {
    const { aheadReads, aheadPages, heard } = await begun();
    const next = { atUs: START_US + 3_600_000_000, afterLockId: 2n };
    aheadPages.push({ locks: [row(1n), row(2n)], next }, { locks: [row(3n)], next: null });
    await pass(3 * WIDE_SWEEP_MS);
    expect(heard).toEqual(["lock 1", "lock 2", "lock 3"]);
    const fromNow = (sweep: number) => ({ atUs: START_US + sweep * WIDE_SWEEP_MS * 1_000, afterLockId: 0n });
    expect(aheadReads.map(({ from }) => from)).toEqual([fromNow(1), next, fromNow(3)]);

    // The clock has passed the end of a page: what lies before it now is no longer ahead.
    aheadPages.push({ locks: [], next: { ...next, atUs: START_US + 4_500_000 } });
    await pass(2 * WIDE_SWEEP_MS);
    expect(aheadReads.at(-1)?.from).toEqual(fromNow(5));
  });

  test("read all pages up to when they began, and report all that they find", async () => {
    const { reads, heard, pages } = await begun();
    const next = { atUs: START_US, afterLockId: 2n };
    pages.push({ locks: [row(1n), row(2n)], next }, { locks: [row(3n)], next: null });
    await pass(TICK_MS);
    expect(heard).toEqual(["lock 1", "lock 2", "lock 3"]);
    expect(reads[1]).toMatchObject({ from: next, untilUs: START_US + TICK_MS * 1_000 });
  });

  test("rest for a multiple of the time that they took, and no longer than a second", async () => {
    const { reads, database } = await begun();
    database.takesMs = 20;
    const began = () => reads.map(({ atMs }) => atMs);
    await pass(TICK_MS + 20 + 20 * WATCH_REST_SHARE);
    const second = TICK_MS + 20 + 20 * WATCH_REST_SHARE;
    expect(began()).toEqual([TICK_MS, second]);
    database.takesMs = SWEEP_BEHIND_MS - WATCH_REST_MS_MAX;
    await pass(20 + 20 * WATCH_REST_SHARE);
    const third = second + 20 + 20 * WATCH_REST_SHARE;
    await pass(database.takesMs + WATCH_REST_MS_MAX);
    expect(began()).toEqual([TICK_MS, second, third, third + database.takesMs + WATCH_REST_MS_MAX]);
  });
});

describe("earlier reports no longer count", () => {
  test("after a fail-over, a clock that was set back, and a long gap; and count after the next sweep", async () => {
    const { database, heard } = await begun();
    database.epoch = 5n;
    await pass(TICK_MS);
    database.clockUs -= 3_600_000_000;
    await pass(TICK_MS);
    Object.assign(database, { fails: true });
    await pass(SWEEP_BEHIND_MS + 1);
    Object.assign(database, { fails: false });
    await pass(10 * TICK_MS);
    expect(heard).toEqual(["failed_over", "clock", "outage"]);
  });

  test("but do where the clock goes back a little, or a gap is short", async () => {
    const { database, heard } = await begun();
    database.clockUs -= CLOCK_BACK_US;
    await pass(TICK_MS);
    database.fails = true;
    await pass(SWEEP_BEHIND_MS - TICK_MS - 2 * POLL_REST_MS_MAX);
    database.fails = false;
    await pass(2 * POLL_REST_MS_MAX);
    expect(heard).toEqual([]);
    database.clockUs -= CLOCK_BACK_US + TICK_MS * 1_000 + 1;
    await pass(TICK_MS);
    expect(heard).toEqual(["clock"]);
  });
});

describe("listeners", () => {
  test("that come after all have left begin with the facts of that moment", async () => {
    const { feed, one, heard, database, reads } = await begun();
    feed.end(one);
    database.epoch = 7n;
    await pass(2 * SWEEP_BEHIND_MS);
    expect(reads).toEqual([]);
    await feed.begin(one);
    await pass(TICK_MS);
    expect(reads).toHaveLength(2);
    expect(heard).toEqual([]);
  });

  test.each(["the first look", "a sweep"])(
    "cause no further read if the last one leaves during %s",
    async (during) => {
      const { feed, reads, hold } = scene();
      const one = listener();
      let goOn = during === "the first look" ? hold() : () => {};
      const begins = feed.begin(one);
      if (during === "a sweep") {
        await begins;
        goOn = hold();
        await pass(TICK_MS);
      }
      feed.end(one);
      goOn();
      await begins;
      const before = reads.length;
      await pass(10 * WATCH_REST_MS_MAX);
      expect(reads).toHaveLength(before);
      expect(vi.getTimerCount()).toBe(0);
      // A listener that comes later finds no gap.
      await feed.begin(one);
      await pass(TICK_MS);
      expect(one.heard).toEqual([]);
    },
  );

  test("whose feed cannot begin are swept for as soon as the database is back", async () => {
    const { feed, database, pages, failures, reads } = scene();
    const one = listener();
    database.fails = true;
    await expect(feed.begin(one)).rejects.toThrow("A fault made by a test.");
    await pass(TICK_MS);
    expect(failures).toHaveLength(1);
    database.fails = false;
    await pass(POLL_REST_MS_MAX);
    expect(reads).toHaveLength(3);
    pages.push({ locks: [row(1n)], next: null });
    await pass(TICK_MS);
    expect(one.heard).toEqual(["lock 1"]);
  });
});
