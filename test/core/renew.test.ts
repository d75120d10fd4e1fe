// Renew: the end of a lease is set to now + ttl, and what is lost stays lost.

import { describe, expect, test } from "vitest";
import { claimOf, OneLock, SECOND_US } from "./one-lock.ts";

describe("renew", () => {
  test("sets the end to now + the requested TTL, with the same token", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: 5 * SECOND_US });
    lock.pass(3 * SECOND_US);
    const renewed = claimOf(lock.renew(lease), "held");
    expect(renewed).toEqual({ ...lease, deadlineUs: lock.nowUs + 5 * SECOND_US });
  });

  test("says how long the lease has run since it was granted or renewed, unless nobody had come for it", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: 30 * SECOND_US });
    lock.pass(10 * SECOND_US);
    expect(lock.renew(lease, 20 * SECOND_US)).toMatchObject({ ranUs: 10 * SECOND_US });
    lock.pass(3);
    expect(lock.renew(lease)).toMatchObject({ ranUs: 3 });
    expect(lock.renew(lease)).toMatchObject({ ranUs: 0 });
    const ticket = lock.ticket();
    lock.release(lease);
    expect(lock.renew(ticket)).toMatchObject({ kind: "held", ranUs: null });
    expect(lock.renew(ticket)).toMatchObject({ ranUs: 0 });
    lock.release(ticket);
    expect(lock.renew(lock.lease({ ttlUs: null }))).toMatchObject({ ranUs: null });
  });

  test("accepts another TTL, which may also shorten the lease", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: 60 * SECOND_US });
    lock.pass(1);
    expect(claimOf(lock.renew(lease, 2 * SECOND_US), "held").deadlineUs).toBe(lock.nowUs + 2 * SECOND_US);
    lock.pass(2 * SECOND_US);
    expect(claimOf(lock.renew(lease), "ended").endReason).toBe("expired");
  });

  test("leaves a lease without end as it is, unless a TTL is given", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: null });
    lock.pass(1);
    expect(claimOf(lock.renew(lease), "held").deadlineUs).toBeNull();
    expect(claimOf(lock.renew(lease, SECOND_US), "held").deadlineUs).toBe(lock.nowUs + SECOND_US);
  });

  test("fails in the microsecond in which the lease ends, even if the lock is still free", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: SECOND_US });
    lock.pass(SECOND_US);
    expect(claimOf(lock.renew(lease), "ended").endReason).toBe("expired");
    expect(lock.lock.holders).toBe(0);
    expect(claimOf(lock.renew(lease), "ended").endedAtUs).toBe(lock.nowUs);
  });

  test("does not revive a released lease", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    lock.release(lease);
    expect(claimOf(lock.renew(lease), "ended").endReason).toBe("released");
  });

  test("of a ticket that still waits changes nothing, and is no sign of life", () => {
    const lock = new OneLock();
    lock.lease({ ttlUs: null });
    const ticket = lock.ticket();
    lock.pass(SECOND_US);
    expect(lock.renew(ticket)).toEqual({ kind: "waiting", claim: ticket, place: null });
    expect(lock.now(ticket)).toEqual(ticket);
  });

  test("needs the secret", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    expect(lock.renew({ ...lease, secret: "x".repeat(22) }, SECOND_US)).toEqual({ kind: "unknown_claim" });
    expect(lock.now(lease)).toEqual(lease);
  });
});
