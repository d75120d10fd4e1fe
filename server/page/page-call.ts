// A call of the page as it comes by HTTP: who sent it, when its browser has gone, and the JSON in its body.

import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type DescMessage, fromJsonString, type Message } from "@bufbuild/protobuf";
import { formatListenAddress } from "../config/listen-address.ts";
import type { CarriedCall } from "../grpc/call-frame.ts";
import { CallError, messageTooLarge } from "../grpc/messages/call-error.ts";
import { peerHost } from "./callers.ts";
import { BODY_BYTES_MAX } from "./page-bounds.ts";

/** Emits `cancelled` when the browser goes before it has its answer. */
export class PageCall extends EventEmitter implements CarriedCall {
  cancelled = false;
  readonly #peer: string;

  constructor(request: IncomingMessage, response: ServerResponse) {
    super();
    this.#peer = peerOf(request);
    response.once("close", () => {
      if (response.writableFinished) return;
      this.cancelled = true;
      this.emit("cancelled");
    });
  }

  getPeer(): string {
    return this.#peer;
  }

  /** Browsers say nothing of it. */
  getDeadline(): number {
    return Number.POSITIVE_INFINITY;
  }
}

/** Address and port of the browser, as calls name them. */
export function peerOf({ socket }: IncomingMessage): string {
  return formatListenAddress({ host: peerHost(socket), port: socket.remotePort ?? 0 });
}

/**
 * The body of a request; a CallError: it is too large. Rejects if the browser goes before it has sent it, or takes longer
 * than a request may.
 */
export async function bodyOf(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Buffer | CallError> {
  // This client waits until somebody wants its body.
  if (/^100-continue$/i.test(request.headers.expect ?? "")) response.writeContinue();
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    // Read to its end, and not kept: a browser sees an answer only when it has sent all of its request.
    if (bytes <= BODY_BYTES_MAX) parts.push(part);
    else parts.length = 0;
  }
  return bytes <= BODY_BYTES_MAX ? Buffer.concat(parts) : messageTooLarge(BODY_BYTES_MAX);
}

/** Throws a CallError if the text is not that message. */
export function fromBody<Schema extends DescMessage>(schema: Schema, body: Buffer): Message {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    return fromJsonString(schema, text);
  } catch (error) {
    // Every error of the decoders is about the caller's text.
    throw new CallError(
      "MALFORMED_MESSAGE",
      `The body is not a ${schema.typeName} in JSON: ${String(error)}`,
    );
  }
}
