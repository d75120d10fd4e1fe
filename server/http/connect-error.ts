// A failure as the Connect protocol tells it: the code, the sentence and the details that a client of gRPC gets.

import { type Code, ConnectError } from "@connectrpc/connect";
import type { Failure } from "../grpc/messages/status.ts";

/** The codes of both protocols have the same numbers. */
export function connectError({ status, packed }: Failure): ConnectError {
  const error = new ConnectError(status.details, status.code as number as Code);
  // They are encoded already.
  error.details = packed.details.map(({ typeUrl, value }) => ({ type: typeUrl.replace(/^.*\//, ""), value }));
  return error;
}
