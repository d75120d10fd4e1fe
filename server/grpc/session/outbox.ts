// A session's outgoing messages. Collects what one tick of the event loop adds and sends it as one message, one message
// at a time. While the client does not read, more collects, up to a bound. Encodes straight into the message: the
// encodings of a message's parts, one after the other, are the message.

import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import {
  type SessionResponse,
  SessionResponseSchema,
  SessionResultSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { encodeInto } from "../messages/messages.ts";
import { Writer } from "../messages/wire.ts";

type Part = Partial<Omit<SessionResponse, "$typeName" | "results" | "heard">>;

export interface OutboxOptions {
  /** Bytes that may wait for a client that does not read. */
  readonly unreadMax: number;
  /** Requests received so far. */
  readonly heard: () => number;
  /** Gives a message to the connection, and must call `written` when the connection has taken it. */
  readonly write: (message: Buffer, written: () => void) => void;
  /** A message goes out with this many results and bytes. */
  readonly onSent: (results: number, bytes: number) => void;
  /** More than `unreadMax` bytes wait. May be called repeatedly. */
  readonly onUnread: () => void;
}

const RESULTS = part(SessionResponseSchema.field.results.number);
const HEARD = (SessionResponseSchema.field.heard.number << 3) | WireType.Varint;
const CALL = (SessionResultSchema.field.call.number << 3) | WireType.Varint;
/** A message first gets as many bytes as the one before it, within these bounds. */
const FIRST_BYTES_MIN = 256;
const FIRST_BYTES_MAX = 16_384;

/**
 * `gathering`: it sends at the end of the tick. `writing`: the connection has not taken the last message yet.
 * `gathering_behind`: the same, and the next message follows.
 */
type State = "empty" | "gathering" | "writing" | "gathering_behind";

export class Outbox {
  readonly #options: OutboxOptions;
  #writer = new Writer(FIRST_BYTES_MIN);
  #bytes = 0;
  #results = 0;
  #written: (() => void)[] = [];
  #sent = 0;
  /** Requests heard when the message began: the remaining times of its leases count from then or later. */
  #heard = 0;
  #answeredTo = 0;
  #state: State = "empty";
  /** Once closed: what to call when it is empty. */
  #onEmpty: (() => void) | undefined;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  get unread(): number {
    return this.#bytes;
  }

  /** The requests of which the client knows, once it has read everything, that they were heard. */
  get answered(): number {
    return this.#answeredTo;
  }

  /** The number of the response that will carry what is added now. */
  get next(): number {
    return this.#sent + 1;
  }

  /** Adds the result of a call: its encoded message, and the number of its field. */
  addResult(call: bigint, field: number, message: Uint8Array, written?: () => void): void {
    const result = this.#beginResult(call);
    const from = this.#writer.open(part(field));
    this.#writer.raw(message);
    this.#endResult(result, from, written);
  }

  /** The same with a message that is not encoded yet. Adds nothing if it throws. */
  addAnswer(
    call: bigint,
    field: number,
    schema: DescMessage,
    answer: MessageInitShape<DescMessage> | Buffer,
    written?: () => void,
  ): void {
    const before = this.#writer.length;
    const result = this.#beginResult(call);
    const from = this.#writer.open(part(field));
    try {
      encodeInto(this.#writer, schema, answer);
    } catch (error) {
      this.#writer.cut(before);
      throw error;
    }
    this.#endResult(result, from, written);
  }

  add(part: Part): void {
    const bytes = toBinary(SessionResponseSchema, create(SessionResponseSchema, part));
    this.#writer.raw(bytes);
    this.#added(bytes.length);
  }

  /** Makes sure that a message goes out, at least with the number of requests heard. */
  touch(): void {
    this.#added(0);
  }

  /** Sends only what was added before, and calls `done` when the connection has all of it. */
  close(done: () => void): void {
    this.#onEmpty = done;
    if (this.#state === "empty") done();
  }

  #beginResult(call: bigint): number {
    const result = this.#writer.open(RESULTS);
    this.#writer.uint64(CALL, call);
    return result;
  }

  #endResult(result: number, from: number, written: (() => void) | undefined): void {
    const bytes = this.#writer.length - from;
    this.#writer.close(from);
    this.#writer.close(result);
    if (written) this.#written.push(written);
    this.#results += 1;
    this.#added(bytes);
  }

  #added(bytes: number): void {
    if (this.#onEmpty) return;
    if (this.#state === "empty") {
      this.#begin("gathering");
      // After everything that this tick adds.
      setImmediate(() => this.#flush());
    } else if (this.#state === "writing") this.#begin("gathering_behind");
    this.#bytes += bytes;
    if (this.#bytes > this.#options.unreadMax) this.#options.onUnread();
  }

  #begin(state: State): void {
    this.#state = state;
    this.#heard = this.#options.heard();
  }

  #flush(): void {
    this.#answeredTo = this.#heard;
    this.#writer.uint64(HEARD, BigInt(this.#heard));
    const bytes = this.#writer.finish();
    const written = this.#written;
    const results = this.#results;
    this.#writer = new Writer(Math.min(Math.max(bytes.length, FIRST_BYTES_MIN), FIRST_BYTES_MAX));
    this.#written = [];
    this.#bytes = 0;
    this.#results = 0;
    this.#sent += 1;
    this.#state = "writing";
    this.#options.onSent(results, bytes.length);
    this.#options.write(bytes, () => {
      for (const notify of written) notify();
      if (this.#state === "gathering_behind") return this.#flush();
      this.#state = "empty";
      this.#onEmpty?.();
    });
  }
}

/** The tag of a field that has a length: a message, or text. */
function part(field: number): number {
  return (field << 3) | WireType.LengthDelimited;
}
