// SetLimit: absolute, with an optional compare-and-set. It grants what it makes room for and revokes nothing.

import { describe, expect, test } from "vitest";
import { OneLock } from "./one-lock.ts";

describe("a limit that is raised", () => {
  test("grants to waiters in the same transaction, in order", () => {
    const lock = new OneLock();
    lock.lease();
    const tickets = [lock.ticket(), lock.ticket(), lock.ticket()];
    expect(lock.setLimit(3)).toMatchObject({
      kind: "limit",
      version: 1n,
      limit: { limit: 3, source: "name" },
    });
    expect(lock.states(...tickets)).toEqual(["held", "held", "waiting"]);
    expect(tickets.map((ticket) => lock.now(ticket).fencingToken)).toEqual([2n, 3n, 0n]);
  });

  test("by a pattern grants to the waiters of each lock that matches", () => {
    const lock = new OneLock();
    lock.lease();
    const ticket = lock.ticket();
    lock.rows.setPattern("etl/", 2, {
      clock: lock.clock,
      failOver: lock.failOver,
      heads: 4,
    });
    expect(lock.states(ticket)).toEqual(["held"]);
  });

  test("by a pattern changes nothing for a name with its own limit", () => {
    const lock = new OneLock({ limit: 1 });
    lock.lease();
    const ticket = lock.ticket();
    lock.rows.setPattern("etl/", 2, {
      clock: lock.clock,
      failOver: lock.failOver,
      heads: 4,
    });
    expect(lock.states(ticket)).toEqual(["waiting"]);
    lock.setLimit(null);
    expect(lock.states(ticket)).toEqual(["held"]);
  });
});

describe("a limit that is lowered", () => {
  test("below what is held revokes nothing, and nothing is granted until enough is released", () => {
    const lock = new OneLock({ limit: 3 });
    const held = [lock.lease(), lock.lease(), lock.lease()];
    lock.setLimit(1);
    const ticket = lock.ticket();
    for (const lease of held) {
      expect(lock.states(lease, ticket)).toEqual(["held", "waiting"]);
      lock.release(lease);
    }
    expect(lock.states(ticket)).toEqual(["held"]);
  });

  test("ends a waiter at the head that can no longer fit, and lets the next one in", () => {
    const lock = new OneLock({ limit: 3 });
    lock.lease();
    const heavy = lock.ticket({ permits: 3 });
    const light = lock.ticket({ permits: 1 });
    lock.setLimit(2);
    expect(lock.states(heavy, light)).toEqual(["never_fits", "held"]);
  });

  test("to 0 keeps holders and waiters, and granting resumes where it stopped", () => {
    const lock = new OneLock();
    const lease = lock.lease();
    const [first, second] = [lock.ticket(), lock.ticket()];
    lock.setLimit(0);
    lock.release(lease);
    expect(lock.states(first, second)).toEqual(["waiting", "waiting"]);
    lock.setLimit(1);
    expect(lock.states(first, second)).toEqual(["held", "waiting"]);
  });
});

describe("the version", () => {
  test("rises with every change, even if the limit is removed or stays the same", () => {
    const lock = new OneLock();
    const versions = [2, 2, null, null].map((limit) => {
      const outcome = lock.setLimit(limit);
      return outcome.kind === "limit" && outcome.version;
    });
    expect(versions).toEqual([1n, 2n, 3n, 4n]);
    expect(lock.lock.limit).toBeNull();
  });

  test("that the caller expects allows the change", () => {
    const lock = new OneLock();
    expect(lock.setLimit(2, { expectedVersion: 0n })).toMatchObject({ kind: "limit", version: 1n });
    expect(lock.setLimit(3, { expectedVersion: 1n })).toMatchObject({ kind: "limit", version: 2n });
  });

  test.each([0n, 2n])("that differs from the expected %s prevents the change", (expectedVersion) => {
    const lock = new OneLock({ limit: 2 });
    expect(lock.setLimit(5, { expectedVersion })).toEqual({ kind: "version_mismatch", version: 1n });
    expect(lock.lock).toMatchObject({ limit: 2, limitVersion: 1n });
    expect(lock.events).toEqual([]);
  });
});

test("a change is reported with the limit that was set before", () => {
  const lock = new OneLock({ limit: 2 });
  lock.setLimit(null);
  expect(lock.events).toMatchObject([
    { kind: "limit_set", from: 2, lock: { limit: null, limitVersion: 2n, limitReason: "a test" } },
  ]);
});
