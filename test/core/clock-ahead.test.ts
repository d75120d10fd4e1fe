// The database's clock was ahead and was set back: what was given meanwhile ends in its own time by the clock as it is now,
// and a client that is there loses nothing.

import { describe, expect, test } from "vitest";
import { PLACE_US_MAX } from "../../server/core/bounds.ts";
import { isFromAhead } from "../../server/core/clock-ahead.ts";
import { CLAIM } from "../support/claims.ts";
import { ATTACHED_FOR_US, claimOf, GRACE_US, OneLock, SECOND_US } from "./one-lock.ts";

const HOUR_US = 3_600 * SECOND_US;
const TTL_US = 30 * SECOND_US;

describe.each([10 * SECOND_US, HOUR_US])("after the clock was %i us ahead", (aheadUs) => {
  test("a lease ends when its TTL has passed once more", () => {
    const lock = new OneLock().pass(aheadUs);
    const lease = lock.lease({ ttlUs: TTL_US });
    lock.setBack(aheadUs).advance(lease);
    lock.pass(TTL_US - 1).advance();
    expect(lock.states(lease)).toEqual(["held"]);
    lock.pass(1).advance();
    expect(lock.states(lease)).toEqual(["expired"]);
  });

  test("a lease that was renewed meanwhile, too", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: TTL_US });
    lock.jump(aheadUs);
    lock.renew(lease);
    lock.setBack(aheadUs).pass(1).advance(lease);
    expect(lock.now(lease)).toMatchObject({
      deadlineUs: lock.nowUs + TTL_US,
      grantedAtUs: lease.grantedAtUs,
    });
  });

  test("a lease that nobody has fetched lapses after the grace period, or has its whole time from now", () => {
    const lock = new OneLock({ limit: 2 }).pass(aheadUs);
    const holders = [lock.lease(), lock.lease()];
    const tickets = [lock.ticket({ ttlUs: TTL_US }), lock.ticket({ ttlUs: TTL_US })] as const;
    for (const holder of holders) lock.release(holder);
    lock.setBack(aheadUs).advance(...tickets);
    const [fetched, left] = tickets;
    expect(claimOf(lock.attach(fetched), "held").deadlineUs).toBe(lock.nowUs + TTL_US);
    lock.pass(GRACE_US - 1).advance();
    expect(lock.states(fetched, left)).toEqual(["held", "held"]);
    lock.pass(1).advance();
    expect(lock.states(fetched, left)).toEqual(["held", "lapsed"]);
  });

  test("a place lasts as long as a heartbeat, and a bounded wait as long as it was asked for", () => {
    const lock = new OneLock();
    lock.lease({ ttlUs: null });
    lock.pass(aheadUs);
    const left = lock.ticket();
    const bounded = lock.ticket({ maxWaitUs: ATTACHED_FOR_US + SECOND_US });
    lock.setBack(aheadUs).advance(left, bounded);
    lock.pass(ATTACHED_FOR_US - 1).advance();
    lock.attach(bounded);
    expect(lock.states(left, bounded)).toEqual(["waiting", "waiting"]);
    lock.pass(1).advance();
    expect(lock.states(left, bounded)).toEqual(["lapsed", "waiting"]);
    lock.pass(SECOND_US - 1).advance();
    expect(lock.states(bounded)).toEqual(["waiting"]);
    lock.pass(1).advance();
    expect(lock.states(bounded)).toEqual(["timed_out"]);
  });

  test("a time until the next grant counts from when the lease was brought back", () => {
    const lock = new OneLock().pass(aheadUs);
    const terms = { minIntervalUs: 60 * SECOND_US, lockDelayUs: null, statusIfLost: null, ifStatus: [] };
    const lease = lock.lease({ ttlUs: TTL_US, terms });
    lock.setBack(aheadUs).advance(lease);
    const broughtBackUs = lock.nowUs;
    lock.pass(SECOND_US).release(lease);
    expect(lock.lock.record?.notBeforeUs).toBe(broughtBackUs + 60 * SECOND_US);
  });

  test("a second look, and the clock set ahead again, change nothing", () => {
    const lock = new OneLock().pass(aheadUs);
    const lease = lock.lease({ ttlUs: TTL_US });
    lock.setBack(aheadUs).advance(lease);
    const kept = lock.now(lease);
    lock.pass(SECOND_US).advance(lease);
    expect(lock.now(lease)).toEqual(kept);
    lock.jump(aheadUs).advance(lease);
    expect(lock.now(lease)).toEqual(kept);
    lock.pass(TTL_US - 1).advance();
    expect(lock.states(lease)).toEqual(["held"]);
  });
});

describe("a clock that was set back", () => {
  test("a little, changes nothing", () => {
    const lock = new OneLock({ limit: 1 });
    const lease = lock.lease({ ttlUs: TTL_US });
    const ticket = lock.ticket({ maxWaitUs: TTL_US });
    const kept = [lock.now(lease), lock.now(ticket)];
    lock.setBack(SECOND_US / 2).advance(lease, ticket);
    expect([lock.now(lease), lock.now(ticket)]).toEqual(kept);
  });

  test("leaves a lease without end as it is", () => {
    const lock = new OneLock().pass(HOUR_US);
    const lease = lock.lease({ ttlUs: null });
    lock.setBack(HOUR_US).advance(lease);
    lock.pass(10 * HOUR_US).advance(lease);
    expect(lock.now(lease)).toMatchObject({ state: "held", deadlineUs: null });
  });

  test("takes no place that is renewed, and keeps one from before for no longer than a heartbeat", () => {
    const lock = new OneLock();
    lock.lease({ ttlUs: null });
    const [here, left] = [lock.ticket(), lock.ticket()];
    lock.jump(HOUR_US);
    lock.attach(here);
    lock.attach(left);
    lock.setBack(HOUR_US).advance(here, left);
    lock.pass(ATTACHED_FOR_US - 1);
    lock.attach(here);
    lock.pass(1).advance();
    expect(lock.states(here, left)).toEqual(["waiting", "lapsed"]);
  });
});

test("what has ended, and places and leases within their longest time, are not from a clock that was ahead", () => {
  const nowUs = 1_000 * SECOND_US;
  const from = (claim: Partial<typeof CLAIM>) =>
    isFromAhead({ ...CLAIM, requestedAtUs: nowUs, grantedAtUs: null, ...claim }, nowUs);
  expect(from({ state: "ended", deadlineUs: nowUs + HOUR_US, requestedAtUs: nowUs + HOUR_US })).toBe(false);
  expect(from({ state: "waiting", deadlineUs: nowUs + PLACE_US_MAX })).toBe(false);
  expect(from({ state: "waiting", deadlineUs: nowUs + PLACE_US_MAX + SECOND_US })).toBe(true);
  expect(from({ state: "held", ttlUs: TTL_US, deadlineUs: nowUs + TTL_US + SECOND_US / 2 })).toBe(false);
  expect(from({ state: "held", ttlUs: TTL_US, deadlineUs: nowUs + TTL_US + SECOND_US })).toBe(true);
  expect(from({ state: "held", ttlUs: null, deadlineUs: nowUs + PLACE_US_MAX })).toBe(false);
});
