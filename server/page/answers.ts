// What the page's HTTP answers look like: JSON, and failures with the status, the reason and the sentence that a gRPC
// client gets for the same failure.

import type { ServerResponse } from "node:http";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { BadRequestSchema } from "#proto/google/rpc/error_details_pb.js";
import type { Failure } from "../grpc/messages/status.ts";
import { READ_MS_MAX } from "./page-bounds.ts";

/** The HTTP status of each code; of the others 500. */
const HTTP_STATUS: Partial<Record<status, number>> = {
  [status.INVALID_ARGUMENT]: 400,
  [status.UNAUTHENTICATED]: 401,
  [status.PERMISSION_DENIED]: 403,
  [status.NOT_FOUND]: 404,
  [status.FAILED_PRECONDITION]: 409,
  [status.ABORTED]: 409,
  [status.ALREADY_EXISTS]: 409,
  [status.RESOURCE_EXHAUSTED]: 429,
  [status.UNAVAILABLE]: 503,
  [status.DEADLINE_EXCEEDED]: 504,
};

/** A failure as the page reads it. */
export interface FailureBody {
  /** The name of the gRPC status. */
  readonly code: string;
  readonly reason: string;
  readonly message: string;
  /** What is wrong with single fields of the request. */
  readonly violations: readonly { readonly field: string; readonly description: string }[];
}

export function failureBody({ status: { code, details: message }, reason, packed }: Failure): FailureBody {
  const violations = packed.details.flatMap((detail) => {
    const bad = anyUnpack(detail, BadRequestSchema);
    return bad?.fieldViolations.map(({ field, description }) => ({ field, description })) ?? [];
  });
  return { code: status[code], reason, message, violations };
}

export function sendFailure(response: ServerResponse, failure: Failure): void {
  const { code } = failure.status;
  // To repeat it cannot help, as it may with other codes of its kind.
  const isTooLarge = failure.reason === "MESSAGE_TOO_LARGE";
  if (code === status.UNAUTHENTICATED) response.setHeader("www-authenticate", 'Bearer realm="rowlock"');
  sendJson(response, isTooLarge ? 413 : (HTTP_STATUS[code] ?? 500), failureBody(failure));
}

/** Refuses what is no call at all. */
export function sendRefusal(response: ServerResponse, httpStatus: number, message: string): void {
  const code = CODE_OF_HTTP[httpStatus] ?? "INVALID_ARGUMENT";
  const body: FailureBody = { code, reason: "PAGE_REFUSED", message, violations: [] };
  sendJson(response, httpStatus, body);
}

const CODE_OF_HTTP: Readonly<Record<number, string>> = {
  403: "PERMISSION_DENIED",
  404: "UNIMPLEMENTED",
  405: "UNIMPLEMENTED",
};

export function sendJson(response: ServerResponse, httpStatus: number, body: unknown): void {
  sendText(response, httpStatus, JSON.stringify(body));
}

/** Sends JSON that is written already. */
export function sendText(response: ServerResponse, httpStatus: number, text: string): void {
  response.writeHead(httpStatus, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
  });
  endUnread(response);
  response.end(text);
}

/** Ends the connection if the browser does not read its answer. */
export function endUnread(response: ServerResponse): void {
  const timer = setTimeout(() => response.destroy(), READ_MS_MAX);
  timer.unref();
  response.once("close", () => clearTimeout(timer));
}
