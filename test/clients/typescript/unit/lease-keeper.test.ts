// When leases are renewed and how the keeper reacts to each answer, with a fake connection and the test's own timers.

import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { HeldLease } from "../../../../clients/typescript/src/leases/held-lease.ts";
import { LeaseKeeper } from "../../../../clients/typescript/src/leases/lease-keeper.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { durationOf } from "../../../../clients/typescript/src/times.ts";
import { ErrorInfoSchema } from "../../../../proto/gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../../../proto/gen/google/rpc/status_pb.js";
import { EndReason, LeaseSchema } from "../../../../proto/gen/rowlock/v1/lock_pb.js";
import {
  LostLeaseSchema,
  RenewedLeasesSchema,
  type RenewLeases,
} from "../../../../proto/gen/rowlock/v1/lock_service_pb.js";
import { GONE, stageCalls } from "./fake-connection.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const messageOf = (leaseId: string, ttlMs: number | null) =>
  create(LeaseSchema, { leaseId, lockName: "etl", ...(ttlMs !== null && { ttl: durationOf(ttlMs) }) });

function stage() {
  const staged = stageCalls();
  const { calls, clock, connection, asked, answer } = staged;
  const state = { isOpen: true, needed: 0, left: [] as RowlockError[] };
  const observer = { kept: vi.fn(), ended: vi.fn(), late: vi.fn() };
  const keeper = new LeaseKeeper({
    calls,
    clock,
    observer,
    open: () => (state.isOpen ? connection : undefined),
    need: () => {
      state.needed += 1;
    },
    leave: (error) => void state.left.push(error),
  });
  // In this order, because a failing renewal would set another timer, which would fire during the next test.
  onTestFinished(() => {
    calls.failAll(GONE);
    keeper.stop();
  });
  const beginMs = clock.now();
  const keep = (id: string, ttlMs: number | null = 3_000, marginMs = 300) => {
    const lease = new HeldLease(messageOf(id, ttlMs), clock.now(), marginMs, clock);
    keeper.keep(lease);
    return lease;
  };
  /** The leases of each renewal so far. */
  const renewals = () =>
    asked.map(({ command }) => (command.value as RenewLeases).leases.map(({ leaseId }) => leaseId));
  const renewed = (...leases: readonly (readonly [string, number | null])[]) =>
    answer({
      case: "renewLeases",
      value: create(RenewedLeasesSchema, {
        leases: leases.map(([id, ttlMs]) => ({
          outcome: { case: "lease" as const, value: messageOf(id, ttlMs) },
        })),
      }),
    });
  return { ...staged, keeper, observer, state, beginMs, keep, renewals, renewed };
}

describe("leases are renewed", () => {
  test("at a third of their time, with those that are half-way to theirs", async () => {
    const { keep, renewals, renewed } = stage();
    keep("a", 3_000);
    keep("b", 5_000);
    keep("c", 9_000);
    await pass(999);
    expect(renewals()).toEqual([]);
    await pass(1);
    expect(renewals()).toEqual([["a", "b"]]);
    renewed(["a", 3_000], ["b", 5_000]);
    await pass(999);
    expect(renewals()).toHaveLength(1);
    await pass(1);
    expect(renewals()).toEqual([
      ["a", "b"],
      ["a", "b", "c"],
    ]);
  });

  test("with the first request of a connection, all of them, as many at a time as it accepts", () => {
    const { keeper, keep, connection, renewals } = stage();
    connection.renewalsMax = 2;
    for (const id of ["a", "b", "c"]) keep(id);
    keeper.begun(connection);
    expect(renewals()).toEqual([["a", "b"], ["c"]]);
  });

  test("by the next connection if there is none: until then one is requested", async () => {
    const { keep, state, renewals } = stage();
    state.isOpen = false;
    keep("a", 3_000);
    await pass(999);
    expect(state.needed).toBe(0);
    await pass(1);
    expect(state.needed).toBe(1);
    expect(renewals()).toEqual([]);
  });
});

describe("a renewal", () => {
  test("extends each lease by what the answer says, from its request", async () => {
    const { keep, renewed, beginMs } = stage();
    const [a, b] = [keep("a", 3_000), keep("b", 3_000)];
    await pass(1_100);
    renewed(["a", 3_000], ["b", 6_000]);
    expect([a.deadlineMs - beginMs, b.deadlineMs - beginMs]).toEqual([3_700, 6_700]);
    expect([a.isRenewing, b.isRenewing]).toEqual([false, false]);
  });

  test("that finds a lease ended loses it, and keeps the others", async () => {
    const { keeper, keep, answer } = stage();
    const [a, b] = [keep("a"), keep("b")];
    await pass(1_000);
    const info = create(ErrorInfoSchema, { domain: "rowlock", reason: "LEASE_LOST" });
    const details = [anyPack(ErrorInfoSchema, info)];
    const error = create(StatusSchema, { code: 9, message: "it has ended", details });
    const leases = [
      { outcome: { case: "error" as const, value: error } },
      { outcome: { case: "lease" as const, value: messageOf("b", 3_000) } },
    ];
    answer({ case: "renewLeases", value: create(RenewedLeasesSchema, { leases }) });
    expect([a.isLost, b.isLost]).toEqual([true, false]);
    expect(a.signal.reason).toMatchObject({ reason: "LEASE_LOST", message: "it has ended" });
    expect([keeper.size, keeper.find("a"), keeper.find("b")]).toEqual([1, undefined, b]);
  });

  test("that could not be done is tried again soon, and not before the time that the server names", async () => {
    const { keep, answer, renewals } = stage();
    keep("a", 6_000, 0);
    await pass(2_000);
    answer(new RowlockError("DATABASE_UNAVAILABLE", "UNAVAILABLE", "no"));
    await pass(149);
    expect(renewals()).toHaveLength(1);
    await pass(1);
    expect(renewals()).toHaveLength(2);
    answer(new RowlockError("OVERLOADED", "RESOURCE_EXHAUSTED", "no", { retryAfterMs: 700 }));
    await pass(699);
    expect(renewals()).toHaveLength(2);
    await pass(1);
    expect(renewals()).toHaveLength(3);
  });

  test("that the policy does not allow is tried again once a second", async () => {
    const { keep, answer, renewals } = stage();
    keep("a", 60_000, 0);
    await pass(20_000);
    for (const count of [2, 3]) {
      answer(new RowlockError("RIGHT_MISSING", "PERMISSION_DENIED", "no"));
      await pass(999);
      expect(renewals()).toHaveLength(count - 1);
      await pass(1);
      expect(renewals()).toHaveLength(count);
    }
  });

  test("that fails when it is overdue leaves a server that answers", async () => {
    const { keep, answer, state } = stage();
    keep("a", 3_000);
    await pass(2_100);
    answer(GONE);
    expect(state.left).toEqual([GONE]);
  });

  test("that fails while there is time, or when the connection is gone anyway, leaves no server", async () => {
    const { keep, answer, state } = stage();
    keep("a", 3_000);
    await pass(1_999);
    answer(GONE);
    await pass(300);
    state.isOpen = false;
    answer(GONE);
    expect(state.left).toEqual([]);
  });
});

describe("a lease in the keeper", () => {
  test("is confirmed with its whole time, from the response, and renewed by that", async () => {
    const { keeper, keep, clock, beginMs, renewals } = stage();
    const lease = keep("a", 900, 300);
    keeper.confirmed([messageOf("a", 6_000), messageOf("stranger", 1)], clock.now());
    expect(lease.deadlineMs - beginMs).toBe(5_700);
    await pass(1_000);
    expect(renewals()).toEqual([]);
    await pass(1_000);
    expect(renewals()).toEqual([["a"]]);
  });

  test("is confirmed from when the client heard of it, or from before that, and never from a later response", async () => {
    const { keeper, keep, clock } = stage();
    const [late, early] = [keep("late", 60_000, 6_000), keep("early", 60_000, 6_000)];
    const heardMs = clock.now();
    await pass(900);
    // The server may have heard more requests by this response than by the one that told of the lease.
    keeper.confirmed([messageOf("late", 60_000)], clock.now());
    keeper.confirmed([messageOf("early", 60_000)], heardMs - 500);
    expect([late, early].map(({ deadlineMs }) => deadlineMs - heardMs)).toEqual([54_000, 53_500]);
  });

  test("is uncertain when the connection is gone", () => {
    const { keeper, keep } = stage();
    const leases = [keep("a"), keep("b")];
    keeper.orphaned();
    expect(leases.map(({ state }) => state)).toEqual(["uncertain", "uncertain"]);
  });
});

describe("an observer", () => {
  test("is notified once of each lease that ends, however it ends", async () => {
    const { keeper, keep, observer } = stage();
    const [dropped, said, replaced] = [keep("a"), keep("b"), keep("c")];
    const successor = keep("c");
    keeper.drop(dropped);
    keeper.drop(dropped);
    const lost = create(LostLeaseSchema, { leaseId: "b", end: { reason: EndReason.FORCE_RELEASED } });
    keeper.lost([lost, lost]);
    expect(observer.kept.mock.calls).toEqual([[dropped], [said], [replaced], [successor]]);
    expect(observer.ended.mock.calls).toEqual([[replaced], [dropped], [said]]);
    await pass(2_700);
    expect(observer.ended.mock.calls.slice(3)).toEqual([[successor]]);
    expect(successor.isLost).toBe(true);
  });

  test("is notified of a renewal once two thirds of the lease's time have passed, and once for each", async () => {
    const { keep, renewed, observer } = stage();
    const lease = keep("a", 3_000);
    await pass(1_999);
    expect(observer.late).not.toHaveBeenCalled();
    await pass(1);
    expect(observer.late.mock.calls).toEqual([[lease]]);
    await pass(300);
    // It counts from when it was sent.
    renewed(["a", 3_000]);
    await pass(699);
    expect(observer.late).toHaveBeenCalledOnce();
    await pass(1);
    expect(observer.late).toHaveBeenCalledTimes(2);
  });
});

test("a lease that nothing renews is uncertain and lost to the millisecond, and checked no more often than that takes", async () => {
  const { keep, state } = stage();
  state.isOpen = false;
  const lease = keep("a", 3_300, 330);
  const look = vi.spyOn(lease, "look");
  const states: string[] = [];
  lease.listen((one) => states.push(one));
  await pass(2_199);
  expect(states).toEqual([]);
  await pass(2);
  expect(states).toEqual(["uncertain"]);
  await pass(768);
  expect(states).toEqual(["uncertain"]);
  await pass(2);
  expect(states).toEqual(["uncertain", "lost"]);
  expect(look.mock.calls.length).toBeLessThan(10);
});
