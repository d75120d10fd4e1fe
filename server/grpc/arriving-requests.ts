// The calls whose requests have not arrived completely: bounds how long a client may take to send one, how many there
// are, and the memory of their parts. Ends such calls with a status, and looks at no complete request. A stream of
// requests may be silent for as long as its method allows, but the parts of its messages count.

import { constants, type ServerHttp2Stream } from "node:http2";
import type { ServerInterceptingCallInterface, ServerInterceptor } from "@grpc/grpc-js";
import type { BoundUse } from "../core/bound-use.ts";
import * as bounds from "./grpc-bounds.ts";
import { requestLate, tooManyUnfinished } from "./messages/call-error.ts";
import { failureOf } from "./messages/status.ts";

type Listener = Parameters<ServerInterceptingCallInterface["start"]>[0];

/** What grpc-js keeps privately: the stream of a call, and what it has of the next message. */
interface CallOfGrpcJs extends ServerInterceptingCallInterface {
  readonly stream?: Pick<ServerHttp2Stream, "close" | "destroyed">;
  readonly decoder?: {
    readonly readPartialMessage: readonly Buffer[];
    readonly readMessageSize: number;
    readonly readMessageRemaining: number;
  };
}

interface Arriving {
  readonly call: CallOfGrpcJs;
  readonly sinceMs: number;
}

export interface ArrivingOptions {
  /** Whether the server has no room for one call more than these whose requests are still to come. */
  readonly isFull: (arriving: number) => boolean;
  /** Hears of each stream whose request, or the first message of its requests, has arrived. */
  readonly onArrived?: (stream: object | undefined) => void;
}

export class ArrivingRequests {
  readonly #options: ArrivingOptions;
  readonly #arriving = new Set<Arriving>();
  readonly #streams = new Set<Arriving>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ArrivingOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#arriving.size;
  }

  get bound(): BoundUse {
    const used = this.#incomplete().reduce((sum, { bytes }) => sum + bytes, 0);
    return { bound: "arriving_bytes", kind: "room", used, max: bounds.ARRIVING_BYTES_MAX };
  }

  /** Must stand where `explainReceiveLimit` says: it needs grpc-js's own call. */
  readonly interceptor: ServerInterceptor = ({ requestStream }, call) => {
    const start: ServerInterceptingCallInterface["start"] = call.start.bind(call);
    const calls = requestStream ? this.#streams : this.#arriving;
    call.start = (listener) => {
      if (!requestStream && this.#options.isFull(calls.size)) this.#endOldest();
      const one = { call: call as CallOfGrpcJs, sinceMs: performance.now() };
      calls.add(one);
      this.#timer ??= setInterval(() => this.look(), bounds.ARRIVING_LOOK_MS).unref();
      const { stream } = one.call;
      start(
        new Arrival(listener, !requestStream, {
          came: () => this.#options.onArrived?.(stream),
          over: () => calls.delete(one),
        }),
      );
    };
    // As in explainReceiveLimit.
    return call as ReturnType<ServerInterceptor>;
  };

  /** Ends what has taken too long, and then, if the parts take too much memory, those with the most of them. */
  look(): void {
    const lateMs = performance.now() - bounds.REQUEST_ARRIVES_MS;
    for (const one of this.#arriving) {
      if (one.sinceMs > lateMs) break;
      this.#end(one, requestLate(bounds.REQUEST_ARRIVES_MS));
    }
    this.#boundParts();
    if (this.#arriving.size + this.#streams.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #boundParts(): void {
    const found = this.#incomplete();
    let bytes = found.reduce((sum, one) => sum + one.bytes, 0);
    if (bytes <= bounds.ARRIVING_BYTES_MAX) return;
    for (const { one, bytes: own } of found.sort((a, b) => b.bytes - a.bytes)) {
      if (bytes <= bounds.ARRIVING_BYTES_MAX / 2) return;
      bytes -= own;
      this.#end(one, tooManyUnfinished());
    }
  }

  #incomplete(): { readonly one: Arriving; readonly bytes: number }[] {
    const found = [];
    for (const calls of [this.#arriving, this.#streams])
      for (const one of calls) {
        const bytes = bytesOf(one.call);
        if (bytes > 0) found.push({ one, bytes });
      }
    return found;
  }

  #endOldest(): void {
    const [oldest] = this.#arriving;
    if (oldest) this.#end(oldest, tooManyUnfinished());
  }

  #end(one: Arriving, why: Error): void {
    this.#arriving.delete(one);
    this.#streams.delete(one);
    one.call.sendStatus(failureOf(why).status);
    endRequest(one.call);
  }
}

/** Asks the client to send no more of a request that was answered: otherwise its stream would stay open. */
export function endRequest(call: ServerInterceptingCallInterface): void {
  const { stream } = call as CallOfGrpcJs;
  if (!stream) return;
  const close = () => stream.destroyed || stream.close(constants.NGHTTP2_NO_ERROR);
  setTimeout(close, bounds.ANSWER_LEAVES_MS).unref();
}

interface Heard {
  readonly came: () => void;
  readonly over: () => void;
}

class Arrival implements Listener {
  readonly #to: Listener;
  readonly #isOneRequest: boolean;
  readonly #heard: Heard;

  constructor(to: Listener, isOneRequest: boolean, heard: Heard) {
    this.#to = to;
    this.#isOneRequest = isOneRequest;
    this.#heard = heard;
  }

  onReceiveMetadata(metadata: Parameters<Listener["onReceiveMetadata"]>[0]): void {
    this.#to.onReceiveMetadata(metadata);
  }

  onReceiveMessage(message: unknown): void {
    if (!this.#isOneRequest) {
      this.#heard.came();
      // The next ones of a stream say nothing new: they pass without this.
      this.onReceiveMessage = this.#to.onReceiveMessage.bind(this.#to);
    }
    this.#to.onReceiveMessage(message);
  }

  /** grpc-js begins the work of a call with one request only now. */
  onReceiveHalfClose(): void {
    if (this.#isOneRequest) {
      this.#heard.came();
      this.#heard.over();
    }
    this.#to.onReceiveHalfClose();
  }

  onCancel(): void {
    this.#heard.over();
    this.#to.onCancel();
  }
}

/** What an incomplete message takes. A part of one byte takes as much as a small object. */
function bytesOf({ decoder }: CallOfGrpcJs): number {
  if (!decoder) return 0;
  const { readPartialMessage, readMessageSize, readMessageRemaining } = decoder;
  if (readMessageRemaining === 0) return 0;
  return readMessageSize - readMessageRemaining + readPartialMessage.length * bounds.PART_OF_MESSAGE_BYTES;
}
