// Which waiters count as alive: signs of life, lost streams, and leases that no client is known to have fetched.

import { describe, expect, test } from "vitest";
import type { Claim } from "../../server/core/claim.ts";
import { ATTACHED_FOR_US, claimOf, GRACE_US, HERE, OneLock, SECOND_US, THERE } from "./one-lock.ts";

/** A lock that is held without end, and a ticket that waits for it. */
function waitingBehind(options: Parameters<OneLock["ticket"]>[0] = {}) {
  const lock = new OneLock();
  const holder = lock.lease({ ttlUs: null });
  return { lock, holder, ticket: lock.ticket(options) };
}

describe("attach", () => {
  test("keeps the place for as long as the replica's heartbeat counts", () => {
    const { lock, ticket } = waitingBehind({ replica: null });
    lock.pass(GRACE_US - 1);
    expect(claimOf(lock.attach(ticket, THERE), "waiting")).toMatchObject({
      replica: THERE,
      deadlineUs: lock.nowUs + ATTACHED_FOR_US,
    });
  });

  test("without a replica keeps the place for the grace period, and does not shorten what a stream was promised", () => {
    const { lock, ticket } = waitingBehind();
    const promised = lock.now(ticket).deadlineUs;
    expect(claimOf(lock.attach(ticket, null), "waiting")).toMatchObject({
      replica: HERE,
      deadlineUs: promised,
    });
    lock.pass(ATTACHED_FOR_US - 1);
    expect(claimOf(lock.attach(ticket, null), "waiting").deadlineUs).toBe(lock.nowUs + GRACE_US);
  });

  test("never keeps the place beyond the longest wait", () => {
    const { lock, ticket } = waitingBehind({ maxWaitUs: 12 * SECOND_US });
    const until = lock.nowUs + 12 * SECOND_US;
    lock.pass(SECOND_US);
    expect(claimOf(lock.attach(ticket), "waiting").deadlineUs).toBe(until);
    lock.pass(11 * SECOND_US);
    expect(claimOf(lock.attach(ticket), "ended").endReason).toBe("timed_out");
  });

  test("fails in the microsecond in which the place lapses", () => {
    const { lock, ticket } = waitingBehind({ replica: null });
    lock.pass(GRACE_US);
    expect(claimOf(lock.attach(ticket), "ended").endReason).toBe("lapsed");
  });

  test("needs the secret", () => {
    const { lock, ticket } = waitingBehind();
    expect(lock.attach({ ...ticket, secret: "x".repeat(22) })).toEqual({ kind: "unknown_claim" });
    expect(lock.attach({ ...ticket, ticketNumber: 99n })).toEqual({ kind: "unknown_claim" });
  });

  test("fetches a lease that was granted meanwhile, without extending it", () => {
    const { lock, holder, ticket } = waitingBehind();
    lock.release(holder);
    const granted = lock.now(ticket);
    lock.pass(5 * SECOND_US);
    const whole = { provisional: false, deadlineUs: (granted.grantedAtUs as number) + 30 * SECOND_US };
    expect(claimOf(lock.attach(ticket), "held")).toEqual({ ...granted, ...whole });
    expect(lock.now(ticket).provisional).toBe(false);
  });
});

describe("a grant to a waiter", () => {
  test.each([
    ["nobody listens", null],
    ["its stream is here", HERE],
    ["another replica holds its stream", THERE],
  ])("ends with the grace period if %s and no client fetches it, even without expiry", (_when, replica) => {
    const { lock, holder, ticket } = waitingBehind({ replica, ttlUs: null });
    const next = lock.ticket();
    lock.release(holder);
    expect(lock.now(ticket)).toMatchObject({ provisional: true, deadlineUs: lock.nowUs + GRACE_US });
    lock.pass(GRACE_US - 1);
    lock.attach(next);
    lock.pass(1).advance();
    expect(lock.states(ticket, next)).toEqual(["lapsed", "held"]);
  });

  test.each([
    { ttlUs: 2 * SECOND_US, after: 2 * SECOND_US },
    { ttlUs: GRACE_US, after: GRACE_US },
    { ttlUs: GRACE_US + 1, after: GRACE_US },
    { ttlUs: null, after: GRACE_US },
  ])("that no client fetches lapses, however short its TTL is: %o", ({ ttlUs, after }) => {
    const { lock, holder, ticket } = waitingBehind({ ttlUs });
    lock.release(holder);
    lock.pass(after - 1).advance();
    expect(lock.states(ticket)).toEqual(["held"]);
    lock.pass(1).advance();
    expect(lock.states(ticket)).toEqual(["lapsed"]);
  });

  test("runs from the grant if an attach fetches it, and from now if it is renewed", () => {
    const { lock, holder, ticket } = waitingBehind({ replica: THERE });
    lock.release(holder);
    const grantedAtUs = lock.nowUs;
    lock.pass(4 * SECOND_US);
    const fetched = claimOf(lock.attach(ticket, THERE), "held");
    expect(fetched).toMatchObject({ provisional: false, deadlineUs: grantedAtUs + 30 * SECOND_US });
    expect(claimOf(lock.renew(ticket), "held").deadlineUs).toBe(lock.nowUs + 30 * SECOND_US);
  });
});

describe("detach", () => {
  test("starts the grace period, in which the client finds its place through any replica", () => {
    const { lock, ticket } = waitingBehind();
    const behind = lock.ticket();
    expect(lock.detach(ticket)).toEqual({ kind: "done" });
    expect(lock.now(ticket)).toMatchObject({ replica: null, deadlineUs: lock.nowUs + GRACE_US });
    lock.pass(GRACE_US - 1);
    expect(claimOf(lock.attach(ticket, THERE), "waiting").ticketNumber).toBeLessThan(behind.ticketNumber);
  });

  test("lets the others move up after the grace period", () => {
    const { lock, holder, ticket } = waitingBehind();
    lock.detach(ticket);
    lock.pass(GRACE_US - 1);
    const next = lock.ticket();
    lock.pass(1).release(holder);
    expect(lock.states(ticket, next)).toEqual(["lapsed", "held"]);
  });

  test("does nothing if another replica has the waiter by now", () => {
    const { lock, ticket } = waitingBehind();
    lock.attach(ticket, THERE);
    const kept = lock.now(ticket);
    lock.detach(ticket, HERE);
    expect(lock.now(ticket)).toEqual(kept);
  });

  test("does not restart the grace period if it is repeated", () => {
    const { lock, ticket } = waitingBehind();
    lock.detach(ticket);
    const detached = lock.now(ticket);
    lock.pass(SECOND_US).detach(ticket);
    expect(lock.now(ticket)).toEqual(detached);
  });

  test("of an unknown or ended claim does nothing", () => {
    const { lock, ticket } = waitingBehind();
    lock.release(ticket);
    const ended = lock.now(ticket);
    expect(lock.detach(ticket)).toEqual({ kind: "done" });
    expect(lock.detach({ ...ticket, ticketNumber: 99n })).toEqual({ kind: "done" });
    expect(lock.now(ticket)).toEqual(ended);
  });
});

describe("detach of a lease that was granted after a wait", () => {
  test("changes nothing, because the grace period runs already", () => {
    const { lock, holder, ticket } = waitingBehind();
    lock.release(holder);
    const granted = lock.now(ticket);
    lock.pass(SECOND_US).detach(ticket);
    expect(lock.now(ticket)).toEqual(granted);
  });

  test("in the granting transaction leaves the full lease to a client that returns", () => {
    const { lock, holder, ticket } = waitingBehind();
    lock.transact(
      { verb: "release", ref: holder, repeated: false },
      { verb: "detach", ref: ticket, replica: HERE },
    );
    const grantedAtUs = lock.nowUs;
    lock.pass(GRACE_US - 1);
    expect(claimOf(lock.attach(ticket, THERE), "held")).toMatchObject({
      provisional: false,
      deadlineUs: grantedAtUs + 30 * SECOND_US,
    });
  });

  const FETCHED: [string, (lock: OneLock, ticket: Claim) => void][] = [
    ["an attach", (lock, ticket) => lock.attach(ticket)],
    ["a repeated Acquire", (lock, ticket) => lock.acquire({ requestId: ticket.requestId })],
    ["a Renew", (lock, ticket) => lock.renew(ticket)],
  ];
  test.each(FETCHED)("does nothing after %s has fetched it", (_by, fetch) => {
    const { lock, holder, ticket } = waitingBehind();
    lock.release(holder);
    fetch(lock, ticket);
    const fetched = lock.now(ticket);
    expect(fetched.provisional).toBe(false);
    lock.detach(ticket);
    expect(lock.now(ticket)).toEqual(fetched);
  });
});

test("a lease that is fetched after the clock was set ahead by an hour runs for its time from then", () => {
  const { lock, holder, ticket } = waitingBehind({ replica: null });
  lock.release(holder);
  lock.jump(3_600 * SECOND_US);
  const jumpedAtUs = lock.nowUs;
  lock.pass(SECOND_US);
  expect(claimOf(lock.attach(ticket), "held").deadlineUs).toBe(jumpedAtUs + 30 * SECOND_US);
});
