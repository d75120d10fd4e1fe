// A failure as the Connect protocol tells it: the code, the sentence and the details that a client of gRPC gets. In JSON each detail
// stands also in words, under `debug`: so a reader of JSON finds the reason, and what is wrong with which field.

import type { ServerResponse } from "node:http";
import { createRegistry, type DescMessage, type Message } from "@bufbuild/protobuf";
import { type Any, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeToHttpStatus, errorToJson } from "@connectrpc/connect/protocol-connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "#proto/google/rpc/error_details_pb.js";
import { ClaimEndSchema } from "#proto/rowlock/v1/lock_pb.js";
import type { Failure } from "../grpc/messages/status.ts";

/** What details there are. */
const DETAILS = createRegistry(ErrorInfoSchema, BadRequestSchema, RetryInfoSchema, ClaimEndSchema);

/** The codes of both protocols have the same numbers. */
export function connectError({ status, packed }: Failure): ConnectError {
  const error = new ConnectError(status.details, status.code as number as Code);
  error.details = packed.details.map(detailOf);
  if (error.code === Code.Unauthenticated) error.metadata.set("www-authenticate", 'Bearer realm="rowlock"');
  return error;
}

function detailOf(packed: Any) {
  const value = anyUnpack(packed, DETAILS) as Message;
  return { desc: DETAILS.getMessage(value.$typeName) as DescMessage, value };
}

export function errorText(error: ConnectError): string {
  return JSON.stringify(errorToJson(error, undefined));
}

/** Answers a request that has not been answered. */
export function sendError(
  response: ServerResponse,
  error: ConnectError,
  httpStatus = httpStatusOf(error),
): void {
  const text = errorText(error);
  response.writeHead(httpStatus, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...Object.fromEntries(error.metadata),
  });
  response.end(text);
}

/** To repeat what is too large cannot help, as it may with other codes of its kind. */
function httpStatusOf(error: ConnectError): number {
  const isTooLarge = error.findDetails(ErrorInfoSchema).some(({ reason }) => reason === "MESSAGE_TOO_LARGE");
  return isTooLarge ? 413 : codeToHttpStatus(error.code);
}
