// The sweeps over recent decisions: how far back each one reads, and when earlier knowledge no longer counts.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  CLOCK_BACK_US,
  SWEEP_BEHIND_MS,
  TRANSACTION_US_MAX,
  WIDE_SWEEP_MS,
} from "../../../server/engine/engine-bounds.ts";
import { DecidedSweeps } from "../../../server/engine/watching/decided-sweeps.ts";
import type { DecidedFrom, DecidedPage } from "../../../server/storage/store.ts";
import { DECIDED_AT_STEP_US } from "../../../server/storage/store.ts";

const START_US = 1_000_000_000;
let nowMs: number;
beforeEach(() => {
  nowMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
});
afterEach(() => vi.restoreAllMocks());

const row = (id: bigint) => ({ id, name: `lock ${id}`, revision: 1n, holders: 0, waiting: 0 });

async function scene() {
  const asked: { from: DecidedFrom; untilUs: number | null }[] = [];
  const seen: bigint[] = [];
  const breaks: string[] = [];
  const facts = { epoch: 0n, rulesRevision: 1n, clockUs: START_US };
  const pages: Pick<DecidedPage, "locks" | "next">[] = [];
  const sweeps = new DecidedSweeps({
    async read(from, untilUs) {
      asked.push({ from, untilUs });
      const { epoch, rulesRevision, clockUs } = facts;
      const page = pages.shift() ?? { locks: [], next: null };
      return { nowUs: clockUs + nowMs * 1_000, epoch, rulesRevision, ...page };
    },
    onSeen: ({ id }) => seen.push(id),
    onBreak: (why) => breaks.push(why),
  });
  await sweeps.begin();
  asked.length = 0;
  return { sweeps, asked, seen, breaks, facts, pages };
}

describe("a sweep", () => {
  test("goes back behind the one before it by more than the times may lag", async () => {
    const { sweeps, asked } = await scene();
    nowMs = 100;
    await sweeps.sweep();
    nowMs = 200;
    await sweeps.sweep();
    const backUs = asked.map(({ from }, sweep) => START_US + sweep * 100_000 - from.atUs);
    for (const us of backUs) expect(us).toBeGreaterThan(DECIDED_AT_STEP_US);
    expect(backUs[1]).toBeLessThan(TRANSACTION_US_MAX);
  });

  test("finds a decision that is seen as late as a transaction can last", async () => {
    const { sweeps, asked } = await scene();
    // Decided at START_US, by a transaction that commits only now, so sweeps in between did not see it.
    const decidedAtUs = START_US - DECIDED_AT_STEP_US;
    for (nowMs = 100; nowMs * 1_000 < TRANSACTION_US_MAX; nowMs += 100) await sweeps.sweep();
    asked.length = 0;
    const untilMs = nowMs + WIDE_SWEEP_MS;
    for (; nowMs <= untilMs; nowMs += 100) await sweeps.sweep();
    expect(Math.min(...asked.map(({ from }) => from.atUs))).toBeLessThanOrEqual(decidedAtUs);
  });

  test("reads all pages up to when it began, and tells all that it finds", async () => {
    const { sweeps, asked, seen, pages } = await scene();
    const next = { atUs: START_US, afterLockId: 2n };
    pages.push({ locks: [row(1n), row(2n)], next }, { locks: [row(3n)], next: null });
    nowMs = 100;
    await sweeps.sweep();
    expect(seen).toEqual([1n, 2n, 3n]);
    expect(asked[1]).toEqual({ from: next, untilUs: START_US + 100_000 });
  });

  test("says once that limit rules have changed", async () => {
    const { sweeps, facts } = await scene();
    expect(await sweeps.sweep()).toBe(false);
    facts.rulesRevision = 2n;
    expect(await sweeps.sweep()).toBe(true);
    expect(await sweeps.sweep()).toBe(false);
  });

  test("breaks with what was known after a fail-over, a clock that was set back, and a long gap", async () => {
    const { sweeps, facts, breaks } = await scene();
    facts.epoch = 5n;
    await sweeps.sweep();
    facts.clockUs -= 3_600_000_000;
    await sweeps.sweep();
    nowMs += SWEEP_BEHIND_MS + 1;
    await sweeps.sweep();
    await sweeps.sweep();
    expect(breaks).toEqual(["failed_over", "clock", "outage"]);
  });

  test("that fails is made up for by the next one", async () => {
    const { sweeps, asked } = await scene();
    const failing = new DecidedSweeps({
      read: vi
        .fn()
        .mockResolvedValueOnce({ nowUs: START_US, epoch: 0n, rulesRevision: 0n, locks: [], next: null })
        .mockRejectedValueOnce(new Error("away"))
        .mockImplementation(async (from: DecidedFrom) => {
          asked.push({ from, untilUs: null });
          return { nowUs: START_US, epoch: 0n, rulesRevision: 0n, locks: [], next: null };
        }),
      onSeen() {},
      onBreak() {},
    });
    expect(await sweeps.sweep()).toBe(false);
    await failing.begin();
    asked.length = 0;
    nowMs = 900;
    await expect(failing.sweep()).rejects.toThrow("away");
    nowMs = 950;
    await failing.sweep();
    expect(asked[0]?.from.atUs).toBeLessThan(START_US - DECIDED_AT_STEP_US);
  });

  test("reads nothing after the end, and begins again with the facts of that moment", async () => {
    const { sweeps, asked, facts, breaks } = await scene();
    expect(sweeps.hasBegun).toBe(true);
    await sweeps.begin();
    expect(asked).toEqual([]);
    sweeps.end();
    expect(sweeps.hasBegun).toBe(false);
    expect(await sweeps.sweep()).toBe(false);
    expect(asked).toEqual([]);
    facts.epoch = 7n;
    facts.rulesRevision = 9n;
    nowMs = SWEEP_BEHIND_MS + 1;
    await sweeps.begin();
    expect(asked).toHaveLength(1);
    expect(await sweeps.sweep()).toBe(false);
    expect(breaks).toEqual([]);
  });

  test("keeps what was known where the clock goes back a little, or a gap is short", async () => {
    const { sweeps, facts, breaks } = await scene();
    facts.clockUs -= CLOCK_BACK_US;
    await sweeps.sweep();
    nowMs += SWEEP_BEHIND_MS;
    await sweeps.sweep();
    expect(breaks).toEqual([]);
    facts.clockUs -= SWEEP_BEHIND_MS * 1_000 + CLOCK_BACK_US + 1;
    nowMs += SWEEP_BEHIND_MS;
    await sweeps.sweep();
    expect(breaks).toEqual(["clock"]);
  });

  test("goes far back once a second, and a little in between", async () => {
    const { sweeps, asked } = await scene();
    const backs: number[] = [];
    for (nowMs = 100; nowMs <= 3 * WIDE_SWEEP_MS; nowMs += 100) {
      asked.length = 0;
      await sweeps.sweep();
      backs.push(START_US + nowMs * 1_000 - (asked[0] as { from: DecidedFrom }).from.atUs);
    }
    const isWide = backs.map((backUs) => backUs > TRANSACTION_US_MAX);
    expect(isWide.filter((wide) => wide)).toHaveLength(3);
    expect(isWide.flatMap((wide, sweep) => (wide ? sweep + 1 : []))).toEqual([10, 20, 30]);
  });
});
