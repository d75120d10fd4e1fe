// The streams of bare calls, as async iterables whose errors are RowlockErrors.

import type { ClientDuplexStream, ClientReadableStream, ServiceError } from "@grpc/grpc-js";
import { RowlockError } from "../rowlock-error.ts";
import { encode, type RequestOf, type ResponseOf, type SessionMethod } from "./methods.ts";

/** The responses of a call, to iterate over once. The iteration ends, or throws a RowlockError, as the call does. */
export class Responses<Response> implements AsyncIterable<Response> {
  readonly #stream: ClientReadableStream<Response>;
  #failure: ServiceError | undefined;

  constructor(stream: ClientReadableStream<Response>) {
    this.#stream = stream;
    // Errors surface in the iteration. Without one, or after a cancellation, nobody needs them.
    stream.on("error", (error) => {
      this.#failure = error as ServiceError;
    });
  }

  /** Ends the call with CANCELLED. */
  cancel(): void {
    this.#stream.cancel();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Response, void, undefined> {
    try {
      yield* this.#stream;
      // The stream does not repeat a failure that came before the iteration began.
      if (this.#failure) throw this.#failure;
    } catch (error) {
      throw RowlockError.ofCall(error as ServiceError);
    } finally {
      // If the loop stops early, the server must not go on sending.
      this.cancel();
    }
  }
}

/** A bare session. The user numbers the calls and sends heartbeats and acknowledgements. */
export class SessionStream extends Responses<ResponseOf<SessionMethod>> {
  readonly #stream: ClientDuplexStream<Buffer, ResponseOf<SessionMethod>>;

  constructor(stream: ClientDuplexStream<Buffer, ResponseOf<SessionMethod>>) {
    super(stream);
    this.#stream = stream;
  }

  /** Sends a request. Throws BAD_REQUEST for values that no message can hold. */
  send(request: RequestOf<SessionMethod>): void {
    this.#stream.write(encode("session", request));
  }

  /** Half-closes the session: no more requests follow. */
  end(): void {
    this.#stream.end();
  }
}
