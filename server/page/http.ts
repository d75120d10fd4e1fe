// A call of the page over HTTP: who sent it, when its browser has gone, the JSON in its body, and its answers: JSON, failures
// with the status, the reason and the sentence that a gRPC client gets for the same failure, and the messages of a watch as
// server-sent events. One that its browser does not read ends; until then it gets no more messages, and the engine collects
// the changes.

import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type DescMessage, fromJsonString, type Message } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { BadRequestSchema } from "#proto/google/rpc/error_details_pb.js";
import { formatListenAddress } from "../config/addresses.ts";
import type { CarriedCall } from "../grpc/call-frame.ts";
import { CallError, messageTooLarge } from "../grpc/messages/call-error.ts";
import type { Failure } from "../grpc/messages/status.ts";
import { peerHost } from "./callers.ts";
import { BODY_BYTES_MAX, READ_MS_MAX, SIGN_OF_LIFE_MS } from "./page-bounds.ts";

/** Calls `identified` when the sender has proved who it is. Rejects if the browser goes before it has sent all of it. */
export type Answering = (
  request: IncomingMessage,
  response: ServerResponse,
  identified: () => void,
) => Promise<void>;

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

/** A CallError: it is too large. Rejects if the browser goes before it has sent it, or takes too long. */
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
    return fromJsonString(schema, new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    // Every error of the decoders is about the caller's text.
    throw new CallError(
      "MALFORMED_MESSAGE",
      `The body is not a ${schema.typeName} in JSON: ${String(error)}`,
    );
  }
}

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

const FOR_THE_PAGE = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
};

export function sendJson(response: ServerResponse, httpStatus: number, body: unknown): void {
  sendText(response, httpStatus, JSON.stringify(body));
}

/** Sends JSON that is written already. */
export function sendText(response: ServerResponse, httpStatus: number, text: string): void {
  response.writeHead(httpStatus, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    ...FOR_THE_PAGE,
  });
  endUnread(response);
  response.end(text);
}

/** Ends the connection if the browser does not read its answer. */
function endUnread(response: ServerResponse): void {
  const timer = setTimeout(() => response.destroy(), READ_MS_MAX);
  timer.unref();
  response.once("close", () => clearTimeout(timer));
}

export class EventStream {
  readonly #response: ServerResponse;
  readonly #signs: NodeJS.Timeout;
  /** Runs while the browser has not taken what was written last. */
  #unread: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
    this.#signs = setInterval(() => this.#sign(), SIGN_OF_LIFE_MS);
    response.once("close", () => this.#stop());
  }

  /** Whether something was sent, so that the status cannot be changed any more. */
  get hasBegun(): boolean {
    return this.#response.headersSent;
  }

  /** Sends a message, and calls `written` when the connection has taken it. */
  send(json: string, written?: () => void): void {
    this.#write(`data: ${json}\n\n`, written);
  }

  /** Ends the stream; null: it has no more to say. */
  end(why: FailureBody | null): void {
    if (why) this.#write(`event: end\ndata: ${JSON.stringify(why)}\n\n`);
    this.#stop();
    endUnread(this.#response);
    this.#response.end();
  }

  #sign(): void {
    if (this.#unread === undefined) this.#write(":\n\n");
  }

  #write(text: string, written?: () => void): void {
    if (this.#response.destroyed) return;
    if (!this.hasBegun) this.#begin();
    clearTimeout(this.#unread);
    const unread = setTimeout(() => this.#response.destroy(), READ_MS_MAX);
    this.#unread = unread;
    this.#response.write(text, (error) => {
      // An error means that the browser has gone; the call's own cancellation reports that.
      if (error) return;
      clearTimeout(unread);
      if (this.#unread === unread) this.#unread = undefined;
      written?.();
    });
  }

  #begin(): void {
    this.#response.writeHead(200, {
      "content-type": "text/event-stream",
      ...FOR_THE_PAGE,
      // Proxies would wait for more.
      "x-accel-buffering": "no",
    });
  }

  #stop(): void {
    clearInterval(this.#signs);
    clearTimeout(this.#unread);
  }
}
