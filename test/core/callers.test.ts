// Whose command an event is: each event carries the caller of the command that made it happen, and of no other.

import { expect, test } from "vitest";
import type { Event } from "../../server/core/command.ts";
import { claimOf, NAME, OneLock, SECOND_US } from "./one-lock.ts";

const from = (address: string) => ({ caller: { getPeer: () => address } });
const seen = (lock: OneLock) =>
  lock.events.map((event: Event) => {
    const what = event.kind === "ended" ? event.claim.endReason : event.kind;
    return [what, event.caller?.getPeer()];
  });

test("an Acquire is the asker's, and the grant that a Release makes room for is nobody's", () => {
  const lock = new OneLock();
  const first = claimOf(lock.acquire(from("one")), "held");
  expect(seen(lock)).toEqual([["granted", "one"]]);
  const waiting = claimOf(lock.acquire(from("two")), "waiting");
  expect(seen(lock)).toEqual([["enqueued", "two"]]);
  lock.do({ verb: "release", ref: first, repeated: false, ...from("one") });
  expect(seen(lock)).toEqual([
    ["released", "one"],
    ["granted", undefined],
  ]);
  lock.pass(20 * SECOND_US);
  const ended = lock.now(waiting);
  lock.transact({ verb: "renew", ref: ended, ttlUs: undefined, ...from("two") });
  expect(seen(lock)).toEqual([["lapsed", undefined]]);
});

test("a place that is given up is its waiter's, and a place that a limit ends is nobody's", () => {
  const lock = new OneLock({ limit: 3 });
  lock.lease();
  const waiting = claimOf(lock.acquire({ ...from("one"), permits: 3 }), "waiting");
  lock.do({ verb: "release", ref: waiting, repeated: false, ...from("one") });
  expect(seen(lock)).toEqual([["cancelled", "one"]]);
  lock.acquire({ ...from("two"), permits: 3 });
  const limit = { verb: "set_limit", name: NAME, limit: 2, expectedVersion: undefined, reason: "" } as const;
  lock.do({ ...limit, ...from("operator") });
  expect(seen(lock)).toEqual([
    ["limit_set", "operator"],
    ["never_fits", undefined],
  ]);
});

test("what an operator ends, sets and deletes is the operator's, and what it makes room for is nobody's", () => {
  const lock = new OneLock();
  lock.lease();
  lock.ticket();
  const force = { verb: "force_release", name: NAME, ticketNumber: null, reason: "stuck" } as const;
  lock.do({ ...force, ...from("operator") });
  expect(seen(lock)).toEqual([
    ["force_released", "operator"],
    ["granted", undefined],
  ]);
  lock.forceRelease(null);
  const update = {
    verb: "update_record",
    name: NAME,
    expectedVersion: undefined,
    notBefore: undefined,
  } as const;
  lock.do({ ...update, attemptsLeft: undefined, status: "todo", ...from("scheduler") });
  expect(seen(lock)).toEqual([["record_changed", "scheduler"]]);
  lock.do({ verb: "delete_record", name: NAME, expectedVersion: undefined, ...from("operator") });
  expect(seen(lock)).toEqual([["record_changed", "operator"]]);
});

test("a grant that an UpdateRecord makes room for is nobody's", () => {
  const lock = new OneLock();
  const update = {
    verb: "update_record",
    name: NAME,
    expectedVersion: undefined,
    status: undefined,
  } as const;
  lock.do({ ...update, attemptsLeft: undefined, notBefore: { inUs: 60 * SECOND_US } });
  lock.ticket(from("waiter"));
  lock.do({ ...update, attemptsLeft: undefined, notBefore: null, ...from("scheduler") });
  expect(seen(lock)).toEqual([
    ["record_changed", "scheduler"],
    ["granted", undefined],
  ]);
});
