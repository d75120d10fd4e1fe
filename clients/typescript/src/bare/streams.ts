// What streams of bare calls are to their users: something to iterate over, whose errors are RowlockErrors.

import type { ClientDuplexStream, ClientReadableStream, ServiceError } from "@grpc/grpc-js";
import { RowlockError } from "../rowlock-error.ts";
import { encode, type RequestOf, type ResponseOf, type SessionMethod } from "./methods.ts";

/** Responses, one after the other; can be iterated over once. Ends, or throws a RowlockError, as the call does. */
export class Responses<Response> implements AsyncIterable<Response> {
  readonly #stream: ClientReadableStream<Response>;

  constructor(stream: ClientReadableStream<Response>) {
    this.#stream = stream;
    // Who iterates is told; who has cancelled it, or never looked, does not want to know.
    stream.on("error", () => {});
  }

  /** Ends the call with CANCELLED. */
  cancel(): void {
    this.#stream.cancel();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Response, void, undefined> {
    try {
      yield* this.#stream;
    } catch (error) {
      throw RowlockError.ofCall(error as ServiceError);
    } finally {
      // Whoever stops early: the server would go on telling.
      this.cancel();
    }
  }
}

/** A session of which nothing is done for its user: no numbers, no heartbeats, no acknowledgements. */
export class SessionStream extends Responses<ResponseOf<SessionMethod>> {
  readonly #stream: ClientDuplexStream<Buffer, ResponseOf<SessionMethod>>;

  constructor(stream: ClientDuplexStream<Buffer, ResponseOf<SessionMethod>>) {
    super(stream);
    this.#stream = stream;
  }

  send(request: RequestOf<SessionMethod>): void {
    this.#stream.write(encode("session", request));
  }

  /** There will be no more requests. */
  end(): void {
    this.#stream.end();
  }
}
