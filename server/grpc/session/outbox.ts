// What a session has to say: gathers it for a turn of the event loop and sends it as one message, one at a time. While the
// client does not read, what is said gathers on, up to a bound. Encodes straight into the message: encodings of its parts,
// one after the other, are the message.

import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { SessionResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import { SessionResponseSchema, SessionResultSchema } from "#proto/rowlock/v1/lock_service_pb.js";

type Part = Partial<Omit<SessionResponse, "$typeName" | "results" | "heard">>;

export interface OutboxOptions {
  /** Bytes that may wait for a client that does not read. */
  readonly unreadMax: number;
  /** How many requests were heard so far. */
  readonly heard: () => number;
  /** Gives a message to the connection; `written` is to be called when that has taken it. */
  readonly write: (message: Buffer, written: () => void) => void;
  /** A message is on its way, of so many results and bytes. */
  readonly onSent: (results: number, bytes: number) => void;
  /** More than `unreadMax` waits. May be called again. */
  readonly onUnread: () => void;
}

const RESULTS = SessionResponseSchema.field.results.number;
const HEARD = SessionResponseSchema.field.heard.number;
const CALL = SessionResultSchema.field.call.number;

export class Outbox {
  readonly #options: OutboxOptions;
  #writer = new BinaryWriter();
  #bytes = 0;
  #results = 0;
  #written: (() => void)[] = [];
  #sent = 0;
  #hasMore = false;
  /** Requests heard when the message was begun: what its leases have left counts from then or later. */
  #heard = 0;
  #isScheduled = false;
  #isWriting = false;
  #isClosed = false;
  #onEmpty: (() => void) | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** The number of the response that takes along what is said now. */
  get next(): number {
    return this.#sent + 1;
  }

  /** Adds a result of a call: its message, under the number of its field. */
  addResult(call: bigint, field: number, message: Uint8Array, written?: () => void): void {
    this.#writer.tag(RESULTS, WireType.LengthDelimited).fork();
    this.#writer.tag(CALL, WireType.Varint).uint64(call);
    this.#writer.tag(field, WireType.LengthDelimited).bytes(message);
    this.#writer.join();
    if (written) this.#written.push(written);
    this.#results += 1;
    this.#added(message.length);
  }

  /** Adds to the other fields of the message. */
  add(part: Part): void {
    const bytes = toBinary(SessionResponseSchema, create(SessionResponseSchema, part));
    this.#writer.raw(bytes);
    this.#added(bytes.length);
  }

  /** Says at least how many requests were heard. */
  touch(): void {
    this.#added(0);
  }

  /** Sends nothing from now on but what was said before; calls `done` when the connection has all of it. */
  close(done: () => void): void {
    this.#isClosed = true;
    this.#onEmpty = done;
    if (!this.#isWriting && !this.#hasMore) done();
  }

  #added(bytes: number): void {
    if (this.#isClosed) return;
    if (!this.#hasMore) this.#heard = this.#options.heard();
    this.#hasMore = true;
    this.#bytes += bytes;
    if (this.#bytes > this.#options.unreadMax) this.#options.onUnread();
    if (this.#isScheduled || this.#isWriting) return;
    this.#isScheduled = true;
    // After all that this turn brings.
    setImmediate(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    this.#writer.tag(HEARD, WireType.Varint).uint64(this.#heard);
    const bytes = this.#writer.finish();
    const written = this.#written;
    const results = this.#results;
    this.#writer = new BinaryWriter();
    this.#written = [];
    this.#bytes = 0;
    this.#results = 0;
    this.#hasMore = false;
    this.#sent += 1;
    this.#isWriting = true;
    this.#options.onSent(results, bytes.length);
    this.#options.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), () => {
      this.#isWriting = false;
      for (const tell of written) tell();
      if (this.#hasMore) this.#flush();
      else this.#onEmpty?.();
    });
  }
}
