// The methods of one server, each as a promise or a stream of messages: for whoever wants to do the rest, and for networks that
// let no session through. Nothing is repeated, renewed or remembered here.

import type { CallOptions, ChannelOptions, Client, Metadata, ServiceError } from "@grpc/grpc-js";
import { metadataOf, openChannel } from "../channel.ts";
import type { Headers, TlsOptions } from "../options.ts";
import { RowlockError } from "../rowlock-error.ts";
import {
  decoder,
  encode,
  pathOf,
  type RequestOf,
  type ResponseOf,
  type StreamMethod,
  type UnaryMethod,
} from "./methods.ts";
import { Responses, SessionStream } from "./streams.ts";

export interface BareOptions {
  /** true: with the authorities that Node trusts. Unset: plain text. */
  readonly tls?: boolean | TlsOptions | undefined;
  /** Sent along with each call. */
  readonly metadata?: Headers | undefined;
  /** More options of the channel, as grpc-js has them. */
  readonly channel?: ChannelOptions;
}

export interface BareCallOptions {
  /** After so many milliseconds the call fails with DEADLINE_EXCEEDED; it may have taken effect. */
  readonly timeout?: number | undefined;
  /** Ends the call with CANCELLED; likewise. */
  readonly signal?: AbortSignal | undefined;
}

export class BareCalls {
  readonly #channel: Client;
  readonly #metadata: Metadata;

  /** `address`: host:port. Connects with the first call. */
  constructor(address: string, { tls, metadata = {}, channel }: BareOptions = {}) {
    this.#channel = openChannel(address, tls, channel);
    this.#metadata = metadataOf(metadata);
  }

  /** Rejects with a RowlockError. A refusal is an answer. */
  async call<Name extends UnaryMethod>(
    method: Name,
    request: RequestOf<Name>,
    { timeout, signal }: BareCallOptions = {},
  ): Promise<ResponseOf<Name>> {
    if (signal?.aborted) throw RowlockError.cancelled();
    const answer = Promise.withResolvers<ResponseOf<Name>>();
    const call = this.#channel.makeUnaryRequest(
      pathOf(method),
      asItIs,
      decoder(method),
      encode(method, request),
      this.#metadata,
      deadlineIn(timeout),
      (error: ServiceError | null, response) => {
        signal?.removeEventListener("abort", cancel);
        if (error || !response) answer.reject(RowlockError.ofCall(error as ServiceError));
        else answer.resolve(response);
      },
    );
    const cancel = () => call.cancel();
    signal?.addEventListener("abort", cancel);
    return await answer.promise;
  }

  stream<Name extends StreamMethod>(
    method: Name,
    request: RequestOf<Name>,
    { timeout, signal }: BareCallOptions = {},
  ): Responses<ResponseOf<Name>> {
    if (signal?.aborted) throw RowlockError.cancelled();
    const stream = this.#channel.makeServerStreamRequest(
      pathOf(method),
      asItIs,
      decoder(method),
      encode(method, request),
      this.#metadata,
      deadlineIn(timeout),
    );
    const cancel = () => stream.cancel();
    signal?.addEventListener("abort", cancel);
    stream.on("status", () => signal?.removeEventListener("abort", cancel));
    return new Responses(stream);
  }

  /** Opens a session; its first request has `open`. */
  session(): SessionStream {
    return new SessionStream(
      this.#channel.makeBidiStreamRequest(pathOf("session"), asItIs, decoder("session"), this.#metadata),
    );
  }

  /** Ends the connection as soon as no call is under way. */
  close(): void {
    this.#channel.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function deadlineIn(timeout: number | undefined): CallOptions {
  return timeout === undefined ? {} : { deadline: Date.now() + timeout };
}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}
