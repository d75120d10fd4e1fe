// The table that maps thrown errors to the status that a client sees.

import { inspect } from "node:util";
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { describe, expect, test, vi } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "#proto/google/rpc/error_details_pb.js";
import { StatusSchema } from "#proto/google/rpc/status_pb.js";
import { ClaimEndSchema, EndReason } from "#proto/rowlock/v1/lock_pb.js";
import { rightMissing } from "../../../server/access/access-error.ts";
import type { Claim } from "../../../server/core/claim.ts";
import { Fault, type FaultKind } from "../../../server/engine/faults.ts";
import { FaultLog } from "../../../server/grpc/call-observer.ts";
import { FAULT_LOG_INTERVAL_MS } from "../../../server/grpc/grpc-bounds.ts";
import * as callErrors from "../../../server/grpc/messages/call-error.ts";
import { failureOf } from "../../../server/grpc/messages/status.ts";
import type { Logger } from "../../../server/log/log.ts";

/** The client's view of the trailer. */
function seen(thrown: unknown) {
  const failure = failureOf(thrown);
  const [bytes] = failure.status.metadata.get("grpc-status-details-bin");
  const packed = fromBinary(StatusSchema, bytes as Buffer);
  const unpacked = packed.details.map(
    (any) =>
      anyUnpack(any, ErrorInfoSchema) ??
      anyUnpack(any, BadRequestSchema) ??
      anyUnpack(any, RetryInfoSchema) ??
      anyUnpack(any, ClaimEndSchema),
  );
  expect(packed.code).toBe(failure.status.code);
  expect(packed.message).toBe(failure.status.details);
  const [info, ...others] = unpacked;
  expect(info).toMatchObject({
    $typeName: "google.rpc.ErrorInfo",
    domain: "rowlock",
    reason: failure.reason,
  });
  const { metadata } = info as { metadata: Record<string, string> };
  return { code: status[failure.status.code], message: failure.status.details, metadata, others, ...failure };
}

describe("an error of the contract", () => {
  const ended = { endReason: "expired", endedAtUs: 1_000_000, endNote: "", endedBy: "" } as Claim;
  test.each([
    [callErrors.unknownClaim(), "NOT_FOUND", "UNKNOWN_CLAIM", {}],
    [callErrors.unknownLock("a"), "NOT_FOUND", "UNKNOWN_LOCK", {}],
    [callErrors.notGrantedYet(), "FAILED_PRECONDITION", "NOT_GRANTED_YET", {}],
    [callErrors.requestIdReused(), "ALREADY_EXISTS", "REQUEST_ID_REUSED", {}],
    [callErrors.versionMismatch(7n), "ABORTED", "VERSION_MISMATCH", { version: "7" }],
    [callErrors.recordVersionMismatch(7n), "ABORTED", "VERSION_MISMATCH", { version: "7" }],
    [callErrors.recordVersionMismatch(0n), "ABORTED", "VERSION_MISMATCH", { version: "0" }],
    [callErrors.lockInUse("a"), "FAILED_PRECONDITION", "LOCK_IN_USE", {}],
    [callErrors.timedOut(), "DEADLINE_EXCEEDED", "TIMEOUT", {}],
    [callErrors.cancelled(), "CANCELLED", "CANCELLED", {}],
  ])("is reported with its code and its reason: %s", (thrown, code, reason, metadata) => {
    expect(seen(thrown)).toMatchObject({ code, reason, metadata, others: [], incident: undefined });
  });

  test("about a lost lease says how it ended", () => {
    expect(seen(callErrors.leaseLost(ended))).toMatchObject({
      code: "FAILED_PRECONDITION",
      reason: "LEASE_LOST",
      metadata: {},
      others: [{ $typeName: "rowlock.v1.ClaimEnd", reason: EndReason.EXPIRED, note: "", status: "" }],
    });
  });

  test("that lists violations lists all of them, and names the first in its message", () => {
    const violations = [
      { field: "name", description: "is required" },
      { field: "ttl", description: "is 0 s" },
    ];
    expect(seen(callErrors.badRequest(violations))).toMatchObject({
      code: "INVALID_ARGUMENT",
      reason: "BAD_REQUEST",
      message: "name: is required (and 1 more in the details)",
      others: [{ $typeName: "google.rpc.BadRequest", fieldViolations: violations }],
    });
  });

  test("about a missing record names no version to compare", () => {
    expect(callErrors.recordVersionMismatch(0n).message).toMatch(/has no record/);
    expect(callErrors.recordVersionMismatch(7n).message).toMatch(/has version 7/);
  });

  test.each([
    [callErrors.tooManyWaits(5), "waits_on_connection"],
    [callErrors.tooManySessionWaits(5), "session_waits"],
    [callErrors.tooMuchUnderWay("session_commands"), "session_commands"],
    [callErrors.serverIsFull("waits"), "server_waits"],
    [callErrors.unreadResults(), "results_unread"],
    [callErrors.tooManyCommands(5), "session_commands"],
  ])("about a bound names it, and advises a retry after a second: %s", (thrown, bound) => {
    expect(seen(thrown)).toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      reason: "OVERLOADED",
      metadata: { bound },
      others: [{ $typeName: "google.rpc.RetryInfo", retryDelay: { seconds: 1n, nanos: 0 } }],
    });
  });

  test.each([
    [callErrors.shuttingDown(), "SHUTTING_DOWN"],
    [callErrors.servedElsewhere(), "SHUTTING_DOWN"],
    [callErrors.sessionSilent(5_000), "SESSION_SILENT"],
  ])("that sends a client elsewhere advises an immediate retry: %s", (thrown, reason) => {
    expect(seen(thrown)).toMatchObject({
      code: "UNAVAILABLE",
      reason,
      others: [{ $typeName: "google.rpc.RetryInfo", retryDelay: { seconds: 0n, nanos: 100_000_000 } }],
    });
  });

  test("that leaves the outcome open advises against an automatic retry", () => {
    const details = { retryAfterMs: 0, outcomeUnknown: true };
    expect(seen(new Fault("outcome_unknown", "changed_since", "look", details))).toMatchObject({
      code: "UNKNOWN",
      reason: "OUTCOME_UNKNOWN",
      metadata: {},
      others: [],
    });
  });

  test("has a code for every reason, and keys that ErrorInfo allows", () => {
    for (const reason of Object.keys(callErrors.CODE_OF_REASON) as callErrors.Reason[]) {
      const { code, metadata } = seen(
        new callErrors.CallError(reason, "m", { metadata: { end_reason: "X" } }),
      );
      expect(code).not.toBe("OK");
      expect(reason).toMatch(/^[A-Z][A-Z0-9_]+[A-Z0-9]$/);
      for (const key of Object.keys(metadata)) expect(key).toMatch(/^[a-z][a-zA-Z0-9-_]+$/);
    }
  });
});

describe("a fault", () => {
  test.each<[FaultKind, string, string, Record<string, string>]>([
    ["unavailable", "UNAVAILABLE", "DATABASE_UNAVAILABLE", {}],
    ["overloaded", "RESOURCE_EXHAUSTED", "OVERLOADED", { bound: "why" }],
    ["shutting_down", "UNAVAILABLE", "SHUTTING_DOWN", {}],
  ])("of kind %s is told, and when to try again", (kind, code, reason, metadata) => {
    const cause = new Error("password");
    const fault = new Fault(kind, "why", "It cannot be done.", { retryAfterMs: 2_500, cause });
    expect(seen(fault)).toMatchObject({
      code,
      reason,
      metadata,
      message: "It cannot be done.",
      others: [{ retryDelay: { seconds: 2n, nanos: 500_000_000 } }],
    });
  });
});

describe("any other error", () => {
  test.each([
    [new Error("SELECT secret")],
    [new TypeError("undefined is not a function")],
    [{ code: 5, details: "SELECT secret", metadata: {} }],
    ["SELECT secret"],
    [undefined],
    [null],
  ])("is a bug, and the client gets only the incident: %s", (thrown) => {
    const failure = seen(thrown);
    expect(failure).toMatchObject({ code: "INTERNAL", reason: "INTERNAL", others: [] });
    expect(failure.metadata).toEqual({ incident: failure.incident });
    expect(failure.message).toContain(failure.incident);
    expect(failure.message).not.toMatch(/SELECT|undefined|null/);
    expect(failureOf(thrown).incident).not.toBe(failure.incident);
  });
});

describe("the log", () => {
  function recording(lines: { level: string; fields: object; message: string }[] = []) {
    const log = (level: string) => (fields: object, message: string) =>
      void lines.push({ level, fields, message });
    const logger: Logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
    return { lines, logger, faultLog: new FaultLog(logger) };
  }

  const away = () => new Fault("unavailable", "connection_lost", "It is away.", { retryAfterMs: 1 });

  test("has a refusal as a sentence with the lock and the right, and no stack", () => {
    const { lines, faultLog } = recording();
    const error = rightMissing("token:etl", { verb: "SetLimit", right: "operate" }, '"pool/gpu"');
    faultLog.failed("SetLimit", failureOf(error), error);
    const why =
      'The policy of this server does not allow SetLimit on "pool/gpu" to token:etl: it needs the right `operate`.';
    const fields = {
      method: "SetLimit",
      reason: "RIGHT_MISSING",
      peer: "",
      suppressed: 0,
      principal: "token:etl",
    };
    expect(lines).toEqual([{ level: "warn", fields: { ...fields, why }, message: "calls are refused" }]);
    // The caller knows only the id of a lease, and must not learn the name.
    const byId = rightMissing("token:etl", { verb: "Renew", right: "use" }, "the lock of this lease", '"a"');
    recording(lines).faultLog.failed("Renew", failureOf(byId), byId);
    expect(lines.at(-1)?.fields).toMatchObject({ on: '"a"' });
    expect(inspect(failureOf(byId), { depth: null })).not.toContain('"a"');
  });

  test("has failures caused by the environment now and then, with the number of suppressed lines", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const { lines, faultLog } = recording();
    for (let call = 0; call < 3; call++) faultLog.failed("Acquire", failureOf(away()), away());
    vi.advanceTimersByTime(FAULT_LOG_INTERVAL_MS);
    faultLog.failed("Renew", failureOf(away()), away());
    vi.useRealTimers();
    const reason = "DATABASE_UNAVAILABLE";
    expect(lines).toMatchObject([
      { level: "warn", fields: { method: "Acquire", reason, suppressed: 0 } },
      { level: "warn", fields: { method: "Renew", reason, suppressed: 2 } },
    ]);
  });

  test.each([true, false])("leaves an outage to its own log if that accepts it (%s)", (isTaken) => {
    const { lines, logger } = recording();
    const failed = vi.fn(() => isTaken);
    const error = away();
    new FaultLog(logger, { failed }).failed("Acquire", failureOf(error), error);
    expect(failed.mock.calls).toEqual([[{ method: "Acquire" }, error]]);
    expect(lines).toHaveLength(isTaken ? 0 : 1);
  });

  test("has no mistakes of callers", () => {
    const { lines, faultLog } = recording();
    const expected = [callErrors.unknownClaim(), callErrors.shuttingDown(), callErrors.badRequest([])];
    for (const error of expected) faultLog.failed("Renew", failureOf(error), error);
    expect(lines).toEqual([]);
  });
});
