// How long a wait is likely to last: from recent leases, the ages of the holders and the place in the queue.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import { estimate, heldTimesUs, type PlayedWait } from "../../../server/engine/views/estimate.ts";
import { CLAIM, FREE_LOCK } from "../../support/claims.ts";

const SECOND_US = 1_000_000;
const NOW_US = 1_000 * SECOND_US;

/** Leases that were held for so many seconds. */
const leases = (...seconds: number[]): Claim[] =>
  seconds.map((each) => ({
    ...CLAIM,
    state: "ended",
    grantedAtUs: NOW_US,
    endedAtUs: NOW_US + each * SECOND_US,
    endReason: "released",
  }));
const TEN_SECONDS = leases(10, 10, 10, 10, 10);
const ONE = { mode: "permit", permits: 1 } as const;
const READER = { mode: "shared", permits: 1 } as const;
const WRITER = { mode: "exclusive", permits: 1 } as const;

const holder = (ageS: number, asked: Pick<Claim, "mode" | "permits"> = ONE): Claim => {
  return { ...CLAIM, ...asked, grantedAtUs: NOW_US - ageS * SECOND_US };
};

function waits(overrides: Partial<PlayedWait> = {}) {
  const held = { ...FREE_LOCK, heldPermits: 1, holders: 1 };
  const wait = { nowUs: NOW_US, lock: held, limit: 1, holders: [holder(0)], waiters: [], asked: ONE };
  const played = estimate({
    ...wait,
    ahead: overrides.waiters?.length ?? 0,
    recent: TEN_SECONDS,
    ...overrides,
  });
  return played && [played.lowUs, played.medianUs, played.highUs].map((us) => us / SECOND_US);
}

describe("a wait", () => {
  test("lasts as long as the holder has left", () => {
    expect(waits()).toEqual([10, 10, 10]);
    expect(waits({ holders: [holder(4)] })).toEqual([6, 6, 6]);
  });

  test("lasts longer by each lease before it", () => {
    expect(waits({ waiters: [ONE, ONE] })).toEqual([30, 30, 30]);
  });

  test("behind a crowd of which only some were read lasts as long as the read ones let expect", () => {
    expect(waits({ waiters: [ONE, ONE], ahead: 20 })).toEqual([300, 300, 300]);
  });

  test("is over when as many permits are free as the claim asks for", () => {
    const lock = { ...FREE_LOCK, heldPermits: 2, holders: 2 };
    const holders = [holder(7), holder(2)];
    expect(waits({ lock, limit: 2, holders })).toEqual([3, 3, 3]);
    expect(waits({ lock, limit: 2, holders, asked: { mode: "permit", permits: 2 } })).toEqual([8, 8, 8]);
  });

  test("of a writer lasts until all readers are gone, and readers go on together", () => {
    const lock = { ...FREE_LOCK, sharedHolders: 2, holders: 2 };
    const holders = [holder(7, READER), holder(2, READER)];
    expect(waits({ lock, holders, asked: WRITER })).toEqual([8, 8, 8]);
    expect(waits({ lock, holders, waiters: [WRITER, READER, READER], asked: READER })).toEqual([18, 18, 18]);
  });

  test("goes on beyond waiters that never fit", () => {
    expect(waits({ waiters: [{ mode: "permit", permits: 5 }] })).toEqual([10, 10, 10]);
  });

  test("behind a holder that has outlasted all recent leases lasts as long as a new one", () => {
    expect(waits({ holders: [holder(500)] })).toEqual([10, 10, 10]);
  });

  test("behind many holders, of which only some were read, lasts as if those were all", () => {
    const lock = { ...FREE_LOCK, heldPermits: 400, holders: 400 };
    const holders = [holder(8), holder(6), holder(4), holder(2)];
    const asked = { mode: "permit", permits: 150 } as const;
    expect(waits({ lock, limit: 400, holders, asked })).toEqual([4, 4, 4]);
  });

  test("has a spread as wide as that of the recent leases", () => {
    const [low = 0, median = 0, high = 0] = waits({ recent: leases(1, 2, 3, 4, 5, 6, 7, 8, 9, 100) }) ?? [];
    expect(low).toBeLessThan(median);
    expect(median).toBeLessThan(high);
    expect(low).toBeGreaterThanOrEqual(1);
    expect(high).toBeLessThanOrEqual(100);
  });

  test("is estimated from five leases at least, that were released", () => {
    expect(waits({ recent: leases(1, 1, 1, 1) })).toBeNull();
    const expired = leases(9).map((claim): Claim => ({ ...claim, endReason: "expired" }));
    expect(waits({ recent: [...expired, ...leases(1, 1, 1, 1)] })).toBeNull();
    const neverHeld = leases(9).map((claim): Claim => ({ ...claim, grantedAtUs: null }));
    expect(waits({ recent: [...neverHeld, ...leases(1, 1, 1, 1)] })).toBeNull();
  });

  test("is estimated from the newest 100 leases", () => {
    const recent = [...leases(...Array.from({ length: 100 }, () => 10)), ...leases(99, 99, 99)];
    expect(heldTimesUs(recent)).toHaveLength(100);
    expect(waits({ recent })).toEqual([10, 10, 10]);
  });
});

const asked = fc.oneof(
  fc.record({ mode: fc.constant("permit" as const), permits: fc.integer({ min: 1, max: 4 }) }),
  fc.constantFrom(READER, WRITER),
);

test("an estimate is the same each time, in order, and never below 0", () => {
  const waiting = fc.record({
    limit: fc.integer({ min: 1, max: 4 }),
    waiters: fc.array(asked, { maxLength: 20 }),
    recent: fc.array(fc.nat({ max: 1_000 }), { minLength: 5, maxLength: 120 }).map((each) => leases(...each)),
    holders: fc.array(fc.nat({ max: 2_000 }), { minLength: 1, maxLength: 4 }),
  });
  fc.assert(
    fc.property(waiting, ({ holders, ...wait }) => {
      const count = holders.length;
      const held = {
        lock: { ...FREE_LOCK, heldPermits: count, holders: count },
        holders: holders.map((age) => holder(age)),
      };
      const [low = -1, median = -1, high = -1] = waits({ ...wait, ...held }) ?? [];
      expect(waits({ ...wait, ...held })).toEqual([low, median, high]);
      expect(low).toBeGreaterThanOrEqual(0);
      expect(median).toBeGreaterThanOrEqual(low);
      expect(high).toBeGreaterThanOrEqual(median);
    }),
  );
});
