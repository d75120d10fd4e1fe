// The acquisition of one lock over a fake connection: what it sends, and how it reacts to each answer.

import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Acquisition } from "../../../../clients/typescript/src/acquisition.ts";
import type { HeldLease } from "../../../../clients/typescript/src/leases/held-lease.ts";
import type { LockOptions } from "../../../../clients/typescript/src/options.ts";
import type { Reason } from "../../../../clients/typescript/src/reason.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { durationOf } from "../../../../clients/typescript/src/times.ts";
import { EndReason, LeaseSchema, Mode, RefusalReason } from "../../../../proto/gen/rowlock/v1/lock_pb.js";
import {
  type AcquireRequest,
  AcquireResponseSchema,
  RenewResponseSchema,
  WaitInQueueResponseSchema,
} from "../../../../proto/gen/rowlock/v1/lock_service_pb.js";
import { FakeConnection, GONE, moveOn, stageCalls } from "./fake-connection.ts";

const TTL_MS = 30_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

const leaseOf = (leaseId: string, leftMs: number | null = TTL_MS, more = {}) =>
  create(LeaseSchema, {
    leaseId,
    lockName: "etl",
    fencingToken: 7n,
    ...(leftMs !== null && { ttl: durationOf(leftMs) }),
    ...more,
  });
const granted = (leaseId: string, leftMs?: number | null, more = {}) => ({
  case: "waitInQueue",
  value: create(WaitInQueueResponseSchema, {
    update: { case: "granted", value: leaseOf(leaseId, leftMs, more) },
  }),
});
const place = (ticketId: string, more = {}) => ({
  case: "waitInQueue",
  value: create(WaitInQueueResponseSchema, { update: { case: "position", value: { ticketId, ...more } } }),
});
const ended = (reason: EndReason) => ({
  case: "waitInQueue",
  value: create(WaitInQueueResponseSchema, { update: { case: "ended", value: { reason } } }),
});
const renewed = (leaseId: string, leftMs: number) => ({
  case: "renew",
  value: create(RenewResponseSchema, { lease: leaseOf(leaseId, leftMs) }),
});
const errorOf = (reason: Reason, code = "UNAVAILABLE") => new RowlockError(reason, code, "no");

/** An acquisition that has started, with callbacks that record what they receive. */
function stage(asked: LockOptions = {}, { giveUpAfterMs = 60_000, spendOnly = false } = {}) {
  const staged = stageCalls();
  const held = new Map<string, HeldLease>();
  const givenBack: string[] = [];
  const unheard: AcquireRequest[] = [];
  const acquisition = new Acquisition({
    calls: staged.calls,
    clock: staged.clock,
    name: "etl",
    asked,
    spendOnly,
    giveUpAfterMs,
    marginMs: 2_000,
    find: (id) => held.get(id),
    keep: (lease) => void held.set(lease.id, lease),
    giveBack: (id) => void givenBack.push(id),
    giveBackUnheard: (request) => void unheard.push(request),
    isShared: () => false,
  });
  const outcome = acquisition.run();
  outcome.catch(() => {});
  return { ...staged, acquisition, outcome, held, givenBack, unheard };
}

describe("a request", () => {
  test("that is repeated waits for the rest of its time, under its id", async () => {
    const { calls, connection, latest } = stage({ wait: 10_000, requestId: "mine", onPosition() {} });
    const asks = (seconds: bigint) => ({
      value: {
        target: { value: { requestId: "mine", maxWait: { seconds, nanos: 0 } } },
        minUpdateInterval: { seconds: 1n },
      },
    });
    expect(latest().command).toMatchObject(asks(10n));
    await vi.advanceTimersByTimeAsync(4_000);
    expect(moveOn(calls, connection).asked[0]?.command).toMatchObject(asks(6n));
  });

  test("comes back to its place by its ticket, or by its request id if there is no coming back by tickets", () => {
    const { calls, connection, answer } = stage();
    answer(place("t"));
    const second = moveOn(calls, connection);
    expect(second.asked[0]?.command).toMatchObject({ value: { target: { case: "ticketId", value: "t" } } });
    const third = moveOn(calls, second, Object.assign(new FakeConnection(), { via: "unary" as const }));
    expect(third.asked[0]?.command).toMatchObject({ value: { target: { case: "request" } } });
  });
});

describe("without an answer", () => {
  test("a wait with an end is given up two seconds after it", async () => {
    const { outcome } = stage({ wait: 1_000 });
    const failed = vi.fn();
    outcome.catch(failed);
    await vi.advanceTimersByTimeAsync(2_999);
    expect(failed).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2);
    await expect(outcome).rejects.toMatchObject({ reason: "NO_SERVER" });
  });

  test.each([{ wait: 0 }, { wait: "forever" }, { wait: 100_000 }] as const)(
    "a request with %j is given up after the time of all calls",
    async (asked) => {
      const { outcome } = stage(asked, { giveUpAfterMs: 9_000 });
      const failed = vi.fn();
      outcome.catch(failed);
      await vi.advanceTimersByTimeAsync(8_999);
      expect(failed).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(2);
      expect(failed).toHaveBeenCalledOnce();
    },
  );
});

describe("a place", () => {
  test("is given back, and its wait ended, if the caller's own function throws", async () => {
    const { calls, connection, answer, outcome, givenBack } = stage({
      onPosition: () => {
        throw new Error("broken");
      },
    });
    answer(place("t"));
    await expect(outcome).rejects.toThrow("broken");
    expect(givenBack).toEqual(["t"]);
    expect(connection.cancelled).toEqual([1n]);
    expect(calls.size).toBe(0);
  });
});

describe("a request that only spends", () => {
  const spent = {
    case: "spent" as const,
    value: { lockName: "etl", permits: 3, fencingToken: 7n, spentAt: durationOf(1_000), requestId: "mine" },
  };
  const view = { name: "etl", permits: 3, token: 7n, spentAt: new Date(1_000), requestId: "mine" };

  test("asks without the terms of a lease, repeats its request id, and holds nothing", async () => {
    const asked = { permits: 3, requestId: "mine", owner: "me", labels: { a: "b" }, ifStatus: "ok" };
    const { calls, connection, answer, outcome, held, givenBack, latest } = stage(asked, { spendOnly: true });
    const request = {
      ...{ name: "etl", permits: 3, requestId: "mine", spendOnly: true },
      terms: { owner: "me", labels: { a: "b" }, ifStatus: ["ok"], lasting: { case: undefined } },
    };
    const command = { case: "waitInQueue", value: { target: { case: "request", value: request } } };
    expect(latest().command).toMatchObject(command);
    const next = moveOn(calls, connection);
    expect(next.asked[0]?.command).toMatchObject(command);
    const value = create(WaitInQueueResponseSchema, { update: spent });
    answer({ case: "waitInQueue", value }, { call: next.asked[0]?.call as bigint });
    expect(await outcome).toEqual(view);
    expect([held.size, givenBack, calls.size]).toEqual([0, [], 0]);
  });

  test("without a wait, too", async () => {
    const { answer, outcome, latest } = stage({ wait: 0 }, { spendOnly: true });
    expect(latest().command).toMatchObject({ case: "acquire", value: { spendOnly: true } });
    answer({ case: "acquire", value: create(AcquireResponseSchema, { outcome: spent }) });
    expect(await outcome).toEqual(view);
  });

  test("gives back the lease of a server that is too old to know what that is", async () => {
    const { answer, outcome, held, givenBack } = stage({}, { spendOnly: true });
    answer(granted("a"));
    await expect(outcome).rejects.toThrow("cannot spend");
    expect([held.size, givenBack]).toEqual([0, ["a"]]);
  });

  test("gives its place back when it is given up, and nothing when it has spent meanwhile", async () => {
    const { acquisition, answer, outcome, givenBack } = stage({}, { spendOnly: true });
    answer(place("t", { rateWait: durationOf(1_500), pool: "e*" }));
    expect(acquisition.place).toMatchObject({ ticketId: "t", rateWaitMs: 1_500, pool: "e*" });
    acquisition.abandon(new Error("enough"));
    await expect(outcome).rejects.toThrow("enough");
    expect(givenBack).toEqual(["t"]);
    const late = stage({}, { spendOnly: true });
    late.acquisition.abandon(new Error("enough"));
    late.answer({ case: "waitInQueue", value: create(WaitInQueueResponseSchema, { update: spent }) });
    await expect(late.outcome).rejects.toThrow("enough");
    expect([late.givenBack, late.calls.size]).toEqual([[], 0]);
  });
});

describe("a request for several locks", () => {
  const also = ["book", { name: "ledger", mode: "shared" }, { name: "pool", permits: 3 }] as const;
  const wanted = [
    { name: "book", mode: Mode.PERMIT, permits: 0 },
    { name: "ledger", mode: Mode.SHARED, permits: 0 },
    { name: "pool", mode: Mode.PERMIT, permits: 3 },
  ];
  const grants = {
    also: ["book", "ledger", "pool"].map((lockName, at) => ({ lockName, fencingToken: BigInt(at) })),
  };

  test("names them in each request, whether it waits, is repeated or begins anew", () => {
    const { calls, connection, answer, asked, latest } = stage({ also });
    const waits = {
      case: "waitInQueue",
      value: { target: { case: "request", value: { name: "etl", also: wanted } } },
    };
    expect(latest().command).toMatchObject(waits);
    answer(ended(EndReason.LAPSED));
    expect(asked).toHaveLength(2);
    expect(latest().command).toMatchObject(waits);
    expect(moveOn(calls, connection).asked[0]?.command).toMatchObject(waits);
    expect(stage({ also, wait: 0 }).latest().command).toMatchObject({
      case: "acquire",
      value: { also: wanted },
    });
    const lost = stage({ also, ttl: "forever" });
    lost.calls.failAll(GONE);
    expect(lost.unheard).toMatchObject([{ name: "etl", also: wanted }]);
  });

  test("knows at which of them it waits, and has a token of each when it is granted", async () => {
    const { acquisition, answer, outcome, held } = stage({ also });
    answer(place("t", { ahead: 2, waitsFor: "ledger" }));
    expect(acquisition.place).toMatchObject({ ahead: 2, waitsFor: "ledger" });
    answer(granted("a", TTL_MS, grants));
    expect(await outcome).toBe(held.get("a"));
    expect([...(held.get("a")?.tokens ?? [])]).toEqual([
      ["etl", 7n],
      ["book", 0n],
      ["ledger", 1n],
      ["pool", 2n],
    ]);
  });

  test("gives back the lease of a server that is too old to know what that is, as it holds only one", async () => {
    const { answer, outcome, held, givenBack } = stage({ also });
    answer(granted("a"));
    await expect(outcome).rejects.toThrow("cannot take several locks");
    expect([held.size, givenBack]).toEqual([0, ["a"]]);
  });

  test("that is refused, or ends, says because of which", async () => {
    const refused = stage({ also, wait: 0 });
    const refusal = { case: "refusal" as const, value: { reason: RefusalReason.BUSY, lockName: "book" } };
    refused.answer({ case: "acquire", value: create(AcquireResponseSchema, { outcome: refusal }) });
    expect(await refused.outcome).toMatchObject({ reason: "BUSY", lockName: "book" });
    const over = stage({ also });
    const end = { case: "ended" as const, value: { reason: EndReason.NEVER_FITS, lockName: "pool" } };
    over.answer({ case: "waitInQueue", value: create(WaitInQueueResponseSchema, { update: end }) });
    expect(await over.outcome).toMatchObject({ reason: "NEVER_FITS", lockName: "pool" });
  });
});

describe("giving up", () => {
  test("before its answer gives back what that brings, a grant or a place, and keeps nothing", async () => {
    for (const [comes, id] of [
      [granted("a"), "a"],
      [place("t"), "t"],
    ] as const) {
      const { acquisition, answer, outcome, held, givenBack, calls } = stage();
      acquisition.abandon(new Error("enough"));
      await expect(outcome).rejects.toThrow("enough");
      answer(comes);
      expect([held.size, givenBack, calls.size]).toEqual([0, [id], 0]);
    }
  });
});

describe("a grant", () => {
  test("that is late is renewed before it is used", async () => {
    const { answer, outcome, latest, held } = stage();
    answer(granted("a", 2_500));
    expect(held.size).toBe(0);
    expect(latest().command).toMatchObject({ case: "renew", value: { leaseId: "a" } });
    answer(renewed("a", TTL_MS));
    expect(await outcome).toBe(held.get("a"));
  });

  test.each<LockOptions>([
    { minInterval: 0 },
    { lockDelay: 0 },
    { statusIfLost: "" },
    { ifStatus: "" },
    { backoff: { first: 1 } },
  ])("with %j that is provisional is held when it is renewed", async (terms) => {
    const { answer, outcome, latest, held } = stage(terms);
    answer(granted("a", TTL_MS, { provisional: true }));
    expect(latest().command).toMatchObject({ case: "renew", value: { leaseId: "a" } });
    expect(held.size).toBe(0);
    answer(renewed("a", TTL_MS));
    expect(await outcome).toBe(held.get("a"));
  });

  test("that is provisional and has no terms, or has terms and is not provisional, is held at once", async () => {
    for (const [terms, provisional] of [
      [{}, true],
      [{ ifStatus: [] }, true],
      [{ statusIfLost: "" }, false],
    ] as const) {
      const { answer, outcome, held } = stage(terms);
      answer(granted("a", TTL_MS, { provisional }));
      expect(await outcome).toBe(held.get("a"));
    }
  });
});

describe("the end of a wait", () => {
  test.each([EndReason.LAPSED, EndReason.EXPIRED])(
    "that the caller did not hear of (%i) is no end: the lock is requested again, under another id",
    async (reason) => {
      const { answer, outcome, asked, latest } = stage();
      answer(place("t"));
      answer(ended(reason));
      expect(asked).toHaveLength(2);
      expect(latest().command).toMatchObject({ value: { target: { case: "request" } } });
      answer(granted("b"));
      expect(await outcome).toMatchObject({ id: "b" });
    },
  );

  test("of a claim that had ended before a request without a wait is the outcome, too", async () => {
    const { answer, outcome } = stage({ wait: 0, requestId: "mine" });
    const value = { reason: EndReason.RELEASED, message: "over" };
    answer({ case: "acquire", value: create(AcquireResponseSchema, { outcome: { case: "ended", value } }) });
    expect(await outcome).toEqual({ reason: "RELEASED", message: "over" });
  });

  test("that comes when the wait is over is the outcome, whatever it is", async () => {
    const { answer, outcome, asked } = stage({ wait: 1_000 });
    await vi.advanceTimersByTimeAsync(999);
    answer(ended(EndReason.LAPSED));
    expect(asked).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    answer(ended(EndReason.LAPSED));
    expect(await outcome).toMatchObject({ reason: "LAPSED" });
    expect(asked).toHaveLength(2);
  });
});

describe("a failure", () => {
  test("because the place is unknown begins anew; without a place, or under the caller's own id, it is the outcome", async () => {
    const one = stage();
    one.answer(place("t"));
    one.answer(errorOf("UNKNOWN_CLAIM", "NOT_FOUND"));
    expect(one.asked).toHaveLength(2);
    const two = stage();
    two.answer(errorOf("UNKNOWN_CLAIM", "NOT_FOUND"));
    await expect(two.outcome).rejects.toMatchObject({ reason: "UNKNOWN_CLAIM" });
    const three = stage({ requestId: "mine" });
    three.answer(place("t"));
    three.answer(errorOf("UNKNOWN_CLAIM", "NOT_FOUND"));
    await expect(three.outcome).rejects.toMatchObject({ reason: "UNKNOWN_CLAIM" });
    const four = stage();
    four.answer(place("t"));
    four.answer(errorOf("BAD_REQUEST", "INVALID_ARGUMENT"));
    await expect(four.outcome).rejects.toMatchObject({ reason: "BAD_REQUEST" });
  });

  test("that may have left a place gives it back, unless its caller has chosen the request id", async () => {
    const own = stage();
    own.answer(place("t"));
    own.calls.failAll(RowlockError.closed());
    await expect(own.outcome).rejects.toMatchObject({ reason: "CLOSED" });
    expect(own.givenBack).toEqual(["t"]);
    const chosen = stage({ requestId: "mine" });
    chosen.answer(place("t"));
    chosen.calls.failAll(RowlockError.closed());
    await expect(chosen.outcome).rejects.toMatchObject({ reason: "CLOSED" });
    expect(chosen.givenBack).toEqual([]);
  });

  test("of such a request under the caller's own id is left to the caller, who gets the id", async () => {
    const { calls, outcome, unheard } = stage({ ttl: "forever", requestId: "mine" });
    calls.failAll(GONE);
    await expect(outcome).rejects.toMatchObject({
      metadata: { request_id: "mine" },
      message: expect.stringContaining("acquire it again with that request id"),
    });
    expect(unheard).toEqual([]);
  });

  test("of a request that ends by itself, or that reached no server, leaves nothing to give back", async () => {
    const ending = stage();
    ending.calls.failAll(GONE);
    await expect(ending.outcome).rejects.toBe(GONE);
    expect(ending.unheard).toEqual([]);
    const refused = stage({ ttl: "forever" });
    const no = errorOf("BAD_REQUEST", "INVALID_ARGUMENT");
    refused.answer(no);
    await expect(refused.outcome).rejects.toBe(no);
    expect(refused.unheard).toEqual([]);
    const unsent = stage({ ttl: "forever" });
    unsent.connection.wasReached = false;
    unsent.calls.failAll(GONE);
    await expect(unsent.outcome).rejects.toBe(GONE);
    expect(unsent.unheard).toEqual([]);
  });
});
