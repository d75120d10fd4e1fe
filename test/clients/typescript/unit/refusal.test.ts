// Each kind of refusal has what its caller can use, and nothing else.

import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ClaimState, LimitSource, RefusalReason, RefusalSchema } from "#proto/rowlock/v1/lock_pb.js";
import { refusalOf } from "../../../../clients/typescript/src/refusal.ts";

/** A message with every field set, but for one. */
function refused(reason: RefusalReason, without?: "limit" | "retryAfter") {
  const message = create(RefusalSchema, {
    reason,
    message: "no",
    holders: [{ lockName: "a", ticketNumber: 7n, state: ClaimState.HELD, fencingToken: 9n, permits: 1 }],
    limit: { limit: 0, source: LimitSource.PATTERN, pattern: "a*", version: 3n, reason: "maintenance" },
    status: "done",
    retryAfter: { seconds: 1n, nanos: 500_000_000 },
  });
  if (without) delete message[without];
  return refusalOf(message);
}
const COMMON = { message: "no", retryAfterMs: 1_500 };
const LIMIT = { limit: 0, source: "pattern", pattern: "a*", version: 3n, reason: "maintenance" };

test.each([
  ["BUSY", { holders: [expect.objectContaining({ lockName: "a", token: 9n, state: "held" })] }],
  ["TIMED_OUT", { holders: [expect.objectContaining({ ticketNumber: 7n })], limit: LIMIT }],
  ["PAUSED", { limit: LIMIT }],
  ["NEVER_FITS", { limit: LIMIT }],
  ["STATUS_MISMATCH", { status: "done" }],
  ["QUEUE_FULL", {}],
  ["NOT_BEFORE", {}],
  ["EXHAUSTED", {}],
  ["LAPSED", {}],
] as const)("%s has its own details", (reason, details) => {
  expect(refused(RefusalReason[reason])).toEqual({ ...COMMON, reason, ...details });
});

test("a pause after a fail-over has no limit", () => {
  expect(refused(RefusalReason.PAUSED, "limit")).toStrictEqual({ ...COMMON, reason: "PAUSED" });
});

test("a refusal without a hint has no time for the next try", () => {
  expect(refused(RefusalReason.QUEUE_FULL, "retryAfter")).toStrictEqual({
    message: "no",
    reason: "QUEUE_FULL",
  });
});
