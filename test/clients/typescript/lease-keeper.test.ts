// What the keeper of leases does by itself, without a connection.

import { create } from "@bufbuild/protobuf";
import { afterEach, expect, test } from "vitest";
import { Clock } from "../../../clients/typescript/src/clock.ts";
import { Calls } from "../../../clients/typescript/src/connection/calls.ts";
import { HeldLease } from "../../../clients/typescript/src/leases/held-lease.ts";
import { LeaseKeeper } from "../../../clients/typescript/src/leases/lease-keeper.ts";
import { durationOf } from "../../../clients/typescript/src/times.ts";
import { LeaseSchema } from "../../../proto/gen/rowlock/v1/lock_pb.js";

let stop = () => {};
afterEach(() => stop());

function stage() {
  const clock = new Clock();
  let looks = 0;
  const keeper = new LeaseKeeper({
    calls: new Calls({ need() {}, lastError: () => undefined, addresses: [], clock }),
    clock,
    // Asked for each lease that is looked at.
    open: () => {
      looks += 1;
      return undefined;
    },
    need() {},
    leave() {},
  });
  stop = () => keeper.stop();
  const leases = Array.from({ length: 10 }, (_, index) =>
    create(LeaseSchema, { leaseId: String(index), lockName: "kept", ttl: durationOf(60_000) }),
  );
  for (const lease of leases) keeper.keep(new HeldLease(lease, clock.now(), 1_000, clock));
  return { keeper, clock, leases, looks: () => looks };
}

test("a response that confirms nothing costs nothing, however many leases are held", () => {
  const { keeper, clock, leases, looks } = stage();
  keeper.confirmed([], clock.now());
  expect(looks()).toBe(0);
  keeper.confirmed(leases.slice(0, 1), clock.now());
  expect(looks()).toBe(10);
});
