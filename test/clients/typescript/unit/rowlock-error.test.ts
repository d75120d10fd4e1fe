// What the client reads from the status of a failed call.

import { create } from "@bufbuild/protobuf";
import { type Any, anyPack, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { ErrorInfoSchema } from "#proto/google/rpc/error_details_pb.js";
import { StatusSchema } from "#proto/google/rpc/status_pb.js";
import { type ClaimEnd, ClaimEndSchema, EndReason } from "#proto/rowlock/v1/lock_pb.js";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";

function lost(...more: readonly Any[]): RowlockError {
  const info = create(ErrorInfoSchema, { reason: "LEASE_LOST", domain: "rowlock" });
  const details = [anyPack(ErrorInfoSchema, info), ...more];
  return RowlockError.ofStatus(create(StatusSchema, { code: 9, message: "over", details }));
}

const endOf = (end: Partial<Omit<ClaimEnd, "$typeName">>) =>
  anyPack(ClaimEndSchema, create(ClaimEndSchema, end));

test("a lost lease says how it ended, when, by whom and why", () => {
  const end = { endedAt: timestampFromDate(new Date(3_000)), endedBy: "token:ops", note: "hung" };
  const error = lost(endOf({ ...end, reason: EndReason.FORCE_RELEASED }));
  expect(error).toMatchObject({ reason: "LEASE_LOST", code: "FAILED_PRECONDITION", metadata: {} });
  const view = { reason: "FORCE_RELEASED", endedAt: new Date(3_000), endedBy: "token:ops", note: "hung" };
  expect(error.end).toEqual(view);
  expect(error.besides(new Error("of the work")).end).toEqual(view);
});

test.each([
  [{ reason: EndReason.EXPIRED }, { reason: "EXPIRED" }],
  [{ reason: EndReason.STATUS_MISMATCH }, { reason: "STATUS_MISMATCH", status: "" }],
])("an end with no more than %j shows no more", (end, view) => {
  expect(lost(endOf(end)).end).toStrictEqual(view);
});

test("a lost lease of which nothing more is known has no end", () => {
  expect(lost().end).toBeUndefined();
});
