// Refuses a call before anything is done for it: under a load that is too high, most calls end so, and what they cost is
// taken from the others. A refusal is made once, and sent by the call's headers alone: without grpc-js, without its
// request, and without a promise. Decides nothing.

import type { OutgoingHttpHeaders } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";
import { status } from "@grpc/grpc-js";
import type { AccessError } from "../access/access-error.ts";
import type { Frame, Via } from "./call-observer.ts";
import { ANSWER_LEAVES_MS } from "./grpc-bounds.ts";
import { type CallError, tooMuchUnderWay } from "./messages/call-error.ts";
import { failureOf, packedStatus } from "./messages/status.ts";

export interface Refused {
  readonly observer: Pick<Frame["observer"], "call">;
  readonly faultLog: Pick<Frame["faultLog"], "failed">;
}

export class EarlyRefusal {
  readonly error;
  readonly failure;
  readonly packed: Buffer;
  readonly answer: OutgoingHttpHeaders;

  constructor(error: CallError | AccessError) {
    this.error = error;
    this.failure = failureOf(error);
    const { code, details, metadata } = this.failure.status;
    this.packed = packedStatus(this.failure.status);
    this.answer = {
      ":status": 200,
      "content-type": "application/grpc+proto",
      "grpc-status": String(code),
      "grpc-message": encodeURI(details),
      ...metadata.toHttp2Headers(),
    };
  }

  note({ observer, faultLog }: Refused, method: string, via: Via, peer?: string): void {
    observer.call(method, status[this.failure.status.code], 0, via);
    faultLog.failed(method, this.failure, this.error, undefined, peer);
  }

  /** Answers the call and closes its stream. If the client is gone, or has an answer already, it only closes the stream. */
  end(stream: ServerHttp2Stream): void {
    if (this.#answer(stream)) closeSoon(stream);
  }

  /** The same, and leaves the client time to end its request. Returns whether somebody waits for the answer. */
  endGently(stream: ServerHttp2Stream): boolean {
    if (stream.aborted || !this.#answer(stream)) return false;
    const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), ANSWER_LEAVES_MS).unref();
    // Most requests end at once. Streams that were remembered for longer would cost more to collect than to refuse.
    stream.once("close", () => clearTimeout(timer));
    return true;
  }

  #answer(stream: ServerHttp2Stream): boolean {
    if (stream.destroyed || stream.closed) return false;
    stream.on("error", ignore);
    if (!stream.headersSent && !stream.aborted) stream.respond(this.answer, { endStream: true });
    // Reads and forgets the request: otherwise the stream would stay open.
    stream.resume();
    return true;
  }
}

/** By their bounds and times: there are few times to come back. */
const TO_COME_BACK = new Map<string, EarlyRefusal>();

/** The refusal of all calls for which a bound on waiting calls is reached, and which are to come back after that time. */
export function toComeBack(bound: string, retryAfterMs: number): EarlyRefusal {
  const key = `${bound} ${retryAfterMs}`;
  let made = TO_COME_BACK.get(key);
  if (!made) {
    made = new EarlyRefusal(tooMuchUnderWay(bound, retryAfterMs));
    TO_COME_BACK.set(key, made);
  }
  return made;
}

/** Refuses a stream in a way that makes clients repeat the call over another connection: nothing was done for it. */
export function refuseUnseen(stream: ServerHttp2Stream): void {
  stream.on("error", ignore);
  stream.close(constants.NGHTTP2_REFUSED_STREAM);
}

const answered: ServerHttp2Stream[] = [];

/** Closes a stream that was answered: after this tick, in which most requests end by themselves. */
export function closeSoon(stream: ServerHttp2Stream): void {
  if (answered.length === 0) setImmediate(closeAnswered);
  answered.push(stream);
}

function closeAnswered(): void {
  for (const stream of answered.splice(0))
    if (!stream.destroyed && !stream.closed) stream.close(constants.NGHTTP2_NO_ERROR);
}

/** Listens to the errors of streams that are over: without a listener, one would end the process. */
export function ignore(): void {}
