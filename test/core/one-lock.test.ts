// One lock, in cases that random histories reach seldom or do not tell apart. Whatever else is decided about a lock is
// compared with the reference model (properties.test.ts).

import { describe, expect, test } from "vitest";
import { type Claim, keptRequestId } from "../../server/core/claim.ts";
import type { Event } from "../../server/core/command.ts";
import { claimOf, GRACE_US, NAME, OneLock, SECOND_US, THERE } from "./one-lock.ts";

const HOUR_US = 3_600 * SECOND_US;
const from = (address: string) => ({ caller: { getPeer: () => address } });
const seen = (lock: OneLock) =>
  lock.events.map((event: Event) => {
    const what = event.kind === "ended" ? event.claim.endReason : event.kind;
    return [what, event.caller?.getPeer()];
  });

test("a free lock is granted for the grace period to a caller that has waited for it and may be gone", () => {
  const lock = new OneLock();
  const lease = lock.lease({ afterWait: true, ttlUs: 3_600 * SECOND_US });
  expect(lease).toMatchObject({ provisional: true, deadlineUs: lock.nowUs + GRACE_US });
  lock.pass(1).renew(lease);
  expect(lock.now(lease)).toMatchObject({ provisional: false, deadlineUs: lock.nowUs + 3_600 * SECOND_US });
  lock.release(lease);
  const unfetched = lock.lease({ afterWait: true, ttlUs: null });
  lock.pass(GRACE_US).advance();
  expect(lock.now(unfetched)).toMatchObject({ state: "ended", endReason: "lapsed" });
  expect(lock.lease({ afterWait: true, ttlUs: 2 * SECOND_US })).toMatchObject({
    deadlineUs: lock.nowUs + 2 * SECOND_US,
  });
});

test("the same request id means the same lease when both calls arrive in one transaction", () => {
  const lock = new OneLock();
  const [first, second] = lock.transact(lock.asks({ requestId: "once" }), lock.asks({ requestId: "once" }));
  expect(second).toEqual(first);
});

test("without the secret, neither an attach nor a Renew nor a Release finds a claim", () => {
  const lock = new OneLock();
  const unknown = { kind: "unknown_claim" };
  const lease = lock.lease();
  const ticket = lock.ticket();
  const wrong = "x".repeat(22);
  expect(lock.attach({ ...ticket, secret: wrong })).toEqual(unknown);
  expect(lock.attach({ ...ticket, ticketNumber: 99n })).toEqual(unknown);
  expect(lock.renew({ ...lease, secret: wrong }, SECOND_US)).toEqual(unknown);
  for (const secret of [wrong, lease.secret.slice(1)])
    expect(lock.release({ ...lease, secret })).toEqual(unknown);
  expect(lock.now(lease)).toEqual(lease);
});

test("a release of a lease grants to the next waiter in the same transaction, with the next token", () => {
  const lock = new OneLock();
  const lease = lock.lease();
  const [first, second] = [lock.ticket(), lock.ticket()];
  lock.pass(SECOND_US);
  expect(lock.release(lease)).toEqual({ kind: "released", byThisCall: true });
  expect(lock.states(lease, first, second)).toEqual(["released", "held", "waiting"]);
  expect(lock.now(first).fencingToken).toBe(2n);
  expect(lock.events).toMatchObject([
    { kind: "ended", was: "held" },
    { kind: "granted", queued: true, waitedUs: SECOND_US, claim: { ticketNumber: first.ticketNumber } },
  ]);
});

test("a release happens once: a second one counts nothing down and wakes no waiter", () => {
  const lock = new OneLock();
  const lease = lock.lease();
  const [first, second] = [lock.ticket(), lock.ticket()];
  lock.release(lease);
  expect(lock.release(lease)).toEqual({ kind: "released", byThisCall: false });
  expect(lock.states(first, second)).toEqual(["held", "waiting"]);
  expect(lock.lock.heldPermits).toBe(1);
});

test("a renewal says how long the lease has run since it was granted or renewed, unless nobody had come for it", () => {
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

test("a forced release of one waiter takes it out of the queue", () => {
  const lock = new OneLock({ limit: 2 });
  lock.lease();
  const heavy = lock.ticket({ permits: 2 });
  const light = lock.ticket();
  const outcome = lock.forceRelease(heavy);
  expect(outcome).toEqual({ kind: "forced", ended: [lock.now(heavy)], holdersLeft: 1 });
  expect(lock.states(heavy, light)).toEqual(["force_released", "held"]);
});

test("events carry the caller of the command that made them happen: a place that is given up is its waiter's, and a place that a limit ends is nobody's", () => {
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
});

test("a replica that comes back to the database keeps the places of all waiters for a grace period, because their servers may come back later", () => {
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

test("after a fail-over a lease is kept for its TTL once more, because its renewal may be lost", () => {
  const lock = new OneLock();
  const lease = lock.lease({ ttlUs: 5 * SECOND_US });
  lock.pass(6 * SECOND_US);
  lock.failOver = { epoch: 1n, atUs: lock.nowUs, grantsFromUs: lock.nowUs + 30 * SECOND_US };
  lock.pass(5 * SECOND_US - 1).advance();
  expect(lock.states(lease)).toEqual(["held"]);
  lock.pass(1).advance();
  expect(lock.states(lease)).toEqual(["expired"]);
});

describe("a Withdraw, which ends a claim whose answer nobody got,", () => {
  const OF_CLIENT = keptRequestId("", "mine", 0);

  function withdrawn(lock: OneLock, { requestId, secret }: Pick<Claim, "requestId" | "secret">): void {
    expect(lock.do({ verb: "withdraw", requestId, secret })).toEqual({ kind: "done" });
  }

  test.each([
    ["that was renewed before the clock was set back stays", ["renew", "set back"], "held"],
    ["that was renewed after the clock was set back stays", ["set back", "renew"], "held"],
    ["that nobody has renewed is ended after the clock was set back", ["set back"], "cancelled"],
  ])("a lease %s", (_, steps, state) => {
    const lock = new OneLock();
    const lease = lock.lease({ requestId: OF_CLIENT });
    for (const step of steps) step === "renew" ? lock.renew(lease) : lock.setBack(60 * SECOND_US);
    withdrawn(lock, lease);
    expect(lock.states(lease)).toEqual([state]);
  });
});
