// ForceRelease: an operator ends claims without knowing their ids.

import { describe, expect, test } from "vitest";
import { claimOf, OneLock, SECOND_US } from "./one-lock.ts";

describe("a forced release", () => {
  test("of a name ends all holders, keeps the waiters, and grants to them in the same transaction", () => {
    const lock = new OneLock({ limit: 2 });
    const held = [lock.lease(), lock.lease()];
    const waiting = [lock.ticket(), lock.ticket(), lock.ticket()];
    const outcome = lock.forceRelease(null);
    expect(outcome).toEqual({ kind: "forced", ended: held.map((lease) => lock.now(lease)), holdersLeft: 0 });
    expect(lock.states(...held, ...waiting)).toEqual([
      "force_released",
      "force_released",
      "held",
      "held",
      "waiting",
    ]);
  });

  test("of one holder leaves the others alone, and keeps the reason with the claim", () => {
    const lock = new OneLock({ limit: 2 });
    const [stuck, well] = [lock.lease(), lock.lease()];
    const outcome = lock.forceRelease(stuck, "host is gone");
    expect(outcome).toEqual({
      kind: "forced",
      ended: [lock.now(stuck)],
      holdersLeft: 1,
    });
    expect(lock.states(stuck, well)).toEqual(["force_released", "held"]);
    expect(lock.now(stuck).endNote).toBe("host is gone");
  });

  test("of one waiter takes it out of the queue", () => {
    const lock = new OneLock({ limit: 2 });
    lock.lease();
    const heavy = lock.ticket({ permits: 2 });
    const light = lock.ticket();
    const outcome = lock.forceRelease(heavy);
    expect(outcome).toEqual({ kind: "forced", ended: [lock.now(heavy)], holdersLeft: 1 });
    expect(lock.states(heavy, light)).toEqual(["force_released", "held"]);
  });

  test("does not list claims that had already ended", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: SECOND_US });
    lock.forceRelease(lease);
    expect(lock.forceRelease(lease)).toEqual({ kind: "forced", ended: [], holdersLeft: 0 });
    const expired = lock.lease({ ttlUs: SECOND_US });
    lock.pass(SECOND_US);
    expect(lock.forceRelease(null)).toEqual({ kind: "forced", ended: [], holdersLeft: 0 });
    expect(lock.states(lease, expired)).toEqual(["force_released", "expired"]);
  });

  test("is final: the holder's Renew finds its lease ended", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: null });
    lock.forceRelease(null);
    expect(claimOf(lock.renew(lease), "ended").endReason).toBe("force_released");
  });

  test("of an unknown ticket number ends nothing", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    expect(lock.forceRelease({ ...lease, ticketNumber: 99n })).toEqual({
      kind: "forced",
      ended: [],
      holdersLeft: 1,
    });
    expect(lock.states(lease)).toEqual(["held"]);
  });
});
