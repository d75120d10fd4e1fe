// Whether a client may begin to rely on a lease, and who hears of its states. How time ends it is in lease-keeper.test.ts.

import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Clock } from "../../../../clients/typescript/src/clock.ts";
import { HeldLease, type LockState } from "../../../../clients/typescript/src/leases/held-lease.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { durationOf } from "../../../../clients/typescript/src/times.ts";
import { LeaseSchema, Mode } from "../../../../proto/gen/rowlock/v1/lock_pb.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const messageOf = (ttlMs: number | null, more = {}) =>
  create(LeaseSchema, {
    leaseId: "a",
    lockName: "etl",
    mode: Mode.SHARED,
    permits: 2,
    fencingToken: 5n,
    ...(ttlMs !== null && { ttl: durationOf(ttlMs) }),
    ...more,
  });

function stage(ttlMs: number | null = 3_000, { marginMs = 300, agoMs = 0, more = {} } = {}) {
  const clock = new Clock(() => performance.now());
  const beginMs = clock.now();
  const lease = new HeldLease(messageOf(ttlMs, more), beginMs - agoMs, marginMs, clock);
  const states: LockState[] = [];
  lease.listen((state) => states.push(state));
  return { clock, beginMs, lease, states };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("a lease without end is never renewed and never lost", async () => {
  const { lease } = stage(null, { marginMs: 0 });
  await pass(1e9);
  const never = Number.POSITIVE_INFINITY;
  expect(lease).toMatchObject({ state: "held", remainingMs: never, renewAtMs: never, isTooEarly: false });
});

describe("too little time is left", () => {
  test.each([
    [1_699, false],
    [1_701, true],
  ])("of a grant that was %i ms on its way: %s", (agoMs, isTooEarly) => {
    expect(stage(3_000, { agoMs }).lease.isTooEarly).toBe(isTooEarly);
  });

  test.each([
    [1_200, false],
    [1_199, true],
  ])("of a provisional one of %i ms with a margin of 300 ms: %s", (ttlMs, isTooEarly) => {
    expect(stage(ttlMs, { more: { provisional: true } }).lease.isTooEarly).toBe(isTooEarly);
    expect(stage(ttlMs).lease.isTooEarly).toBe(false);
  });
});

describe("a listener", () => {
  test("that comes late hears of a lease that is not held", async () => {
    const { lease } = stage();
    const late: LockState[] = [];
    lease.listen((state) => late.push(state));
    await pass(0);
    expect(late).toEqual([]);
    lease.orphaned();
    lease.listen((state) => late.push(state));
    await pass(0);
    // Both are called: the earlier listener for the change, the new one for the current state.
    expect(late).toEqual(["uncertain", "uncertain"]);
  });
});

test("lost is final: the first reason stays, and no answer brings the lease back", async () => {
  const { lease, clock } = stage();
  const why = new RowlockError("LEASE_LOST", "FAILED_PRECONDITION", "an operator has ended it");
  lease.lose(why);
  lease.lose(new RowlockError("INTERNAL", "INTERNAL", "late"));
  lease.prolonged(messageOf(9_000), clock.now());
  expect([lease.state, lease.remainingMs, lease.signal.reason]).toEqual(["lost", 0, why]);
});
