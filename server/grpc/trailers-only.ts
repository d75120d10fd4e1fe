// Answers that end a call by its headers alone, without grpc-js: encoded once, and sent as they are. The rest of the
// request is read and forgotten.

import type { OutgoingHttpHeaders } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";
import type { Failure } from "./messages/status.ts";

/** The trailers-only answer of gRPC. */
export function trailersOnly({ status }: Failure): OutgoingHttpHeaders {
  return {
    ":status": 200,
    "content-type": "application/grpc+proto",
    "grpc-status": String(status.code),
    "grpc-message": encodeURI(status.details),
    ...status.metadata.toHttp2Headers(),
  };
}

/** Answered streams whose requests may not have ended. */
const answered: ServerHttp2Stream[] = [];

/** Answers a stream that nobody has answered. One that is gone, or whose headers were sent, is only closed. */
export function endWith(stream: ServerHttp2Stream, answer: OutgoingHttpHeaders): void {
  if (stream.destroyed || stream.closed) return;
  // Without a listener, a connection that ends now would end the process.
  stream.on("error", ignore);
  if (!stream.headersSent && !stream.aborted) stream.respond(answer, { endStream: true });
  stream.resume();
  closeSoon(stream);
}

/** Refuses a stream in a way that makes clients repeat the call over another connection: nothing was done for it. */
export function refuseUnseen(stream: ServerHttp2Stream): void {
  stream.on("error", ignore);
  stream.close(constants.NGHTTP2_REFUSED_STREAM);
}

/** Closes a stream that was answered: after this tick, in which most requests end by themselves. */
export function closeSoon(stream: ServerHttp2Stream): void {
  if (answered.length === 0) setImmediate(closeAnswered);
  answered.push(stream);
}

function closeAnswered(): void {
  for (const stream of answered.splice(0))
    if (!stream.destroyed && !stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
}

function ignore(): void {}
