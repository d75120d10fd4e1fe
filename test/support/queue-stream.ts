// The updates of one WaitInQueue, in order, with assertions about them.

import type { ClaimEnd, Lease, Refusal, Spent, Ticket } from "#proto/rowlock/v1/lock_pb.js";
import type { WaitInQueueResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import type { RowlockError } from "../../clients/typescript/src/bare/index.ts";

type Update = WaitInQueueResponse["update"];

/** The source of the updates: a separate stream, or a call of a session. */
interface Updates extends AsyncIterable<WaitInQueueResponse> {
  cancel(): void;
}

export class QueueStream {
  readonly #stream: Updates;
  readonly #updates: AsyncIterator<WaitInQueueResponse>;

  constructor(stream: Updates) {
    this.#stream = stream;
    this.#updates = stream[Symbol.asyncIterator]();
  }

  /** The next update, or undefined if the stream was closed normally. Rejects with a RowlockError. */
  async next(): Promise<Update | undefined> {
    const { value, done } = await this.#updates.next();
    return done ? undefined : (value as WaitInQueueResponse).update;
  }

  async position(): Promise<Ticket> {
    return (await this.#expect("position")) as Ticket;
  }

  /** The lease, after any positions before it. */
  async granted(): Promise<Lease> {
    return (await this.#last("granted")) as Lease;
  }

  /** What a spend took, after any positions before it. */
  async spent(): Promise<Spent> {
    return (await this.#last("spent")) as Spent;
  }

  async refusal(): Promise<Refusal> {
    return (await this.#last("refusal")) as Refusal;
  }

  /** The end of the claim, after any positions before it. */
  async ended(): Promise<ClaimEnd> {
    return (await this.#last("ended")) as ClaimEnd;
  }

  /** The failure that ends the stream, after any updates before it. */
  async failure(): Promise<RowlockError> {
    try {
      while (await this.next());
    } catch (error) {
      return error as RowlockError;
    }
    throw new Error("expected a failure, but the stream was closed in good order");
  }

  cancel(): void {
    this.#stream.cancel();
  }

  async #last(kind: Update["case"]): Promise<Update["value"]> {
    for (;;) {
      const update = await this.next();
      if (update?.case === "position" && kind !== "position") continue;
      if (update?.case !== kind) throw new Error(`expected ${kind}, got ${update?.case}`);
      if ((await this.next()) !== undefined) throw new Error(`the stream goes on after ${kind}`);
      return update?.value;
    }
  }

  async #expect(kind: Update["case"]): Promise<Update["value"]> {
    const update = await this.next();
    if (update?.case !== kind) throw new Error(`expected ${kind}, got ${update?.case}`);
    return update?.value;
  }
}
