// Which leases an answer contains, and the remaining time of each when the answer is sent.

import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { LeaseSchema } from "#proto/rowlock/v1/lock_pb.js";
import { durationMessage, timestampMessage } from "../../../server/grpc/messages/times.ts";
import { endNow, leasesIn, shorten } from "../../../server/grpc/session/leases-in.ts";

const NOW_US = 1_800_000_000_000_000;
const lease = (leaseId = "a") => create(LeaseSchema, { leaseId });
const foundIn = (answer: object) => leasesIn(answer).map(({ leaseId }) => leaseId);

describe("the leases of an answer", () => {
  test.each<[string, object, string[]]>([
    ["Renew", { lease: lease() }, ["a"]],
    ["Acquire", { outcome: { case: "lease", value: lease() } }, ["a"]],
    ["Acquire that is refused", { outcome: { case: "refusal", value: { message: "busy" } } }, []],
    ["Acquire with a ticket", { outcome: { case: "ticket", value: { ticketId: "t" } } }, []],
    ["WaitInQueue", { update: { case: "granted", value: lease() } }, ["a"]],
    ["WaitInQueue with a position", { update: { case: "position", value: { ticketId: "t" } } }, []],
    ["Capture", { leases: [lease("a"), lease("b")], isRepeated: false }, ["a", "b"]],
    [
      "RenewLeases, of which one failed",
      {
        leases: [
          { outcome: { case: "lease", value: lease("a") } },
          { outcome: { case: "error", value: { message: "lost" } } },
          { outcome: { case: "lease", value: lease("c") } },
        ],
      },
      ["a", "c"],
    ],
    ["Release", { released: true }, []],
    ["ListLocks, in bytes", Buffer.from([1]), []],
  ])("of %s", (_method, answer, leaseIds) => {
    expect(foundIn(answer)).toEqual(leaseIds);
  });
});

describe("what a lease has left", () => {
  const leftOf = (ttlUs: number, endsInUs: number) => {
    const message = create(LeaseSchema, {
      ttl: durationMessage(ttlUs),
      expiresAt: timestampMessage(NOW_US + endsInUs),
    });
    shorten(message, NOW_US);
    return message.ttl;
  };

  test("is shortened to what is left when the answer goes", () => {
    expect(leftOf(10_000_000, 4_000_000)).toMatchObject({ seconds: 4n, nanos: 0 });
    expect(leftOf(10_000_000, -1)).toMatchObject({ seconds: 0n, nanos: 0 });
  });

  test("is never made longer, as by a clock that was set back", () => {
    expect(leftOf(10_000_000, 10_000_000)).toMatchObject({ seconds: 10n, nanos: 0 });
    expect(leftOf(10_000_000, 3_600_000_000)).toMatchObject({ seconds: 10n, nanos: 0 });
  });

  test("stays unset where it has no end", () => {
    const endless = lease();
    shorten(endless, NOW_US);
    expect(endless.ttl).toBeUndefined();
  });

  test("is nothing once it has ended", () => {
    const message = create(LeaseSchema, { ttl: durationMessage(1) });
    endNow(message);
    expect(message.ttl).toMatchObject({ seconds: 0n, nanos: 0 });
  });
});
