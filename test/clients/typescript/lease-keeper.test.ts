// What the lease keeper does by itself, without a connection.

import { create } from "@bufbuild/protobuf";
import { afterEach, expect, test, vi } from "vitest";
import { Clock } from "../../../clients/typescript/src/clock.ts";
import { Calls } from "../../../clients/typescript/src/connection/calls.ts";
import { HeldLease, type LockState } from "../../../clients/typescript/src/leases/held-lease.ts";
import { LeaseKeeper } from "../../../clients/typescript/src/leases/lease-keeper.ts";
import { durationOf } from "../../../clients/typescript/src/times.ts";
import { type Lease, LeaseSchema } from "../../../proto/gen/rowlock/v1/lock_pb.js";

let stop = () => {};
afterEach(() => {
  stop();
  vi.useRealTimers();
});

function stage(ttlMs = 60_000) {
  const clock = new Clock(() => performance.now());
  let looks = 0;
  const keeper = new LeaseKeeper({
    calls: new Calls({ need() {}, lastError: () => undefined, addresses: [], clock }),
    clock,
    // The keeper calls this for each lease that it checks.
    open: () => {
      looks += 1;
      return undefined;
    },
    need() {},
    leave() {},
  });
  stop = () => keeper.stop();
  const leases = Array.from({ length: 10 }, (_, index) =>
    create(LeaseSchema, { leaseId: String(index), lockName: "kept", ttl: durationOf(ttlMs) }),
  );
  const held = leases.map((lease) => new HeldLease(lease, clock.now(), ttlMs / 10, clock));
  for (const lease of held) keeper.keep(lease);
  return { keeper, clock, leases, held, looks: () => looks };
}

test("a response without confirmations costs nothing, however many leases are held", () => {
  const { keeper, clock, leases, looks } = stage();
  keeper.confirmed([], clock.now());
  expect(looks()).toBe(0);
  keeper.confirmed(leases.slice(0, 1), clock.now());
  expect(looks()).toBe(10);
});

/** The first lease, the states that it reports, and a way to wait for the next one. */
function listening(ttlMs: number) {
  const { keeper, clock, leases, held } = stage(ttlMs);
  const [lease, first] = [leases[0] as Lease, held[0] as HeldLease];
  const told: LockState[] = [];
  const waiters: (() => void)[] = [];
  first.listen((state) => {
    told.push(state);
    for (const wake of waiters.splice(0)) wake();
  });
  return { keeper, clock, lease, first, told, next: () => new Promise<void>((wake) => waiters.push(wake)) };
}

test("a lease reports that its connection is gone, that it was renewed, and nothing when it is given back", async () => {
  const { keeper, clock, lease, first, told, next } = listening(60_000);
  let done = next();
  keeper.orphaned();
  await done;
  done = next();
  keeper.confirmed([lease], clock.now());
  await done;
  first.giveBack();
  await new Promise(setImmediate);
  expect(told).toEqual(["uncertain", "held"]);
  expect(first.state).toBe("released");
});

test("a confirmed lease counts from when the client heard of it, or from before that", async () => {
  vi.useFakeTimers();
  const { keeper, clock, leases, held } = stage(60_000);
  const told = clock.now();
  await vi.advanceTimersByTimeAsync(900);
  // The server may have heard more requests by this response than by the acknowledgement, which came before the
  // confirmation.
  keeper.confirmed(leases.slice(0, 1), clock.now());
  keeper.confirmed(leases.slice(1, 2), told - 500);
  const deadlines = held.map(({ deadlineMs }) => deadlineMs - told);
  expect(deadlines.slice(0, 2)).toEqual([54_000, 53_500]);
});

test("a lease that is not renewed reports it twice, though nobody checks it", async () => {
  vi.useFakeTimers();
  const { told } = listening(3_000);
  await vi.advanceTimersByTimeAsync(1_990);
  expect(told).toEqual([]);
  await vi.advanceTimersByTimeAsync(20);
  expect(told).toEqual(["uncertain"]);
  await vi.advanceTimersByTimeAsync(680);
  expect(told).toEqual(["uncertain"]);
  await vi.advanceTimersByTimeAsync(20);
  expect(told).toEqual(["uncertain", "lost"]);
});
