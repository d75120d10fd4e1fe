// How fast a lock may be granted: the algorithm in random histories against an independent check, and what a lock does with
// it in cases that random histories reach seldom.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import { effectiveRate, type LimitRule } from "../../server/core/limit.ts";
import { settingsOf, settingsText } from "../../server/core/noted-change.ts";
import { afterTaking, availableNow, isAllowed, type Rate } from "../../server/core/rate.ts";
import { seed } from "../support/seed.ts";
import { claimOf, NAME, OneLock, SECOND_US } from "./one-lock.ts";

const TEN_YEARS_US = 10 * 365.25 * 24 * 3_600 * SECOND_US;
const numbers = fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 1_000_000 }));
/** Whatever may be set, whether or not it divides evenly. */
const rates: fc.Arbitrary<Rate> = fc
  .record({
    permits: numbers,
    perUs: fc.oneof(
      fc.constantFrom(SECOND_US, 60 * SECOND_US, 24 * 24 * 3_600 * SECOND_US),
      fc.integer({ min: SECOND_US, max: 100 * SECOND_US }),
    ),
    burst: numbers,
  })
  .filter(({ permits, perUs, burst }) => (burst * perUs) / permits <= TEN_YEARS_US);

/** The time of one permit, rounded up. */
const eachUs = ({ permits, perUs }: Rate) => Math.ceil(perUs / permits);

test(`in any span, grants take no more than a burst and what comes back meanwhile (seed ${seed})`, () => {
  const tries = fc.array(
    fc.record({
      // In thousandths of the time of a permit.
      laterBy: fc.oneof(fc.constant(0), fc.nat(999), fc.nat(10_000)),
      unsureUs: fc.constantFrom(0, 0, 1, 20_000),
      permits: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 20 })),
    }),
    { minLength: 1, maxLength: 100 },
  );
  const property = fc.property(rates, tries, (rate, all) => {
    let untilUs = 0;
    let nowUs = 1_700_000_000 * SECOND_US;
    const grants: { atUs: number; permits: number }[] = [];
    for (const { laterBy, unsureUs, permits: wanted } of all) {
      nowUs += Math.ceil((laterBy * rate.perUs) / rate.permits / 1_000);
      const permits = Math.min(wanted, rate.burst);
      const clock = { atLeastUs: nowUs - unsureUs };
      if (!isAllowed(rate, untilUs, permits, clock)) continue;
      untilUs = afterTaking(rate, untilUs, permits, clock);
      grants.push({ atUs: nowUs, permits });
      expectWithin(rate, grants);
    }
  });
  fc.assert(property, { seed, numRuns: 1_000 });
});

/** All spans that end with the last grant. A burst of single permits rounds each of them up, and may all the same be whole. */
function expectWithin(rate: Rate, grants: readonly { atUs: number; permits: number }[]): void {
  const endUs = grants.at(-1)?.atUs ?? 0;
  const roundedUs = Math.min(rate.burst, eachUs(rate));
  let taken = 0;
  for (const { atUs, permits } of grants.toReversed()) {
    taken += permits;
    const spanUs = endUs - atUs + 20_000 + roundedUs;
    const excess = BigInt(taken - rate.burst) * BigInt(rate.perUs) - BigInt(rate.permits) * BigInt(spanUs);
    if (excess > 0n) expect.fail(`${taken} permits within ${endUs - atUs} us at ${JSON.stringify(rate)}`);
  }
  expect(taken).toBeGreaterThan(0);
}

test(`a whole burst may be taken at once, in any parts, and not one permit more (seed ${seed})`, () => {
  // Where roundings may add up to a permit, the burst is not kept to the permit.
  const few = rates.filter(({ permits, perUs, burst }) => burst <= 200 && perUs >= permits * 200);
  const property = fc.property(few, fc.integer({ min: 1, max: 3 }), (rate, part) => {
    const lock = new OneLock({ limit: 1_000_000 });
    lock.setRate(rate);
    const asks = Array.from({ length: Math.floor(rate.burst / part) }, () => part);
    if (rate.burst % part > 0) asks.push(rate.burst % part);
    for (const permits of asks) claimOf(lock.spend({ permits, mayWait: false }), "ended");
    expect(lock.spend({ mayWait: false })).toMatchObject({ kind: "refused", reason: "rate" });
  });
  fc.assert(property, { seed });
});

test(`the head of the queue is granted at the very instant that its wake-up names, and never later (seed ${seed})`, () => {
  const wanted = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 12 });
  const some = rates.filter(({ burst }) => burst >= 5);
  const property = fc.property(some, wanted, (rate, all) => {
    const lock = new OneLock({ limit: 1_000_000 });
    lock.setRate(rate);
    const startUs = lock.nowUs;
    lock.spend({ permits: rate.burst });
    const tickets = all.map((permits) => claimOf(lock.spend({ permits, replica: null }), "waiting"));
    let taken = 0;
    for (const [index, ticket] of tickets.entries()) {
      const wakesAtUs = lock.lock.wakesAtUs as number;
      // Nobody gives up here.
      for (const claim of lock.rows.claims)
        if (claim.state === "waiting") claim.deadlineUs = wakesAtUs + SECOND_US;
      lock.nowUs = wakesAtUs - 1;
      lock.advance();
      expect(lock.states(ticket)).toEqual(["waiting"]);
      lock.pass(1).advance();
      expect(lock.states(ticket)).toEqual(["spent"]);
      taken += ticket.permits;
      // As if one permit after the other came back, each rounded by less than a microsecond.
      const exactUs = (taken * rate.perUs) / rate.permits;
      expect(Math.abs(lock.nowUs - startUs - exactUs)).toBeLessThanOrEqual(index + 1 + eachUs(rate));
    }
    expect(lock.lock.wakesAtUs).toBeNull();
  });
  fc.assert(property, { seed });
});

const PER_SECOND: Rate = { permits: 2, perUs: SECOND_US, burst: 4 };
const HALF_US = SECOND_US / 2;

/** A lock that many may hold, and a rate of which nothing is left. */
function spentLock(rate = PER_SECOND): OneLock {
  const lock = new OneLock({ limit: 100 });
  lock.setRate(rate);
  claimOf(lock.spend({ permits: rate.burst, mayWait: false }), "ended");
  return lock;
}

/** How long a try of so many permits must wait; 0 if it is granted. */
function retryAfterUs(lock: OneLock, permits = 1): number {
  const outcome = lock.acquire({ permits, mayWait: false });
  if (outcome.kind !== "refused") return 0;
  expect(outcome.reason).toBe("rate");
  return outcome.forUs ?? 0;
}

describe("a rate", () => {
  test("refuses a try with the exact time from which on it is granted", () => {
    const lock = spentLock();
    expect(lock.acquire({ permits: 3, mayWait: false })).toMatchObject({
      ...{ kind: "refused", reason: "rate", forUs: 3 * HALF_US },
      rate: { ...PER_SECOND, source: "name", version: 2n, reason: "a test" },
    });
    lock.pass(3 * HALF_US - 1_000);
    expect(retryAfterUs(lock, 3)).toBe(1_000);
    lock.pass(1_000);
    expect(retryAfterUs(lock, 3)).toBe(0);
  });

  test("is spent by leases, too, and a release gives nothing back", () => {
    const lock = new OneLock();
    lock.setRate({ ...PER_SECOND, burst: 1 });
    lock.release(lock.lease());
    expect(retryAfterUs(lock)).toBe(HALF_US);
  });

  test("keeps the order of the queue: a small request waits behind a large one, and a try behind both is told for how long", () => {
    const lock = spentLock();
    const large = lock.ticket({ permits: 4 });
    expect(lock.acquire()).toMatchObject({
      kind: "waiting",
      place: { ahead: 1, permitsAhead: 4, rateWaitUs: 5 * HALF_US },
    });
    const busy = { kind: "refused", reason: "busy", forUs: 6 * HALF_US };
    expect(lock.acquire({ mayWait: false })).toMatchObject(busy);
    lock.pass(4 * HALF_US - 1).advance();
    expect(lock.states(large)).toEqual(["waiting"]);
    expect(lock.lock.wakesAtUs).toBe(lock.nowUs + 1);
    lock.pass(1).advance();
    expect(lock.states(large)).toEqual(["held"]);
  });

  test("wakes the lock only for a first waiter that fits beside the holders", () => {
    const lock = spentLock();
    lock.setLimit(3);
    lock.pass(SECOND_US);
    const lease = lock.lease({ permits: 2, ttlUs: null });
    const ticket = lock.ticket({ permits: 2, ttlUs: null });
    expect(lock.lock.wakesAtUs).toBeNull();
    lock.release(lease);
    expect(lock.lock.wakesAtUs).toBe(lock.nowUs + SECOND_US);
    lock.pass(SECOND_US).advance();
    expect(lock.states(ticket)).toEqual(["held"]);
    expect(lock.lock.wakesAtUs).toBeNull();
  });

  test.each([1, 4])(
    "keeps nobody for longer than a burst of %i after the clock was set back by an hour",
    (burst) => {
      const lock = new OneLock({ limit: 100 });
      lock.setRate({ ...PER_SECOND, burst });
      lock.spend({ permits: burst });
      lock.setBack(3_600 * SECOND_US);
      expect(retryAfterUs(lock)).toBe(HALF_US);
      expect(retryAfterUs(lock, burst)).toBe(burst * HALF_US);
    },
  );

  test("that replaces another counts what was taken, up to its own burst", () => {
    const lock = spentLock({ permits: 1, perUs: 60 * SECOND_US, burst: 2 });
    lock.setRate({ permits: 1, perUs: 100 * SECOND_US, burst: 10 });
    expect(retryAfterUs(lock, 9)).toBe(20 * SECOND_US);
    lock.setRate({ permits: 1, perUs: SECOND_US, burst: 3 });
    expect(retryAfterUs(lock)).toBe(SECOND_US);
  });

  test("that is set again refills nothing, and neither does a new limit", () => {
    const lock = spentLock();
    lock.setRate(PER_SECOND);
    lock.setLimit(50);
    expect(retryAfterUs(lock)).toBe(HALF_US);
  });

  test("that is removed grants those that wait for it at once, and is not refilled when it comes back", () => {
    const lock = spentLock();
    const ticket = lock.ticket();
    lock.setRate(null);
    expect(lock.states(ticket)).toEqual(["held"]);
    expect(lock.lock).toMatchObject({ rate: null, wakesAtUs: null, limit: 100 });
    lock.setRate(PER_SECOND);
    expect(retryAfterUs(lock)).toBe(HALF_US);
  });

  test("with a burst too small ends new requests and, once it is first, a waiter as never_fits", () => {
    const lock = spentLock();
    const [first, large] = [lock.ticket({ permits: 2 }), lock.ticket({ permits: 4 })];
    lock.setRate({ ...PER_SECOND, burst: 3 });
    const rate = { burst: 3, source: "name" };
    for (const mayWait of [true, false])
      expect(lock.acquire({ permits: 4, mayWait })).toMatchObject({
        kind: "refused",
        reason: "never_fits",
        rate,
      });
    expect(lock.states(first, large)).toEqual(["waiting", "waiting"]);
    lock.pass(SECOND_US).advance();
    expect(lock.states(first, large)).toEqual(["held", "never_fits"]);
  });

  test("does not hide that a limit is too low", () => {
    const lock = spentLock();
    lock.setLimit(3);
    const refused = lock.acquire({ permits: 5 });
    expect(refused).toMatchObject({ kind: "refused", reason: "never_fits", limit: { limit: 3 } });
    expect(refused).not.toHaveProperty("rate");
  });
});

describe("a spend", () => {
  const spent = (claim: Partial<Claim>) => ({
    kind: "ended",
    claim: { state: "ended", endReason: "spent", ...claim },
  });

  test("is granted and ended at once, without a rate, too, and holds nothing", () => {
    const lock = new OneLock();
    expect(lock.spend()).toMatchObject(
      spent({ fencingToken: 1n, grantedAtUs: lock.nowUs, endedAtUs: lock.nowUs }),
    );
    expect(lock.events.map(({ kind }) => kind)).toEqual(["granted", "ended"]);
    expect(lock.lock).toMatchObject({ holders: 0, heldPermits: 0, lastToken: 1n, record: null });
    const afterWait = lock.spend({ afterWait: true });
    expect(afterWait).toMatchObject(spent({ fencingToken: 2n, provisional: false }));
  });

  test("that waits is granted and ended when the rate allows it, and makes room for the next one in the same transaction", () => {
    const lock = spentLock();
    const [one, two, three] = [lock.spend(), lock.spend(), lock.spend()].map((ask) =>
      claimOf(ask, "waiting"),
    );
    lock.pass(SECOND_US).advance();
    expect(lock.states(one as Claim, two as Claim, three as Claim)).toEqual(["spent", "spent", "waiting"]);
    expect(lock.now(one as Claim)).toMatchObject({
      grantedAtUs: lock.nowUs,
      provisional: false,
      fencingToken: 2n,
    });
  });

  test("needs no room beside holders, and may be for more permits than the limit, but waits its turn and through a pause", () => {
    const lock = new OneLock();
    lock.lease({ mode: "exclusive" });
    expect(lock.spend({ permits: 5 })).toMatchObject(spent({ permits: 5 }));
    const first = lock.ticket();
    const second = claimOf(lock.spend({ permits: 5 }), "waiting");
    expect(lock.spend({ mayWait: false })).toMatchObject({ kind: "refused", reason: "busy" });
    lock.release(first);
    expect(lock.states(second)).toEqual(["spent"]);
    lock.setLimit(0);
    expect(lock.spend({ mayWait: false })).toMatchObject({ kind: "refused", reason: "paused" });
    const third = claimOf(lock.spend(), "waiting");
    lock.setLimit(1);
    expect(lock.states(third)).toEqual(["spent"]);
  });

  test("that is repeated is answered with the same token and takes nothing, in the same transaction and later", () => {
    const lock = new OneLock({ limit: 100 });
    lock.setRate(PER_SECOND);
    const ask = lock.asks({ ttlUs: 0, permits: 2, requestId: "mine" });
    const [first, second] = lock.transact(ask, ask);
    expect(second).toEqual(first);
    const { rateUntilUs } = lock.lock;
    lock.pass(100 * SECOND_US);
    expect(lock.do(ask)).toEqual(first);
    expect(lock.lock.rateUntilUs).toBe(rateUntilUs);
    expect(lock.lock.lastToken).toBe(1n);
    expect(lock.attach(claimOf(first as never, "ended"))).toEqual(first);
  });

  test("has a request id that no lease can have, and no other spend", () => {
    const lock = new OneLock({ limit: 100 });
    const reused = { kind: "request_id_reused" };
    lock.spend({ requestId: "spend" });
    lock.lease({ requestId: "lease" });
    expect(lock.acquire({ requestId: "spend" })).toEqual(reused);
    expect(lock.spend({ requestId: "lease" })).toEqual(reused);
    expect(lock.spend({ requestId: "spend", permits: 2 })).toEqual(reused);
  });

  test("takes an attempt, and is no run", () => {
    const lock = new OneLock();
    const update = { verb: "update_record", name: NAME, expectedVersion: undefined } as const;
    lock.do({ ...update, attemptsLeft: 1, notBefore: undefined, status: "failed" });
    lock.spend();
    expect(lock.lock.record).toMatchObject({ attemptsLeft: 0, status: "failed", lastRun: null });
    expect(lock.spend()).toMatchObject({ kind: "refused", reason: "exhausted" });
  });
});

describe("the rate in force", () => {
  const rule = (prefix: string, rate: Rate | null, limit: number | null = null): LimitRule => {
    return { prefix, limit, rate, queueRules: null, version: 3n, reason: `for ${prefix}*`, changeMark: 0n };
  };
  const unset = {
    name: "etl/load",
    rate: null,
    queueRules: null,
    limitVersion: 7n,
    limitReason: "small disk",
  };
  const other: Rate = { permits: 1, perUs: SECOND_US, burst: 1 };
  const ofPattern = { ...PER_SECOND, source: "pattern", pattern: "etl/*", version: 3n, reason: "for etl/*" };

  test.each([
    ["none by default", unset, [rule("web/", other)], null],
    [
      "that of the exact name, which beats every pattern",
      { ...unset, rate: PER_SECOND },
      [rule("etl/load", other)],
      { ...PER_SECOND, source: "name", pattern: "", version: 7n, reason: "small disk" },
    ],
    [
      "that of the longest pattern with a rate, whatever limits longer ones have",
      unset,
      [rule("", other), rule("etl/", PER_SECOND), rule("etl/lo", null, 5), rule("e", other)],
      ofPattern,
    ],
  ])("is %s", (_, lock, rules, expected) => {
    for (const inOrder of [rules, rules.toReversed()]) expect(effectiveRate(lock, inOrder)).toEqual(expected);
  });
});

test("permits that may be taken now are shown to the permit, also where they do not come back in whole microseconds", () => {
  const rate: Rate = { permits: 3, perUs: SECOND_US, burst: 3 };
  let untilUs = 0;
  for (const left of [3, 2, 1]) {
    expect(availableNow(rate, untilUs, SECOND_US)).toBe(left);
    untilUs = afterTaking(rate, untilUs, 1, { atLeastUs: SECOND_US });
  }
  expect(availableNow(rate, untilUs, SECOND_US)).toBe(0);
  expect(availableNow(rate, untilUs, SECOND_US + eachUs(rate))).toBe(1);
  expect(availableNow(rate, untilUs, 60 * SECOND_US)).toBe(3);
});

test("a limit and a rate are read from the history's text as they were written", () => {
  for (const limit of [null, 0, 1_000_000])
    for (const rate of [null, PER_SECOND])
      expect(settingsOf(settingsText({ limit, rate, queueRules: null }))).toEqual({
        limit,
        rate,
        queueRules: null,
      });
});
