// Time and order: a clock that jumps ahead or an outage takes no place or lease from a client, and a wrong counter
// blocks nothing.

import { describe, expect, test } from "vitest";
import { ATTACHED_FOR_US, claimOf, GRACE_US, HERE, NAME, OneLock, SECOND_US, THERE } from "./one-lock.ts";

const HOUR_US = 3_600 * SECOND_US;
const TTL_US = 30 * SECOND_US;

describe("after a jump ahead of the database's clock", () => {
  test("a lease is held until its TTL has passed once more, and then goes to the next waiter", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: TTL_US });
    const kept = lock.now(lease);
    lock.jump(HOUR_US);
    const next = lock.ticket();
    lock.pass(10 * SECOND_US).attach(next);
    lock.pass(10 * SECOND_US).attach(next);
    lock.pass(10 * SECOND_US - 1).advance();
    expect(lock.states(lease, next)).toEqual(["held", "waiting"]);
    expect(lock.now(lease)).toEqual(kept);
    lock.pass(1).advance();
    expect(lock.states(lease, next)).toEqual(["expired", "held"]);
  });

  test("a lease is extended even if the jump ends before its deadline", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: TTL_US });
    lock.pass(10 * SECOND_US).jump(SECOND_US);
    lock.pass(TTL_US - 1).advance();
    expect(lock.states(lease)).toEqual(["held"]);
    lock.pass(1).advance();
    expect(lock.states(lease)).toEqual(["expired"]);
  });

  test("a holder can renew although its deadline seems to have passed", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: TTL_US });
    lock.jump(HOUR_US).pass(SECOND_US);
    expect(claimOf(lock.renew(lease), "held").deadlineUs).toBe(lock.nowUs + TTL_US);
  });

  test("a lease that is granted or renewed after the jump ends with its own TTL", () => {
    const lock = new OneLock({ limit: 2 });
    const renewed = lock.lease({ ttlUs: HOUR_US });
    lock.jump(HOUR_US).pass(SECOND_US);
    const given = lock.lease({ ttlUs: 5 * SECOND_US });
    lock.renew(renewed, 5 * SECOND_US);
    lock.pass(5 * SECOND_US - 1).advance();
    expect(lock.states(given, renewed)).toEqual(["held", "held"]);
    lock.pass(1).advance();
    expect(lock.states(given, renewed)).toEqual(["expired", "expired"]);
  });

  test("a lease without end that no client has fetched lasts for the grace period", () => {
    const lock = new OneLock();
    const holder = lock.lease();
    const ticket = lock.ticket({ replica: null, ttlUs: null });
    lock.release(holder);
    lock.jump(HOUR_US).pass(GRACE_US - 1);
    lock.advance();
    expect(lock.states(ticket)).toEqual(["held"]);
    lock.pass(1).advance();
    expect(lock.states(ticket)).toEqual(["lapsed"]);
  });

  test.each([
    { who: "with a stream", asked: { replica: HERE }, end: "lapsed" },
    { who: "that polls", asked: { replica: null }, end: "lapsed" },
    { who: "with a longest wait", asked: { maxWaitUs: SECOND_US }, end: "timed_out" },
  ])("the place of a waiter $who lasts as long as a heartbeat", ({ asked, end }) => {
    const lock = new OneLock();
    lock.lease({ ttlUs: null });
    const ticket = lock.ticket(asked);
    lock.jump(HOUR_US).pass(ATTACHED_FOR_US - 1);
    lock.advance();
    expect(lock.states(ticket)).toEqual(["waiting"]);
    lock.pass(1).advance();
    expect(lock.states(ticket)).toEqual([end]);
  });

  test("a waiter whose deadline seems to have passed can come back, and be granted", () => {
    const lock = new OneLock();
    const holder = lock.lease({ ttlUs: null });
    const [first, second] = [lock.ticket({ replica: null }), lock.ticket({ replica: null })];
    lock.jump(HOUR_US).pass(SECOND_US);
    expect(claimOf(lock.attach(first), "waiting").deadlineUs).toBe(lock.nowUs + ATTACHED_FOR_US);
    lock.release(holder);
    lock.release(first);
    expect(lock.states(first, second)).toEqual(["released", "held"]);
  });

  test("long ago, deadlines count as if there had been no jump", () => {
    const lock = new OneLock();
    lock.jump(HOUR_US).pass(HOUR_US);
    const lease = lock.lease({ ttlUs: TTL_US });
    lock.pass(TTL_US).advance();
    expect(lock.states(lease)).toEqual(["expired"]);
  });
});

describe("a guard row that counts waiters that do not exist", () => {
  test.each([0, 1])(
    "does not keep a decision running for ever that grants to the %i that do exist",
    (waiters) => {
      const lock = new OneLock();
      const holder = lock.lease();
      const tickets = Array.from({ length: waiters }, () => lock.ticket());
      lock.lock.waiting += 1;
      const look = { clock: lock.clock, failOver: lock.failOver, heads: 8 };
      const release = { verb: "release", ref: holder, repeated: false } as const;
      expect(lock.rows.transact(NAME, [release], look).passes).toBe(1);
      expect(lock.states(...tickets)).toEqual(tickets.map(() => "held"));
    },
  );

  test("does not cause a second read of a queue whose last waiter was granted", () => {
    const lock = new OneLock({ limit: 0 });
    const tickets = [lock.ticket(), lock.ticket(), lock.ticket()];
    const look = { clock: lock.clock, failOver: lock.failOver, heads: 1 };
    const raise = {
      verb: "set_limit",
      name: NAME,
      limit: 3,
      expectedVersion: undefined,
      reason: "",
    } as const;
    expect(lock.rows.transact(NAME, [raise], look).passes).toBe(3);
    expect(lock.states(...tickets)).toEqual(["held", "held", "held"]);
  });
});

describe("a replica that comes back to the database", () => {
  test("keeps the places of all waiters for a grace period, because their servers may come back later", () => {
    const lock = new OneLock();
    const holder = lock.lease({ ttlUs: null });
    const ticket = lock.ticket({ replica: THERE });
    lock.pass(HOUR_US);
    lock.backAtUs = lock.nowUs;
    lock
      .advance()
      .pass(GRACE_US - 1)
      .advance();
    expect(lock.states(ticket)).toEqual(["waiting"]);
    lock.pass(1).advance();
    expect(lock.states(holder, ticket)).toEqual(["held", "lapsed"]);
  });

  test("ends expired leases and finished waits at once", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    const brief = lock.ticket({ replica: THERE, maxWaitUs: SECOND_US });
    lock.pass(HOUR_US);
    lock.backAtUs = lock.nowUs;
    lock.advance();
    expect(lock.states(lease, brief)).toEqual(["expired", "timed_out"]);
  });
});
