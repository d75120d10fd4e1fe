import { expect, test } from "vitest";
import { RetryTimes } from "../../server/grpc/admission.ts";
import { RETRY_AFTER_MAX_MS, RETRY_AFTER_MIN_MS } from "../../server/grpc/grpc-bounds.ts";

/** The calls that wait have come in the last second, in which as many were served. */
const PER_SECOND = 500;

function retryAfterMs(times: RetryTimes, nowMs: number): number {
  return times.ifLate(nowMs, nowMs - 1_000, PER_SECOND) ?? Number.NaN;
}

test("refused calls are told to come back after the least time, at half the rate at which calls are served", () => {
  const times = new RetryTimes();
  const told = Array.from({ length: 1_000 }, () => retryAfterMs(times, 0));
  expect(told[0]).toBeGreaterThanOrEqual(RETRY_AFTER_MIN_MS);
  expect(told[0]).toBeLessThanOrEqual(RETRY_AFTER_MIN_MS + 100);
  expect(told).toEqual(told.toSorted((a, b) => a - b));
  const within = (fromMs: number) => told.filter((ms) => ms > fromMs && ms <= fromMs + 1_000).length;
  expect(within(RETRY_AFTER_MIN_MS)).toBeCloseTo(PER_SECOND / 2, -1);
  expect(within(RETRY_AFTER_MIN_MS + 2_000)).toBeCloseTo(PER_SECOND / 2, -1);
});

test("nobody is told to come back later than the longest time, and the times end with the refusals", () => {
  const times = new RetryTimes();
  for (let refused = 0; refused < 100_000; refused++)
    expect(retryAfterMs(times, 0)).toBeLessThanOrEqual(RETRY_AFTER_MAX_MS);
  expect(retryAfterMs(times, RETRY_AFTER_MAX_MS)).toBeLessThanOrEqual(RETRY_AFTER_MIN_MS + 100);
});
