// Release: ends a lease or gives up a place, and grants to the next waiters in the same transaction.

import { describe, expect, test } from "vitest";
import { OneLock, RETENTION_US, SECOND_US } from "./one-lock.ts";

const RELEASED = { kind: "released", byThisCall: true };
const ENDED_BEFORE = { kind: "released", byThisCall: false };

describe("release", () => {
  test("of a lease grants to the next waiter in the same transaction, with the next token", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    const [first, second] = [lock.ticket(), lock.ticket()];
    lock.pass(SECOND_US);
    expect(lock.release(lease)).toEqual(RELEASED);
    expect(lock.states(lease, first, second)).toEqual(["released", "held", "waiting"]);
    expect(lock.now(first).fencingToken).toBe(2n);
    expect(lock.events).toMatchObject([
      { kind: "ended", was: "held" },
      { kind: "granted", queued: true, waitedUs: SECOND_US, claim: { ticketNumber: first.ticketNumber } },
    ]);
  });

  test("grants to neighbours that fit together, and to none behind one that does not fit", () => {
    const lock = new OneLock();
    const writer = lock.lease({ mode: "exclusive" });
    const readers = [lock.ticket({ mode: "shared" }), lock.ticket({ mode: "shared" })];
    const next = lock.ticket({ mode: "exclusive" });
    const late = lock.ticket({ mode: "shared" });
    lock.release(writer);
    expect(lock.states(...readers, next, late)).toEqual(["held", "held", "waiting", "waiting"]);
    expect(readers.map((reader) => lock.now(reader).fencingToken)).toEqual([2n, 3n]);
  });

  test("does not let light requests starve a heavy one at the head", () => {
    const lock = new OneLock({ limit: 3 });
    const held = [lock.lease(), lock.lease(), lock.lease()];
    const heavy = lock.ticket({ permits: 3 });
    const light = lock.ticket();
    for (const lease of held.slice(0, 2)) lock.release(lease);
    expect(lock.states(heavy, light)).toEqual(["waiting", "waiting"]);
    for (const lease of held) lock.release(lease);
    expect(lock.states(heavy, light)).toEqual(["held", "waiting"]);
  });

  test("of a ticket gives up the place, and the others move up", () => {
    const lock = new OneLock({ limit: 2 });
    lock.lease();
    const heavy = lock.ticket({ permits: 2 });
    const light = lock.ticket();
    expect(lock.release(heavy)).toEqual(RELEASED);
    expect(lock.states(heavy, light)).toEqual(["cancelled", "held"]);
    expect(lock.lock).toMatchObject({ waiting: 0, waitingPermits: 0, heldPermits: 2 });
  });

  test("happens once: a second one counts nothing down and wakes no waiter", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    const [first, second] = [lock.ticket(), lock.ticket()];
    lock.release(lease);
    expect(lock.release(lease)).toEqual(ENDED_BEFORE);
    expect(lock.states(first, second)).toEqual(["held", "waiting"]);
    expect(lock.lock.heldPermits).toBe(1);
  });

  test("after the TTL has no effect, and does not touch the next holder", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: SECOND_US });
    const next = lock.ticket();
    lock.pass(SECOND_US);
    expect(lock.release(lease)).toEqual(ENDED_BEFORE);
    expect(lock.states(lease, next)).toEqual(["expired", "held"]);
  });

  test("counts as done by this call if an earlier attempt of it succeeded", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    lock.release(lease);
    expect(lock.release(lease, true)).toEqual(RELEASED);
    const expired = lock.lease({ ttlUs: SECOND_US });
    lock.pass(SECOND_US);
    expect(lock.release(expired, true)).toEqual(ENDED_BEFORE);
  });

  test("needs the secret, and otherwise says only that the claim is unknown", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    expect(lock.release({ ...lease, secret: "x".repeat(22) })).toEqual({ kind: "unknown_claim" });
    expect(lock.release({ ...lease, secret: lease.secret.slice(1) })).toEqual({ kind: "unknown_claim" });
    expect(lock.states(lease)).toEqual(["held"]);
  });

  test("is remembered for the retention time", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    lock.release(lease);
    expect(lock.now(lease)).toMatchObject({
      endedAtUs: lock.nowUs,
      deadlineUs: lock.nowUs + RETENTION_US,
    });
  });

  test("and the next Acquire fit into one transaction", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    const [, outcome] = lock.transact(
      { verb: "release", ref: lease, repeated: false },
      lock.asks({ mayWait: false }),
    );
    expect(outcome).toMatchObject({ kind: "held", claim: { fencingToken: 2n } });
  });
});
