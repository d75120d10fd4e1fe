// How often and how long failed work is retried, and what is not retried. Pauses pass on a fake clock.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type RetryPolicy, ROLLED_BACK, retry } from "../../server/storage/retry.ts";
import { CHANGED, StoreError } from "../../server/storage/store.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const isError = (error: unknown): error is Error => error instanceof Error;
const policy = (more: Partial<RetryPolicy<Error>> = {}): RetryPolicy<Error> => ({
  attempts: 3,
  longestMs: 10_000,
  pauseMs: (tries) => tries * 100,
  isWorthIt: isError,
  ...more,
});

/** Runs work that fails `failures` times; returns when each try was made and the outcome. */
async function tries(of: RetryPolicy<Error>, failures: number, error: unknown = new Error("bad luck")) {
  const startedMs = performance.now();
  const atMs: number[] = [];
  const told: unknown[] = [];
  const work = async () => {
    atMs.push(performance.now() - startedMs);
    if (atMs.length <= failures) throw error;
    return "done";
  };
  const outcome = retry(of, work, (each) => void told.push(each)).catch((thrown: unknown) => thrown);
  await vi.runAllTimersAsync();
  return { atMs, told, outcome: await outcome };
}

describe("work that fails", () => {
  test("is repeated until it succeeds, with the pauses of the policy", async () => {
    expect(await tries(policy(), 2)).toMatchObject({ atMs: [0, 100, 300], outcome: "done" });
    expect(await tries(policy(), 0)).toMatchObject({ atMs: [0], told: [], outcome: "done" });
  });

  test("is tried no more often than the policy allows, and fails with the last error", async () => {
    const error = new Error("again");
    const { atMs, told, outcome } = await tries(policy(), 9, error);
    expect(atMs).toHaveLength(3);
    // Only failures that are retried are reported for the log.
    expect(told).toEqual([error, error]);
    expect(outcome).toBe(error);
  });

  test("is tried a last time when the time is over, and not after that", async () => {
    const { atMs } = await tries(policy({ attempts: 99, longestMs: 250, pauseMs: () => 200 }), 99);
    expect(atMs).toEqual([0, 200, 250]);
  });

  test("is not repeated if that cannot help", async () => {
    expect(await tries(policy(), 9, "a text")).toMatchObject({ atMs: [0], told: [], outcome: "a text" });
  });
});

describe("a transaction", () => {
  const of = (kind: StoreError["kind"], reason = "deadlock") => new StoreError(kind, reason, "No.");

  test("is repeated if it was rolled back or may have been committed, and not if the database is away", () => {
    expect(ROLLED_BACK.isWorthIt(of("transient"))).toBe(true);
    expect(ROLLED_BACK.isWorthIt(of("unknown_outcome"))).toBe(true);
    expect(ROLLED_BACK.isWorthIt(of("unavailable"))).toBe(false);
    expect(ROLLED_BACK.isWorthIt(Object.assign(new Error("a bug"), { kind: "transient" }))).toBe(false);
  });

  test("that met another one waits for a random time, longer with each try; one that read stale data does not", () => {
    const pauses = (reason: string, tried: number) =>
      Array.from({ length: 50 }, () => ROLLED_BACK.pauseMs(tried, of("transient", reason)));
    expect(new Set(pauses(CHANGED, 5))).toEqual(new Set([0]));
    for (const tried of [1, 6]) {
      const all = pauses("deadlock", tried);
      expect(Math.max(...all)).toBeLessThanOrEqual(2 ** (tried + 1));
      expect(Math.min(...all)).toBeGreaterThanOrEqual(0);
      expect(new Set(all).size).toBeGreaterThan(1);
    }
  });
});
