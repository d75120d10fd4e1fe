// Each kind of refusal has what its caller can use, and nothing else.

import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ClaimEndSchema, ClaimState, EndReason, LimitSource } from "#proto/rowlock/v1/lock_pb.js";
import { refusalOfEnd } from "../../../../clients/typescript/src/refusal.ts";

const FIELDS = {
  message: "no",
  holders: [{ lockName: "a", ticketNumber: 7n, state: ClaimState.HELD, fencingToken: 9n, permits: 1 }],
  limit: { permits: 0, source: LimitSource.PATTERN, pattern: "a*", version: 3n, reason: "maintenance" },
  status: "done",
  retryAfter: { seconds: 1n, nanos: 500_000_000 },
};

const COMMON = { message: "no", retryAfterMs: 1_500 };
const LIMIT = { permits: 0, source: "pattern", pattern: "a*", version: 3n, reason: "maintenance" };

test.each([
  ["TIMED_OUT", { holders: [expect.objectContaining({ ticketNumber: 7n })], limit: LIMIT }],
  ["NEVER_FITS", { limit: LIMIT }],
  ["STATUS_MISMATCH", { status: "done" }],
  ["EXHAUSTED", {}],
  ["RELEASED", {}],
  ["EXPIRED", {}],
  ["FORCE_RELEASED", {}],
  ["LAPSED", {}],
  ["CANCELLED", {}],
] as const)(
  "a claim that has ended as %s is refused with that reason and its own details",
  (reason, details) => {
    const ended = create(ClaimEndSchema, {
      ...FIELDS,
      reason: EndReason[reason],
      note: "why",
      endedBy: "ops",
    });
    expect(refusalOfEnd(ended)).toEqual({ ...COMMON, reason, ...details });
  },
);
