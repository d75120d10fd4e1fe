// After a fail-over that may have lost leases: nothing is granted until those leases have ended, tokens start above
// every token that can have been given, and no holder loses what a lost renewal gave it.

import { describe, expect, test } from "vitest";
import { RETRY_AFTER_US_MIN } from "../../server/core/bounds.ts";
import { nextNumber } from "../../server/core/fail-over.ts";
import { OneLock, SECOND_US } from "./one-lock.ts";

const PAUSE_US = 30 * SECOND_US;

/** A lock whose database has just failed over. */
function failedOver(lock: OneLock, epoch = 1n): OneLock {
  lock.failOver = { epoch, atUs: lock.nowUs, grantsFromUs: lock.nowUs + PAUSE_US };
  return lock;
}

describe("after a fail-over", () => {
  test("a free lock is not granted, and the answer says for how long", () => {
    const lock = failedOver(new OneLock());
    const refusal = { kind: "refused", reason: "failed_over" };
    expect(lock.acquire({ mayWait: false })).toMatchObject({ ...refusal, forUs: PAUSE_US });
    lock.pass(PAUSE_US - 1);
    expect(lock.acquire({ mayWait: false })).toMatchObject({ ...refusal, forUs: RETRY_AFTER_US_MIN });
    lock.pass(1);
    expect(lock.acquire({ mayWait: false })).toMatchObject({ kind: "held" });
  });

  test("waiters keep their order, and are granted when the pause is over", () => {
    const lock = failedOver(new OneLock({ limit: 2 }));
    const tickets = [lock.ticket(), lock.ticket(), lock.ticket()];
    lock.rows.heartbeat(1n, lock.nowUs + PAUSE_US);
    lock.pass(PAUSE_US - 1).advance();
    expect(lock.states(...tickets)).toEqual(["waiting", "waiting", "waiting"]);
    lock.pass(1).advance();
    expect(lock.states(...tickets)).toEqual(["held", "held", "waiting"]);
  });

  test("a known lease can be renewed and released, and its release grants nothing yet", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    failedOver(lock);
    const ticket = lock.ticket();
    expect(lock.renew(lease)).toMatchObject({ kind: "held" });
    expect(lock.release(lease)).toMatchObject({ kind: "released" });
    expect(lock.states(ticket)).toEqual(["waiting"]);
  });

  test("a lease is kept for its TTL once more, because its renewal may be lost", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: 5 * SECOND_US });
    failedOver(lock.pass(6 * SECOND_US));
    lock.pass(5 * SECOND_US - 1).advance();
    expect(lock.states(lease)).toEqual(["held"]);
    lock.pass(1).advance();
    expect(lock.states(lease)).toEqual(["expired"]);
  });

  test("tokens are higher than any issued before, and rise from there", () => {
    const lock = new OneLock();
    const before = Array.from({ length: 3 }, () => {
      const lease = lock.lease();
      lock.release(lease);
      return lease.fencingToken;
    });
    expect(before).toEqual([1n, 2n, 3n]);
    failedOver(lock).pass(PAUSE_US);
    expect(lock.lease().fencingToken).toBe(2n ** 36n + 1n);
    expect(lock.lock.lastToken).toBe(2n ** 36n + 1n);
  });
});

test("a token of an epoch is above all tokens of the epoch before, and below a double's exact range for years", () => {
  const failOver = { epoch: 100_000n, atUs: 0, grantsFromUs: 0 };
  expect(nextNumber(7n, failOver)).toBe(100_000n * 2n ** 36n + 1n);
  expect(nextNumber(nextNumber(7n, failOver), failOver)).toBe(100_000n * 2n ** 36n + 2n);
  expect(nextNumber(7n, failOver)).toBeLessThan(2n ** 53n);
});
