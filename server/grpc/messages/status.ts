// The one place where anything thrown becomes a gRPC status: CallErrors by the table of reasons, faults of the engine
// by the table below, and everything else, which is a bug, as INTERNAL without its cause.

import { randomBytes } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { Metadata, type StatusObject } from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "#proto/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "#proto/google/rpc/status_pb.js";
import { ClaimEndSchema } from "#proto/rowlock/v1/lock_pb.js";
import { AccessError } from "../../access/access-error.ts";
import { Fault, type FaultKind } from "../../engine/faults.ts";
import { CallError, type CallErrorDetails, CODE_OF_REASON, type Reason } from "./call-error.ts";
import { durationMessage, endMessage } from "./messages.ts";

const DOMAIN = "rowlock";
const DETAILS_KEY = "grpc-status-details-bin";

const REASON_OF_FAULT: Record<FaultKind, Reason> = {
  unavailable: "DATABASE_UNAVAILABLE",
  overloaded: "OVERLOADED",
  outcome_unknown: "OUTCOME_UNKNOWN",
  shutting_down: "SHUTTING_DOWN",
};

/** A failed call: what the client receives, and what the log needs. */
export interface Failure {
  readonly packed: Status;
  readonly status: StatusObject;
  readonly reason: Reason;
  /** Set for a bug: an id that the client's error and the log line have in common. */
  readonly incident: string | undefined;
}

/** Never throws, whatever was thrown. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof CallError) return failure(thrown.reason, thrown.message, thrown.details);
  if (thrown instanceof AccessError) {
    const { reason, message, metadata, retryAfterMs } = thrown;
    return failure(reason, message, { metadata, ...(retryAfterMs !== undefined && { retryAfterMs }) });
  }
  if (thrown instanceof Fault) {
    return failure(REASON_OF_FAULT[thrown.kind], thrown.message, {
      ...(thrown.retryAfterMs > 0 && { retryAfterMs: thrown.retryAfterMs }),
      ...(thrown.kind === "overloaded" && { metadata: { bound: thrown.reason } }),
    });
  }
  const incident = randomBytes(8).toString("hex");
  const message = `Something went wrong in the server; its log has the cause under the incident ${incident}.`;
  return { ...failure("INTERNAL", message, { metadata: { incident } }), incident };
}

/** A status as google.rpc.Status, encoded. */
export function packedStatus({ metadata }: StatusObject): Buffer {
  return metadata.get(DETAILS_KEY)[0] as Buffer;
}

function failure(reason: Reason, message: string, details: CallErrorDetails): Failure {
  const code = CODE_OF_REASON[reason];
  const packed = create(StatusSchema, { code, message, details: detailsOf(reason, details) });
  const metadata = new Metadata();
  metadata.set(DETAILS_KEY, Buffer.from(toBinary(StatusSchema, packed)));
  return { packed, status: { code, details: message, metadata }, reason, incident: undefined };
}

function detailsOf(reason: Reason, { metadata, violations, ended, retryAfterMs }: CallErrorDetails): Any[] {
  const info = create(ErrorInfoSchema, { reason, domain: DOMAIN, metadata: { ...metadata } });
  const details = [anyPack(ErrorInfoSchema, info)];
  if (violations) {
    const fieldViolations = violations.map((violation) => ({ ...violation }));
    details.push(anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations })));
  }
  if (ended) details.push(anyPack(ClaimEndSchema, endMessage(ended)));
  if (retryAfterMs !== undefined) {
    const retryDelay = durationMessage(retryAfterMs * 1_000);
    details.push(anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay })));
  }
  return details;
}
