// Claims, places, locks and refusals as messages: exactly what they show, and what they never show.

import { toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  ClaimEndSchema,
  ClaimSchema,
  LockSchema,
  RefusalReason,
  RefusalSchema,
  EndReason as WireEndReason,
} from "#proto/rowlock/v1/lock_pb.js";
import type { Claim, EndReason } from "../../../server/core/claim.ts";
import type { EffectiveRate } from "../../../server/core/limit.ts";
import type { Lock } from "../../../server/core/lock.ts";
import {
  claimMessage,
  durationMessage,
  leaseLeftUs,
  leaseMessage,
  lockMessage,
  spanText,
  ticketMessage,
} from "../../../server/grpc/messages/messages.ts";
import { endedMessage, refusedMessage, showsHolders } from "../../../server/grpc/messages/refusal.ts";
import { CLAIM, FREE_LOCK } from "../../support/claims.ts";

const NOW_US = 1_790_000_000_123_456;
const SECRET = "abcdefghijklmnopqrstuv";
const SECOND_US = 1_000_000;

function claim(overrides: Partial<Claim> = {}): Claim {
  return {
    ...{ ...CLAIM, lockId: 36n, ticketNumber: 7n, secret: SECRET, requestId: "request-1", permits: 3 },
    ...{ owner: "nightly", principal: "token/nightly", labels: { host: "a1" } },
    ...{ requestedAtUs: NOW_US - 5 * SECOND_US, grantedAtUs: NOW_US - SECOND_US, endedAtUs: null },
    ...{ ttlUs: 30 * SECOND_US, deadlineUs: NOW_US + 12 * SECOND_US, endReason: null },
    fencingToken: 2n ** 53n + 1n,
    ...overrides,
  };
}

const LOCK: Lock = {
  ...{ ...FREE_LOCK, limit: 4, limitVersion: 2n, lastToken: 5n, nextTicket: 9n },
  ...{ heldPermits: 3, holders: 1, waiting: 1, waitingPermits: 1 },
};

describe("times", () => {
  test.each([
    [0, 0n, 0],
    [1, 0n, 1_000],
    [999_999, 0n, 999_999_000],
    [SECOND_US, 1n, 0],
    [24 * 86_400 * SECOND_US, 2_073_600n, 0],
    [-1, 0n, 0],
    [-5 * SECOND_US, 0n, 0],
  ])("a span of %i us is exact, and never negative", (us, seconds, nanos) => {
    expect(durationMessage(us)).toMatchObject({ seconds, nanos });
  });

  test.each([
    [-5, "0 ms"],
    [450_000, "450 ms"],
    [12 * SECOND_US, "12 s"],
    [999_499, "999 ms"],
    [SECOND_US, "1 s"],
    [119 * SECOND_US, "119 s"],
    [120 * SECOND_US, "2 min"],
    [7_199 * SECOND_US, "120 min"],
    [7_200 * SECOND_US, "2 h"],
    [172_799 * SECOND_US, "48 h"],
    [172_800 * SECOND_US, "2 days"],
    [180 * SECOND_US, "3 min"],
    [5 * 3_600 * SECOND_US, "5 h"],
    [24 * 86_400 * SECOND_US, "24 days"],
  ])("%i us is a span that people can read", (us, text) => {
    expect(spanText(us)).toBe(text);
  });
});

describe("a lease", () => {
  test("a lease never lasts longer than it was granted for, although the clock was set back", () => {
    const setBackUs = 60_000_000;
    const late = claim({ ttlUs: 30_000_000, deadlineUs: NOW_US + setBackUs + 30_000_000 });
    expect(leaseMessage(late, "a", NOW_US).ttl?.seconds).toBe(30n);
  });

  test("does not show a request id that the server made", () => {
    expect(leaseMessage(claim({ requestId: "\0made" }), "a", NOW_US).requestId).toBe("");
  });
});

describe("the public part", () => {
  const waiting = { state: "waiting", grantedAtUs: null, fencingToken: 0n } as const;
  const waiter = claim({ ...waiting, ticketNumber: 8n, mode: "exclusive" });

  test("holds no secret", () => {
    const limit = { limit: 2, source: "default", pattern: "", version: 0n, reason: "" } as const;
    const holders = { nowUs: NOW_US, claims: [claim()] };
    const shown = [
      toBinary(ClaimSchema, claimMessage(claim(), "a")),
      toBinary(
        LockSchema,
        lockMessage({
          lock: LOCK,
          limit,
          rate: null,
          queueRules: null,
          holders: [claim()],
          waiters: [waiter],
        }),
      ),
      toBinary(RefusalSchema, refusedMessage("a", busy(1), 1, holders)),
      toBinary(ClaimEndSchema, endedMessage("a", claim({ endReason: "timed_out" }), holders)),
    ].map((bytes) => Buffer.from(bytes).toString("latin1"));
    for (const bytes of shown) {
      expect(bytes).not.toContain(SECRET);
      expect(bytes).not.toContain("request-1");
    }
  });
});

const limitMessage = (limit: number) =>
  ({ limit, source: "default", pattern: "", version: 0n, reason: "" }) as const;
const busy = (limit: number) => ({ kind: "refused", reason: "busy", limit: limitMessage(limit) }) as const;

describe("a refusal", () => {
  const held = (...claims: Claim[]) => ({ nowUs: NOW_US, claims });

  test.each([
    [
      "a mutex",
      1,
      held(claim({ permits: 1, owner: "" })),
      "1 of 1 permit is held; the next lease ends in 12 s",
    ],
    [
      "a semaphore",
      5,
      held(claim(), claim({ permits: 2, deadlineUs: NOW_US + 4 * SECOND_US })),
      '5 of 5 permits are held (the oldest by "nightly"); the next lease ends in 4 s',
    ],
    [
      "a lock with many holders",
      20,
      held(...Array.from({ length: 10 }, () => claim({ permits: 1, owner: "" }))),
      "at least 10 of 20 permits are held; the next lease ends in 12 s",
    ],
    [
      "a reader",
      1,
      held(claim({ mode: "shared", owner: "" })),
      "a reader holds it; the next lease ends in 12 s",
    ],
    [
      "readers",
      1,
      held(claim({ mode: "shared", owner: "" }), claim({ mode: "shared" })),
      "readers hold it; the next lease ends in 12 s",
    ],
    [
      "a writer without end",
      1,
      held(claim({ mode: "exclusive", owner: "", deadlineUs: null })),
      "a writer holds it; none of their leases has an end",
    ],
    ["a queue before it", 1, held(), "others wait for it"],
  ])("for %s names the holders and their remaining time", (_, limit, holders, text) => {
    expect(refusedMessage("etl/load", busy(limit), 1, holders).message).toBe(
      `"etl/load" is busy: ${text}${/ends/.test(text) ? " unless renewed" : ""}.`,
    );
  });

  test("has the time until the earliest lease ends", () => {
    const holders = held(claim(), claim({ deadlineUs: NOW_US + SECOND_US / 2 }), claim({ deadlineUs: null }));
    const retryAfter = (of: typeof holders) => refusedMessage("a", busy(9), 1, of).retryAfter;
    expect(retryAfter(holders)).toMatchObject({ seconds: 0n, nanos: 500_000_000 });
    expect(retryAfter(held(claim({ deadlineUs: NOW_US - 1 })))).toMatchObject({ seconds: 0n, nanos: 0 });
    expect(retryAfter(held())).toBeUndefined();
  });

  test.each([
    ["paused", RefusalReason.PAUSED, /limit is 0/],
    ["queue_full", RefusalReason.QUEUE_FULL, /queue of "a" is full/],
    ["never_fits", RefusalReason.NEVER_FITS, /^5 permits of "a" can never be granted: its limit is 3/],
  ] as const)("of kind %s has its reason and no holders", (kind, reason, message) => {
    const limit = limitMessage(kind === "paused" ? 0 : 3);
    const refusal = refusedMessage("a", { kind: "refused", reason: kind, limit }, 5, null);
    expect(refusal).toMatchObject({ reason, message: expect.stringMatching(message), holders: [] });
    expect(refusal.retryAfter).toBeUndefined();
    expect(refusal.limit?.permits).toBe(kind === "queue_full" ? undefined : limit.limit);
    expect(showsHolders(kind)).toBe(false);
  });

  test("for a rate, and for more permits than its burst, names where the rate comes from, and no limit", () => {
    const rate: EffectiveRate = {
      ...{ permits: 500, perUs: 60 * SECOND_US, burst: 20 },
      ...{ source: "pattern", pattern: "llm/*", version: 2n, reason: "the provider's" },
    };
    const waits = { limit: limitMessage(3), rate, forUs: 12 * SECOND_US };
    const refusal = refusedMessage("a", { kind: "refused", reason: "rate", ...waits }, 1, null);
    expect(refusal).toMatchObject({
      ...{
        reason: RefusalReason.RATE,
        retryAfter: { seconds: 12n },
        rate: { version: 2n, rate: { burst: 20 } },
      },
      message: `"a" is granted at a rate of 500 per 60 s, burst 20 by the pattern "llm/*" (reason: the provider's). Wait in its queue, or try again in 12 s.`,
    });
    expect(refusal.limit).toBeUndefined();
    const hopeless = refusedMessage("a", { ...waits, kind: "refused", reason: "never_fits" }, 21, null);
    expect(hopeless.message).toMatch(
      /^21 permits of "a" can never be granted: it has a rate of .*, whose burst is 20\.$/,
    );
    expect(hopeless.limit).toBeUndefined();
  });

  test("after a fail-over has the time when grants resume", () => {
    const waits = { limit: limitMessage(3), forUs: 12 * SECOND_US };
    expect(refusedMessage("a", { kind: "refused", reason: "failed_over", ...waits }, 1, null)).toMatchObject({
      reason: RefusalReason.PAUSED,
      message: expect.stringMatching(/the database has failed over.* in 12 s\./),
      retryAfter: { seconds: 12n },
    });
  });

  test.each<[EndReason, WireEndReason, RegExp]>([
    ["released", WireEndReason.RELEASED, /lease was released/],
    ["expired", WireEndReason.EXPIRED, /time to live ran out/],
    ["force_released", WireEndReason.FORCE_RELEASED, /operator ended the claim: stuck/],
    ["cancelled", WireEndReason.CANCELLED, /given up/],
    ["lapsed", WireEndReason.LAPSED, /nobody fetched the lease in time/],
    ["timed_out", WireEndReason.TIMED_OUT, /max_wait has passed/],
    ["never_fits", WireEndReason.NEVER_FITS, /the limit, or the burst of the rate, is lower/],
    ["exhausted", WireEndReason.EXHAUSTED, /no attempts left when its turn came/],
    ["status_mismatch", WireEndReason.STATUS_MISMATCH, /had the status "" when its turn came/],
    ["spent", WireEndReason.SPENT, /was granted, and took what it asked for/],
  ])("for a claim that ended as %s says so", (endReason, reason, message) => {
    const endNote = endReason === "force_released" ? "stuck" : "";
    const ended = claim({ state: "ended", endReason, endNote });
    expect(endedMessage("a", ended, null)).toMatchObject({ reason, message: expect.stringMatching(message) });
  });

  test("for a lapsed place explains that no sign of life came", () => {
    const ended = claim({ state: "ended", endReason: "lapsed", grantedAtUs: null });
    expect(endedMessage("a", ended, null).message).toMatch(/no sign of life/);
  });
});

describe("the record in a refusal", () => {
  const refused = (reason: "not_before" | "exhausted" | "status_mismatch", more: object = {}) =>
    refusedMessage("a", { kind: "refused", reason, limit: limitMessage(1), ...more }, 1, null);

  test("has the due time, and when to try again", () => {
    expect(refused("not_before", { forUs: 3 * SECOND_US })).toMatchObject({
      reason: RefusalReason.NOT_BEFORE,
      message: expect.stringMatching(/"a" is not due yet.* in 3 s\.$/),
      retryAfter: { seconds: 3n, nanos: 0 },
      status: "",
    });
  });

  test("has no attempts left, which no time cures", () => {
    const refusal = refused("exhausted");
    expect(refusal.reason).toBe(RefusalReason.EXHAUSTED);
    expect(refusal.limit).toBeUndefined();
    expect(refusal.message).toMatch(/"a" has no attempts left/);
    expect(refusal.retryAfter).toBeUndefined();
  });

  test("has the status of the lock", () => {
    expect(refused("status_mismatch", { status: "done" })).toMatchObject({
      reason: RefusalReason.STATUS_MISMATCH,
      message: expect.stringMatching(/has the status "done", which is none of those wanted/),
      status: "done",
    });
    const ended = claim({ state: "ended", endReason: "status_mismatch", endNote: "done" });
    expect(endedMessage("a", ended, null)).toMatchObject({
      message: expect.stringMatching(/the status "done"/),
      status: "done",
    });
    // An operator's note is not a status.
    const byOperator = claim({ state: "ended", endReason: "force_released", endNote: "stuck" });
    expect(endedMessage("a", byOperator, null).status).toBe("");
  });
});

describe("the remaining time of a provisional lease", () => {
  test("is never more than the time for which it was granted, and not its whole TTL", () => {
    const grantedAtUs = NOW_US;
    const provisional = claim({ provisional: true, grantedAtUs, deadlineUs: grantedAtUs + 10 * SECOND_US });
    expect(leaseLeftUs(provisional, NOW_US)).toBe(10 * SECOND_US);
    expect(leaseLeftUs(provisional, NOW_US - 5 * SECOND_US)).toBe(10 * SECOND_US);
    expect(leaseLeftUs(provisional, NOW_US + 4 * SECOND_US)).toBe(6 * SECOND_US);
    expect(leaseLeftUs(provisional, NOW_US + 60 * SECOND_US)).toBe(0);
    expect(leaseMessage(provisional, "a", NOW_US).provisional).toBe(true);
  });

  test("of a lease without end is not shown as provisional, because it does not end by itself", () => {
    const endless = claim({ provisional: true, ttlUs: null, deadlineUs: null });
    expect(leaseLeftUs(endless, NOW_US)).toBeNull();
    expect(leaseMessage(endless, "a", NOW_US).provisional).toBe(false);
  });
});

test("a place with a bounded wait never lasts longer than its whole wait, although the clock was set back", () => {
  const waiter = claim({ state: "waiting", requestedAtUs: NOW_US, waitUntilUs: NOW_US + 3 * SECOND_US });
  const place = { ahead: 0, permitsAhead: 0, queueLength: 1 };
  const ticket = ticketMessage(waiter, "a", place, NOW_US - 60 * SECOND_US, 10 * SECOND_US);
  expect(ticket.keptFor).toMatchObject({ seconds: 3n, nanos: 0 });
  expect(ticket.waited).toMatchObject({ seconds: 0n, nanos: 0 });
});
