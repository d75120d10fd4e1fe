// Acquire: granted at once, put into the queue, refused, or the same claim again.

import { describe, expect, test } from "vitest";
import { ATTACHED_FOR_US, claimOf, GRACE_US, OneLock, SECOND_US } from "./one-lock.ts";

describe("a free lock", () => {
  test("is granted at once, with the next token, its full TTL and no place in the queue", () => {
    const lock = new OneLock({ tokenFloor: 41n });
    const lease = lock.lease({ ttlUs: 7 * SECOND_US });
    expect(lease).toMatchObject({
      state: "held",
      ticketNumber: 1n,
      fencingToken: 42n,
      grantedAtUs: lock.nowUs,
      deadlineUs: lock.nowUs + 7 * SECOND_US,
      provisional: false,
    });
    expect(lock.lock).toMatchObject({ holders: 1, heldPermits: 1, waiting: 0, lastToken: 42n });
    expect(lock.events.map((event) => event.kind)).toEqual(["granted"]);
  });

  test("is granted for its full TTL to a caller without a stream, because the answer delivers it", () => {
    const lock = new OneLock();
    expect(lock.lease({ replica: null })).toMatchObject({
      provisional: false,
      deadlineUs: lock.nowUs + 30e6,
    });
  });

  test("is granted for the grace period to a caller that has waited for it and may be gone", () => {
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

  test("is held without end if no expiry is requested", () => {
    const lock = new OneLock();
    const lease = lock.lease({ ttlUs: null });
    expect(lease.deadlineUs).toBeNull();
    lock.pass(1e15).advance();
    expect(lock.states(lease)).toEqual(["held"]);
  });

  test("keeps tokens exact beyond 2^53", () => {
    expect(new OneLock({ tokenFloor: 2n ** 53n }).lease().fencingToken).toBe(2n ** 53n + 1n);
  });
});

describe("a busy lock", () => {
  test("refuses a caller that may not wait, and stores nothing about it", () => {
    const lock = new OneLock();
    lock.lease();
    expect(lock.acquire({ mayWait: false })).toMatchObject({
      kind: "refused",
      reason: "busy",
      limit: { limit: 1 },
    });
    expect(lock.rows.claims).toHaveLength(1);
    expect(lock.lock.nextTicket).toBe(2n);
  });

  test("queues a caller behind the waiters", () => {
    const lock = new OneLock({ limit: 5 });
    lock.lease({ permits: 5 });
    lock.ticket({ permits: 3 });
    lock.ticket({ mode: "shared" });
    expect(lock.acquire()).toMatchObject({
      kind: "waiting",
      place: { ahead: 2, permitsAhead: 4, queueLength: 3 },
    });
  });

  test("lets no caller overtake a waiter, not even with a request that would fit", () => {
    const lock = new OneLock({ limit: 3 });
    lock.lease({ permits: 2 });
    lock.ticket({ permits: 2 });
    expect(lock.acquire({ mayWait: false })).toMatchObject({ kind: "refused", reason: "busy" });
    lock.ticket({ permits: 1 });
  });

  test("makes a reader wait behind a waiting writer although readers hold the lock", () => {
    const lock = new OneLock();
    const reader = lock.lease({ mode: "shared" });
    lock.lease({ mode: "shared" });
    const writer = lock.ticket({ mode: "exclusive" });
    const late = lock.ticket({ mode: "shared" });
    lock.release(reader);
    expect(lock.states(writer, late)).toEqual(["waiting", "waiting"]);
  });

  test("refuses a place when the queue is full", () => {
    const lock = new OneLock({ policy: { queueMax: 1 } });
    lock.lease();
    lock.ticket();
    expect(lock.acquire()).toMatchObject({ kind: "refused", reason: "queue_full" });
  });

  test("is free again in the microsecond in which the lease ends", () => {
    const lock = new OneLock();
    const old = lock.lease({ ttlUs: SECOND_US });
    lock.pass(SECOND_US - 1);
    expect(lock.acquire({ mayWait: false }).kind).toBe("refused");
    lock.pass(1);
    expect(lock.lease().fencingToken).toBe(2n);
    expect(lock.states(old)).toEqual(["expired"]);
  });
});

describe("a request for more permits than the limit", () => {
  test("is refused when it can never fit, whether it may wait or not", () => {
    const lock = new OneLock({ limit: 3 });
    expect(lock.acquire({ permits: 4 })).toMatchObject({
      kind: "refused",
      reason: "never_fits",
      limit: { limit: 3 },
    });
    expect(lock.acquire({ permits: 4, mayWait: false })).toMatchObject({ reason: "never_fits" });
  });

  test("waits while the lock is paused, and ends when the limit comes back too low", () => {
    const lock = new OneLock({ limit: 0 });
    const heavy = lock.ticket({ permits: 4 });
    const light = lock.ticket({ permits: 3 });
    lock.setLimit(3);
    expect(lock.states(heavy, light)).toEqual(["never_fits", "held"]);
  });
});

describe("a paused lock", () => {
  test.each(["permit", "shared", "exclusive"] as const)("refuses %s or queues it", (mode) => {
    const lock = new OneLock({ limit: 0 });
    expect(lock.acquire({ mode, mayWait: false })).toMatchObject({
      kind: "refused",
      reason: "paused",
      limit: { limit: 0 },
    });
    const ticket = lock.ticket({ mode });
    lock.setLimit(1);
    expect(lock.states(ticket)).toEqual(["held"]);
  });
});

describe("a place in the queue", () => {
  test("lasts as long as a heartbeat if a stream is attached", () => {
    const lock = new OneLock();
    lock.lease({ ttlUs: null });
    expect(lock.ticket().deadlineUs).toBe(lock.nowUs + ATTACHED_FOR_US);
  });

  test("lasts for the grace period if the caller polls", () => {
    const lock = new OneLock();
    lock.lease({ ttlUs: null });
    const ticket = lock.ticket({ replica: null });
    lock.pass(GRACE_US - 1).advance();
    expect(lock.states(ticket)).toEqual(["waiting"]);
    lock.pass(1).advance();
    expect(lock.states(ticket)).toEqual(["lapsed"]);
  });

  test("is given up after the longest wait, even just as the lock becomes free", () => {
    const lock = new OneLock();
    lock.lease({ ttlUs: 5 * SECOND_US });
    const ticket = lock.ticket({ maxWaitUs: 5 * SECOND_US });
    const next = lock.ticket();
    lock.pass(5 * SECOND_US).advance();
    expect(lock.states(ticket, next)).toEqual(["timed_out", "held"]);
  });

  test("that lapsed before the longest wait was over ends as lapsed, however late it is checked", () => {
    const lock = new OneLock();
    lock.lease({ ttlUs: null });
    const ticket = lock.ticket({ replica: null, maxWaitUs: 20 * SECOND_US });
    lock.pass(60 * SECOND_US).advance();
    expect(lock.states(ticket)).toEqual(["lapsed"]);
  });
});

describe("the same request id", () => {
  test("means the same lease and token", () => {
    const lock = new OneLock();
    const first = lock.lease({ requestId: "nightly" });
    lock.pass(SECOND_US);
    expect(lock.lease({ requestId: "nightly" })).toEqual(first);
    expect(lock.lock).toMatchObject({ holders: 1, lastToken: 1n, nextTicket: 2n });
  });

  test("means the same lease when both calls arrive in one transaction", () => {
    const lock = new OneLock();
    const [first, second] = lock.transact(lock.asks({ requestId: "once" }), lock.asks({ requestId: "once" }));
    expect(second).toEqual(first);
  });

  test("gets the claim as the same transaction has changed it", () => {
    const lock = new OneLock();
    const lease = lock.lease({ requestId: "brief" });
    const ticket = lock.ticket({ requestId: "next" });
    const [, ended, held] = lock.transact(
      { verb: "release", ref: lease, repeated: false },
      lock.asks({ requestId: "brief" }),
      lock.asks({ requestId: "next" }),
    );
    expect(ended).toMatchObject({ kind: "ended", claim: { endReason: "released" } });
    expect(held).toMatchObject({ kind: "held", claim: { fencingToken: 2n, provisional: false } });
    expect(lock.now(ticket).provisional).toBe(false);
  });

  test("means the same place, and counts as a sign of life", () => {
    const lock = new OneLock();
    lock.lease({ ttlUs: null });
    const ticket = lock.ticket({ replica: null, requestId: "poll" });
    lock.ticket();
    for (let poll = 0; poll < 5; poll++) {
      lock.pass(GRACE_US - 1);
      expect(lock.ticket({ replica: null, requestId: "poll" }).ticketNumber).toBe(ticket.ticketNumber);
    }
  });

  test("gets the end of an ended claim, and no new grant", () => {
    const lock = new OneLock();
    lock.release(lock.lease({ requestId: "done" }));
    expect(claimOf(lock.acquire({ requestId: "done" }), "ended").endReason).toBe("released");
    expect(lock.lock).toMatchObject({ holders: 0, lastToken: 1n });
  });

  test("is refused if its key belongs to another id, and takes nothing", () => {
    const lock = new OneLock();
    lock.rows.taken.add("unlucky");
    const asked = [lock.asks({ requestId: "unlucky" }), lock.asks({ requestId: "lucky" })];
    expect(lock.transact(...asked)).toMatchObject([{ kind: "request_id_reused" }, { kind: "held" }]);
    expect(lock.lock).toMatchObject({ holders: 1, waiting: 0, nextTicket: 2n });
  });

  test("does not revive a lease that runs out just now", () => {
    const lock = new OneLock();
    lock.lease({ requestId: "late", ttlUs: SECOND_US });
    lock.pass(SECOND_US);
    expect(claimOf(lock.acquire({ requestId: "late" }), "ended").endReason).toBe("expired");
  });

  test.each([{ mode: "exclusive" as const }, { permits: 2 }])(
    "with other content is an error: %o",
    (other) => {
      const lock = new OneLock({ limit: 5 });
      lock.lease({ requestId: "mine" });
      expect(lock.acquire({ requestId: "mine", ...other })).toEqual({ kind: "request_id_reused" });
    },
  );

  test("at another lock is an error", () => {
    const lock = new OneLock();
    lock.lease({ requestId: "mine" });
    lock.rows.addLock("etl/other");
    const look = { clock: lock.clock, failOver: lock.failOver, heads: 1 };
    const { outcomes } = lock.rows.transact(
      "etl/other",
      [lock.asks({ name: "etl/other", requestId: "mine" })],
      look,
    );
    expect(outcomes).toEqual([{ kind: "request_id_reused" }]);
  });

  test("fetches a lease that was granted while the caller was away; the TTL runs from the grant", () => {
    const lock = new OneLock();
    const holder = lock.lease();
    lock.ticket({ replica: null, requestId: "poll" });
    lock.release(holder);
    const grantedAtUs = lock.nowUs;
    lock.pass(GRACE_US - 1);
    const fetched = lock.lease({ replica: null, requestId: "poll" });
    expect(fetched).toMatchObject({ provisional: false, deadlineUs: grantedAtUs + 30 * SECOND_US });
  });
});
