// The methods of one server, each as a promise or a stream of messages. For users who want the bare calls, and for the
// client itself where no session gets through. It must not repeat, renew or remember anything.

import type { CallOptions, ChannelOptions, Client, Metadata, ServiceError } from "@grpc/grpc-js";
import { metadataOf, openChannel } from "../channels.ts";
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

/** The longest time of a Node timer: 24 days. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export interface BareOptions {
  /** true: trust the authorities that Node trusts. Unset: plain text. */
  readonly tls?: boolean | TlsOptions | undefined;
  /** Sent with each call; a function is called for each. */
  readonly headers?: Headers | (() => Headers) | undefined;
  /** More channel options of grpc-js. */
  readonly channel?: ChannelOptions;
}

export interface BareCallOptions {
  /** Milliseconds after which the call fails with DEADLINE_EXCEEDED; it may have taken effect. Above 24 days: no end. */
  readonly timeout?: number | undefined;
  /** Ends the call with CANCELLED; it may have taken effect. */
  readonly signal?: AbortSignal | undefined;
  /** Sent with this call, beside those of all calls. */
  readonly headers?: Headers | undefined;
}

/** The bare calls of one server, over one channel. Nothing is repeated, renewed or remembered. */
export class BareCalls {
  readonly #channel: Client;
  readonly #headers: () => Headers;

  /**
   * @param address `host:port`. It connects with the first call. Throws CREDENTIALS_MISSING if a file of `tls` cannot
   * be used.
   */
  constructor(address: string, { tls, headers = {}, channel }: BareOptions = {}) {
    this.#channel = openChannel(address, tls, channel);
    this.#headers = typeof headers === "function" ? headers : () => headers;
  }

  #metadata(more?: Headers): Metadata {
    return metadataOf({ ...this.#headers(), ...more });
  }

  /** Makes a unary call. Rejects with a RowlockError; a refusal is an answer. Whether a retry is safe is up to you. */
  async call<Name extends UnaryMethod>(
    method: Name,
    request: RequestOf<Name>,
    { timeout, signal, headers }: BareCallOptions = {},
  ): Promise<ResponseOf<Name>> {
    if (signal?.aborted) throw RowlockError.cancelled();
    const answer = Promise.withResolvers<ResponseOf<Name>>();
    const call = this.#channel.makeUnaryRequest(
      pathOf(method),
      asItIs,
      decoder(method),
      encode(method, request),
      this.#metadata(headers),
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

  /** Makes a call that answers with a stream. Throws CANCELLED if `signal` is already aborted. */
  stream<Name extends StreamMethod>(
    method: Name,
    request: RequestOf<Name>,
    { timeout, signal, headers }: BareCallOptions = {},
  ): Responses<ResponseOf<Name>> {
    if (signal?.aborted) throw RowlockError.cancelled();
    const stream = this.#channel.makeServerStreamRequest(
      pathOf(method),
      asItIs,
      decoder(method),
      encode(method, request),
      this.#metadata(headers),
      deadlineIn(timeout),
    );
    const cancel = () => stream.cancel();
    signal?.addEventListener("abort", cancel);
    stream.on("status", () => signal?.removeEventListener("abort", cancel));
    return new Responses(stream);
  }

  /** Opens a session. The first request that you send must have `open`. */
  session(): SessionStream {
    return new SessionStream(
      this.#channel.makeBidiStreamRequest(pathOf("session"), asItIs, decoder("session"), this.#metadata()),
    );
  }

  /** Ends the connection as soon as no call is open. */
  close(): void {
    this.#channel.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** A time that no timer can hold counts as none. */
function deadlineIn(timeout: number | undefined): CallOptions {
  return timeout === undefined || timeout > TIMER_MS_MAX ? {} : { deadline: Date.now() + timeout };
}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}
