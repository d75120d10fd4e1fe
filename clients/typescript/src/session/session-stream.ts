// One session with one server: gathers what is asked for in a turn into requests, knows when each of them was sent, is heard
// as often as the server wants, and notices a server that falls silent. Knows nothing of what the commands mean.

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { ServiceError } from "@grpc/grpc-js";
import type { SessionOpened, SessionResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import {
  SessionOpenSchema,
  SessionRequestSchema,
  SessionResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import type { Clock } from "../clock.ts";
import { RowlockError } from "../rowlock-error.ts";
import { msOf } from "../times.ts";
import type { Channel } from "./channel.ts";

const { open: OPEN, commands: COMMANDS, received: RECEIVED } = SessionRequestSchema.field;
/** Of a request beside its commands. */
const FRAME_BYTES = 64;
/** Silence is counted in ticks, of which one passes at the most while this process is frozen. */
const SILENT_TICKS_MAX = 4;

export interface SessionStreamOptions {
  readonly address: string;
  readonly channel: (failed: (error: unknown) => void) => Channel;
  readonly owner: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What a request may hold until the server has said it. */
  readonly bytesMax: number;
  readonly clock: Clock;
  /** A response; what it says was so at `basisMs` or later. */
  readonly onResponse: (response: SessionResponse, basisMs: number) => void;
  /** Called once, unless it was closed from here. */
  readonly onEnded: (error: RowlockError) => void;
}

export class SessionStream {
  readonly address: string;
  /** What is in force; undefined until the first response has come. */
  opened: SessionOpened | undefined;
  /** What a request may hold. */
  bytesMax: number;
  readonly #options: SessionStreamOptions;
  readonly #channel: Channel;
  readonly #ended = Promise.withResolvers<void>();
  #commands: Uint8Array[] = [];
  #open: Uint8Array | undefined;
  #isScheduled = false;
  /** When each request was sent that the server has not yet been known to hear: the first is number `#heard` + 1. */
  #sentMs: number[] = [];
  #heard = 0;
  #heardSentMs: number;
  #received = 0n;
  #sentSinceBeat = false;
  #receivedSinceTick = true;
  #silentTicks = 0;
  #timers: NodeJS.Timeout[] = [];
  #isOver = false;
  #isHalfClosed = false;

  constructor(options: SessionStreamOptions) {
    const { address, owner, labels, bytesMax, clock } = options;
    this.#options = options;
    this.address = address;
    this.bytesMax = bytesMax;
    this.#heardSentMs = clock.now();
    this.#open = toBinary(SessionOpenSchema, create(SessionOpenSchema, { owner, labels }));
    this.#channel = options.channel((error) => this.#end(RowlockError.ofSession(error as ServiceError)));
    const { stream } = this.#channel;
    stream.on("data", (bytes: Buffer) => this.#take(bytes));
    stream.on("end", () => this.#end(new RowlockError("UNKNOWN", "UNAVAILABLE", "The session has ended.")));
    this.touch();
  }

  /** Adds an encoded SessionCommand to the next request, which is sent at the end of this turn. */
  send(command: Uint8Array): void {
    this.#commands.push(command);
    this.touch();
  }

  /** Sends a request in this turn, if only an empty one. */
  touch(): void {
    if (this.#isScheduled || this.#isOver || this.#isHalfClosed) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  /** Bytes that a command may have to fit into a request of its own. */
  get commandBytesMax(): number {
    return this.bytesMax - FRAME_BYTES;
  }

  /** Closes it in good order; resolves when the server has, too, or the time is over. */
  async close(withinMs: number): Promise<void> {
    if (this.#isOver) return;
    this.#flush();
    this.#isHalfClosed = true;
    this.#channel.stream.end();
    const timer = setTimeout(() => this.destroy(), withinMs);
    await this.#ended.promise;
    clearTimeout(timer);
  }

  /** Ends it at once, without a word to its owner. */
  destroy(): void {
    this.#over();
  }

  #flush(): void {
    if (this.#isOver || this.#isHalfClosed) return;
    const commands = this.#commands;
    this.#commands = [];
    let index = 0;
    do {
      const writer = new BinaryWriter();
      let bytes = FRAME_BYTES;
      if (this.#open) {
        writer.tag(OPEN.number, WireType.LengthDelimited).bytes(this.#open);
        bytes += this.#open.length;
        this.#open = undefined;
      }
      for (; index < commands.length; index++) {
        const command = commands[index] as Uint8Array;
        bytes += command.length + 6;
        if (bytes > this.bytesMax && bytes > FRAME_BYTES + command.length + 6) break;
        writer.tag(COMMANDS.number, WireType.LengthDelimited).bytes(command);
      }
      if (this.#received > 0n) writer.tag(RECEIVED.number, WireType.Varint).uint64(this.#received);
      this.#sentMs.push(this.#options.clock.now());
      this.#sentSinceBeat = true;
      this.#channel.stream.write(writer.finish());
    } while (index < commands.length);
  }

  #take(bytes: Buffer): void {
    if (this.#isOver) return;
    const response = fromBinary(SessionResponseSchema, bytes);
    this.#received += 1n;
    this.#receivedSinceTick = true;
    for (const heard = Number(response.heard); this.#heard < heard; this.#heard++)
      this.#heardSentMs = this.#sentMs.shift() ?? this.#heardSentMs;
    if (response.opened && !this.opened) this.#begin(response.opened);
    this.#options.onResponse(response, this.#heardSentMs);
  }

  #begin(opened: SessionOpened): void {
    this.opened = opened;
    this.bytesMax = opened.messageBytesMax;
    const { heartbeatInterval, silenceMax } = opened;
    if (heartbeatInterval) this.#every(msOf(heartbeatInterval), () => this.#beat());
    if (silenceMax) this.#every(msOf(silenceMax) / SILENT_TICKS_MAX, () => this.#listen());
  }

  #every(ms: number, run: () => void): void {
    this.#timers.push(setInterval(run, ms));
  }

  #beat(): void {
    if (!this.#sentSinceBeat) this.touch();
    this.#sentSinceBeat = false;
  }

  /** Every request is answered, so a server that says nothing to one of them is gone. */
  #listen(): void {
    this.#silentTicks = this.#receivedSinceTick || this.#sentMs.length === 0 ? 0 : this.#silentTicks + 1;
    this.#receivedSinceTick = false;
    if (this.#silentTicks >= SILENT_TICKS_MAX)
      this.#end(new RowlockError("UNKNOWN", "UNAVAILABLE", "The server does not answer any more."));
  }

  #end(error: RowlockError): void {
    if (this.#isOver) return;
    this.#over();
    if (!this.#isHalfClosed) this.#options.onEnded(error);
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#channel.stream.cancel();
    this.#channel.close();
    this.#ended.resolve();
  }
}
