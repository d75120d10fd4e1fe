// The database's clock was ahead and was set back: what was given meanwhile ends in its own time by the clock as it is now,
// and a client that is there loses nothing.

import { describe, expect, test } from "vitest";
import { PLACE_US_MAX } from "../../server/core/bounds.ts";
import { isFromAhead } from "../../server/core/transitions.ts";
import { CLAIM } from "../support/claims.ts";
import { ATTACHED_FOR_US, OneLock, SECOND_US } from "./one-lock.ts";

const HOUR_US = 3_600 * SECOND_US;
const TTL_US = 30 * SECOND_US;

describe.each([10 * SECOND_US, HOUR_US])("after the clock was %i us ahead", (aheadUs) => {
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
