// What renewals and releases cost their client, and when it has to come back.

import { afterEach, expect, test, vi } from "vitest";
import {
  RENEWALS_DEBT_MAX,
  RENEWALS_PER_SECOND,
  RENEWALS_PER_TTL,
  RENEWALS_RETRY_AFTER_MS_MIN,
  RENEWALS_SPARE,
} from "../../server/grpc/grpc-bounds.ts";
import { CallError } from "../../server/grpc/messages/call-error.ts";
import { costOfRenewal, RenewalBounds } from "../../server/grpc/renewal-bounds.ts";

afterEach(() => void vi.restoreAllMocks());

function stage() {
  const clock = { nowMs: 0 };
  vi.spyOn(performance, "now").mockImplementation(() => clock.nowMs);
  const bounds = new RenewalBounds();
  /** A call for a lease; undefined: it was refused. */
  const begin = (lease: number, client: unknown = "token:a") => {
    try {
      return bounds.of(client).begin({ secret: String(lease) });
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      expect(error.reason).toBe("OVERLOADED");
      expect(error.details.metadata).toEqual({ bound: "client_renewals" });
      expect(error.details.retryAfterMs).toBeGreaterThanOrEqual(RENEWALS_RETRY_AFTER_MS_MIN);
      return undefined;
    }
  };
  /** How many of these calls, one after the other, are not refused. */
  const run = (calls: number, cost: number | null, lease = (at: number) => at) => {
    let taken = 0;
    for (let at = 0; at < calls; at++) {
      const over = begin(lease(at));
      over?.(cost);
      if (over) taken += 1;
    }
    return taken;
  };
  return { clock, bounds, begin, run };
}

test("a renewal costs the more the sooner it comes after the last one, by the ttl of its lease", () => {
  const ttlUs = 30_000_000;
  expect(costOfRenewal(ttlUs, ttlUs / 3)).toBe(0);
  expect(costOfRenewal(ttlUs, ttlUs / RENEWALS_PER_TTL)).toBe(0);
  expect(costOfRenewal(ttlUs, ttlUs / RENEWALS_PER_TTL / 2)).toBeCloseTo(0.5);
  expect(costOfRenewal(ttlUs, 0)).toBe(1);
  expect(costOfRenewal(ttlUs, null)).toBe(0);
  expect(costOfRenewal(null, 5)).toBe(1);
});

test("100,000 leases that are renewed every third of their ttl are never refused, all at once neither", () => {
  const { clock, run, begin } = stage();
  for (let second = 0; second < 20; second++) {
    expect(run(10_000, 0)).toBe(10_000);
    clock.nowMs += 1_000;
  }
  // The connection is lost, and the client renews everything, a tenth of it too soon.
  const calls = Array.from({ length: 100_000 }, (_, lease) => begin(lease));
  expect(calls.every((over) => over !== undefined)).toBe(true);
  for (const [lease, over] of calls.entries()) over?.(lease % 10 === 0 ? 0.5 : 0);
  expect(run(10_000, 0)).toBe(10_000);
});

test("calls for one lease at a time pay in advance, and what was taken together is given back within a second", () => {
  const { clock, begin, run } = stage();
  const calls = Array.from({ length: 5_000 }, () => begin(1)).filter((over) => over !== undefined);
  expect(calls).toHaveLength(RENEWALS_SPARE + 1);
  for (const over of calls) over(1);
  expect(run(1, 0)).toBe(0);
  const unknown = stage();
  const together = Array.from({ length: 5_000 }, (_, lease) => unknown.begin(lease));
  for (const over of together) over?.(1);
  unknown.clock.nowMs += ((RENEWALS_DEBT_MAX + 1) * 1_000) / RENEWALS_PER_SECOND;
  expect(unknown.run(1, 0)).toBe(1);
  clock.nowMs += 1_000;
  expect(run(1, 0)).toBe(1);
});

test("what the database could not answer costs nothing, and each client pays for itself", () => {
  const { run, begin } = stage();
  expect(run(5_000, null)).toBe(5_000);
  expect(run(5_000, 1)).toBe(RENEWALS_SPARE);
  expect(begin(1, "token:b")).toBeDefined();
  expect(begin(1, {})).toBeDefined();
});
