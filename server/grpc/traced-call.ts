// The span of a call: how it begins with the caller's trace context, and how it ends with the status of the answer.

import { type Metadata, status } from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { CallSpan, TraceParent, Tracer } from "../core/span.ts";
import type { Reason } from "./messages/call-error.ts";

/** Codes that are the server's failures, as OpenTelemetry counts them. The others are answers to what was asked. */
const FAILURES: ReadonlySet<status> = new Set([
  status.UNKNOWN,
  status.DEADLINE_EXCEEDED,
  status.UNIMPLEMENTED,
  status.INTERNAL,
  status.UNAVAILABLE,
  status.DATA_LOSS,
]);

/** `method`: without its service. */
export function beginCall(tracer: Tracer, method: string, parent: TraceParent): CallSpan | undefined {
  return tracer.call(`${LockService.typeName}/${method}`, parent);
}

/** The caller's trace context in the metadata of a call. */
export function traceParentOf(metadata: Metadata): TraceParent {
  return { traceparent: textIn(metadata, "traceparent"), tracestate: textIn(metadata, "tracestate") };
}

/** `reason`: why the call failed; undefined: it did not. */
export function endCall(span: CallSpan, code: status, reason: Reason | undefined): void {
  const attributes = {
    "rpc.response.status_code": status[code],
    ...(reason && { "rowlock.reason": reason }),
  };
  span.end(attributes, FAILURES.has(code) ? (reason ?? status[code]) : undefined);
}

function textIn(metadata: Metadata, key: string): string | undefined {
  const [value] = metadata.get(key);
  return value === undefined ? undefined : String(value);
}
