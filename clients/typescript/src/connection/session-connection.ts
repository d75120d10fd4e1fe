// A connection of one session: it gathers the commands of a turn into requests, records when it sent each request,
// sends heartbeats as often as the server wants, acknowledges responses, and detects a silent server.

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { Client, ClientDuplexStream, ServiceError } from "@grpc/grpc-js";
import type { SessionCommand, SessionOpened, SessionResult } from "#proto/rowlock/v1/lock_service_pb.js";
import {
  SessionCommandSchema,
  SessionOpenSchema,
  SessionRequestSchema,
  SessionResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { pathOf } from "../bare/methods.ts";
import { metadataOf } from "../channels.ts";
import type { Clock } from "../clock.ts";
import type { Headers } from "../options.ts";
import { RowlockError } from "../rowlock-error.ts";
import { msOf } from "../times.ts";
import { refuseBrokenText } from "../whole-text.ts";
import type { Command, Connection, ConnectionOptions, News } from "./connection.ts";

const { open: OPEN, commands: COMMANDS, received: RECEIVED } = SessionRequestSchema.field;
/** Upper bounds of the bytes of a request without its commands, and of the framing of one command. */
const FRAME_BYTES = 64;
const COMMAND_FRAME_BYTES = 6;
/** Silence is counted in ticks instead of time, as at most one tick passes while this process is frozen. */
const SILENT_TICKS_MAX = 4;
/** The most leases of one command, and the most bytes of each. */
const RENEWALS_MAX = 500;
const RENEWAL_BYTES = 64;

export interface SessionOptions extends ConnectionOptions {
  readonly channel: Client;
  readonly headers: Headers;
  /** The most bytes of a request, until the server reports its bound. */
  readonly bytesMax: number;
  readonly clock: Clock;
}

export class SessionConnection implements Connection {
  readonly address: string;
  readonly via = "session";
  opened: SessionOpened | undefined;
  wasReached = false;
  /** The most bytes of a request. */
  bytesMax: number;
  readonly #options: SessionOptions;
  readonly #stream: ClientDuplexStream<Uint8Array, Buffer>;
  readonly #ended = Promise.withResolvers<void>();
  #commands: Uint8Array[] = [];
  /** The calls whose commands are not sent yet. */
  readonly #unsent = new Set<bigint>();
  #open: Uint8Array | undefined;
  #isScheduled = false;
  /** The send times of the requests that the server has not yet reported as heard, from number `#heard` + 1 on. */
  #sentMs: number[] = [];
  #heard = 0;
  #heardSentMs: number;
  #received = 0n;
  #receivedSinceTick = true;
  #silentTicks = 0;
  /** Fires when the next heartbeat is due. */
  #beat: NodeJS.Timeout | undefined;
  #ticks: NodeJS.Timeout | undefined;
  #isOver = false;
  #isHalfClosed = false;

  constructor(options: SessionOptions) {
    const { address, owner, labels, channel, headers, bytesMax, clock } = options;
    this.#options = options;
    this.address = address;
    this.bytesMax = bytesMax;
    this.#heardSentMs = clock.now();
    channel.waitForReady(Number.POSITIVE_INFINITY, (error) => {
      this.wasReached = error === undefined;
    });
    this.#open = toBinary(SessionOpenSchema, create(SessionOpenSchema, { owner, labels }));
    this.#stream = channel.makeBidiStreamRequest<Uint8Array, Buffer>(
      pathOf("session"),
      ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength),
      (bytes) => bytes,
      metadataOf(headers),
    );
    this.#stream.on("error", (error: ServiceError) => this.#end(RowlockError.ofCall(error)));
    this.#stream.on("data", (bytes: Buffer) => this.#hear(bytes));
    this.#stream.on("end", () =>
      this.#end(new RowlockError("UNKNOWN", "UNAVAILABLE", "The session has ended.")),
    );
    this.#acknowledge();
  }

  get renewalsMax(): number {
    return Math.max(1, Math.min(RENEWALS_MAX, Math.floor(this.#commandBytesMax / RENEWAL_BYTES)));
  }

  send(call: bigint, command: Command, traceparent = ""): boolean {
    const bytes = encoded(call, command, traceparent);
    if (bytes.length > this.#commandBytesMax) {
      if (!this.opened) return false;
      throw tooLarge(bytes.length, this.#commandBytesMax);
    }
    this.#unsent.add(call);
    this.#enqueue(bytes);
    return true;
  }

  cancel(call: bigint): void {
    // The server handles the cancels of a request first, and would then begin what it should end.
    if (this.#unsent.has(call)) this.#flush();
    this.#enqueue(encoded(0n, { case: "cancel", value: call }));
  }

  get #commandBytesMax(): number {
    return this.bytesMax - FRAME_BYTES;
  }

  /** Adds the command to the next request, which is sent at the end of this turn. */
  #enqueue(command: Uint8Array): void {
    this.#commands.push(command);
    this.#acknowledge();
  }

  /** Sends a request at the end of this turn, an empty one if there is no command. */
  #acknowledge(): void {
    if (this.#isScheduled || this.#isOver || this.#isHalfClosed) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  async close(withinMs: number): Promise<void> {
    if (this.#isOver) return;
    if (!this.#isHalfClosed) {
      this.#flush();
      this.#isHalfClosed = true;
      this.#stream.end();
    }
    const timer = setTimeout(() => this.destroy(), withinMs);
    await this.#ended.promise;
    clearTimeout(timer);
  }

  destroy(): void {
    this.#over();
  }

  #flush(): void {
    if (this.#isOver || this.#isHalfClosed) return;
    const commands = this.#commands;
    this.#commands = [];
    this.#unsent.clear();
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
        bytes += command.length + COMMAND_FRAME_BYTES;
        if (bytes > this.bytesMax && bytes > FRAME_BYTES + command.length + COMMAND_FRAME_BYTES) break;
        writer.tag(COMMANDS.number, WireType.LengthDelimited).bytes(command);
      }
      if (this.#received > 0n) writer.tag(RECEIVED.number, WireType.Varint).uint64(this.#received);
      this.#sentMs.push(this.#options.clock.now());
      this.#stream.write(writer.finish());
    } while (index < commands.length);
    this.#beat?.refresh();
  }

  #hear(bytes: Buffer): void {
    if (this.#isOver) return;
    const response = fromBinary(SessionResponseSchema, bytes);
    this.#received += 1n;
    this.#receivedSinceTick = true;
    for (const heard = Number(response.heard); this.#heard < heard; this.#heard++)
      this.#heardSentMs = this.#sentMs.shift() ?? this.#heardSentMs;
    const isFirst = response.opened !== undefined && !this.opened;
    if (response.opened && isFirst) this.#begin(response.opened);
    const { confirmed, lost, goingAway } = response;
    const results = response.results.flatMap(resultIn);
    this.#options.onNews({ opened: isFirst, results, confirmed, lost, goingAway }, this.#heardSentMs);
    // Acknowledge provisional leases at once: until then they last no longer than the grace period.
    if (response.results.some(isProvisional)) this.#acknowledge();
  }

  #begin(opened: SessionOpened): void {
    this.opened = opened;
    this.bytesMax = opened.messageBytesMax;
    const { heartbeatInterval, silenceMax } = opened;
    if (heartbeatInterval) this.#beat = setTimeout(() => this.#acknowledge(), msOf(heartbeatInterval));
    if (silenceMax) this.#ticks = setInterval(() => this.#listen(), msOf(silenceMax) / SILENT_TICKS_MAX);
  }

  /** Counts silent ticks: the server answers every request, so a server that leaves one unanswered is gone. */
  #listen(): void {
    this.#silentTicks = this.#receivedSinceTick || this.#sentMs.length === 0 ? 0 : this.#silentTicks + 1;
    this.#receivedSinceTick = false;
    if (this.#silentTicks >= SILENT_TICKS_MAX)
      this.#end(new RowlockError("UNKNOWN", "UNAVAILABLE", "The server has stopped answering."));
  }

  #end(error: RowlockError): void {
    if (this.#isOver) return;
    // A server that does not know who calls has taken none of the commands.
    if (!this.opened && error.isOfCredentials) this.wasReached = false;
    this.#over();
    if (!this.#isHalfClosed) this.#options.onEnded(error);
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#beat);
    clearInterval(this.#ticks);
    this.#stream.cancel();
    this.#options.channel.close();
    this.#ended.resolve();
  }
}

function encoded(call: bigint, command: SessionCommand["command"], traceparent = ""): Uint8Array {
  refuseBrokenText(command.value);
  return toBinary(SessionCommandSchema, create(SessionCommandSchema, { call, command, traceparent }));
}

function resultIn({ call, result }: SessionResult): NonNullable<News["results"]> {
  if (result.case === undefined) return [];
  const isError = result.case === "error" || result.case === "rejected";
  return [{ call, result: isError ? RowlockError.ofStatus(result.value) : result }];
}

function isProvisional({ result }: SessionResult): boolean {
  if (result.case === "capture") return result.value.leases.some(({ provisional }) => provisional);
  return (
    result.case === "waitInQueue" &&
    result.value.update.case === "granted" &&
    result.value.update.value.provisional
  );
}

function tooLarge(bytes: number, bytesMax: number): RowlockError {
  return new RowlockError(
    "MESSAGE_TOO_LARGE",
    "RESOURCE_EXHAUSTED",
    `The command has ${bytes} bytes, but the server accepts at most ${bytesMax}.`,
    { metadata: { bytes_max: String(bytesMax) } },
  );
}
