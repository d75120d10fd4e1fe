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
  const wait = { nowUs: NOW_US, lock: held(1), limit: 1, holders: [holder(0)], waiters: [], asked: ONE };
  const played = estimate({
    ...wait,
    ahead: overrides.waiters?.length ?? 0,
    recent: TEN_SECONDS,
    ...overrides,
  });
  return played && [played.lowUs, played.medianUs, played.highUs].map((us) => us / SECOND_US);
}

const held = (permits: number, readers = 0) => {
  return { ...FREE_LOCK, heldPermits: permits, sharedHolders: readers, holders: permits + readers };
};
const TWO = [holder(7), holder(2)];
const READERS = [holder(7, READER), holder(2, READER)];

describe("a wait", () => {
  test.each<[string, Partial<PlayedWait>, number]>([
    ["lasts as long as a lease", {}, 10],
    ["lasts as long as the holder has left", { holders: [holder(4)] }, 6],
    ["lasts longer by each lease before it", { waiters: [ONE, ONE] }, 30],
    [
      "behind a crowd of which only some were read lasts as long as the read ones let expect",
      { waiters: [ONE, ONE], ahead: 20 },
      300,
    ],
    ["is over when a permit is free", { lock: held(2), limit: 2, holders: TWO }, 3],
    [
      "is over when as many permits are free as the claim asks for",
      { lock: held(2), limit: 2, holders: TWO, asked: { mode: "permit", permits: 2 } },
      8,
    ],
    [
      "of a writer lasts until all readers are gone",
      { lock: held(0, 2), holders: READERS, asked: WRITER },
      8,
    ],
    [
      "of readers behind a writer is one",
      { lock: held(0, 2), holders: READERS, waiters: [WRITER, READER, READER], asked: READER },
      18,
    ],
    ["goes on beyond waiters that never fit", { waiters: [{ mode: "permit", permits: 5 }] }, 10],
    [
      "behind a holder that has outlasted all recent leases lasts as long as a new one",
      { holders: [holder(500)] },
      10,
    ],
    [
      "behind many holders, of which only some were read, lasts as if those were all",
      {
        lock: held(400),
        limit: 400,
        holders: [8, 6, 4, 2].map((age) => holder(age)),
        asked: { mode: "permit", permits: 150 },
      },
      4,
    ],
  ])("%s", (_, wait, seconds) => {
    expect(waits(wait)).toEqual([seconds, seconds, seconds]);
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
      const all = { ...wait, lock: held(holders.length), holders: holders.map((age) => holder(age)) };
      const [low = -1, median = -1, high = -1] = waits(all) ?? [];
      expect(waits(all)).toEqual([low, median, high]);
      expect(low).toBeGreaterThanOrEqual(0);
      expect(median).toBeGreaterThanOrEqual(low);
      expect(high).toBeGreaterThanOrEqual(median);
    }),
  );
});
