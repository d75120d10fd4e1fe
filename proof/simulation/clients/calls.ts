// The bare calls of a client at one server: each by itself, or all as commands of one session. Both look like the bare
// calls of the client for TypeScript.

import { EventEmitter } from "node:events";
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type { Status } from "#proto/google/rpc/status_pb.js";
import {
  SessionRequestSchema,
  type SessionResponse,
  SessionResponseSchema,
  type SessionResult,
} from "#proto/rowlock/v1/lock_service_pb.js";
import {
  type BareCallOptions,
  type BareCalls,
  RowlockError,
} from "../../../clients/typescript/src/bare/index.ts";
import { connectionLost, deadlineExceeded, type Line, type Network } from "../servers/network.ts";
import type { Process } from "../world/world.ts";

type Method = Parameters<Network["call"]>[1];

/** Messages in the order in which they came, and how it ended. */
class Arriving<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  #end: { readonly error: unknown } | undefined;
  #tell = () => {};
  readonly #cancel: () => void;

  constructor(cancel: () => void) {
    this.#cancel = cancel;
  }

  add(item: Item): void {
    this.#items.push(item);
    this.#tell();
  }

  /** `error`: null if it ended well. */
  end(error: unknown): void {
    this.#end ??= { error };
    this.#tell();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    try {
      for (;;) {
        const item = this.#items.shift();
        if (item) yield item;
        else if (this.#end?.error) throw this.#end.error;
        else if (this.#end) return;
        else
          await new Promise<void>((resolve) => {
            this.#tell = resolve;
          });
      }
    } finally {
      if (!this.#end) this.#cancel();
    }
  }
}

export function ownCalls(network: Network, client: Process, address: number): BareCalls {
  const line = () => network.line(client, address);
  return {
    call: (method: Method, request: object, options: BareCallOptions = {}) =>
      network.call(line(), method, request, options),
    stream(method: Method, request: object, options: BareCallOptions = {}) {
      const gaveUp = new AbortController();
      const arriving = new Arriving<Message>(() => gaveUp.abort());
      network
        .call(line(), method, request, { ...options, signal: gaveUp.signal }, (part) => arriving.add(part))
        .then(
          () => arriving.end(null),
          (error: unknown) => arriving.end(error),
        );
      return arriving;
    },
  } as unknown as BareCalls;
}

/** What the server has of a session: the stream of grpc-js. */
class ServerStream extends EventEmitter {
  readonly metadata = { get: () => [] };
  cancelled = false;
  readonly #line: Line;
  readonly #session: SimSession;
  #isPaused = false;
  readonly #waiting: Buffer[] = [];

  constructor(line: Line, session: SimSession) {
    super();
    this.#line = line;
    this.#session = session;
    this.on("error", () => this.#line.toClient(() => session.over()));
  }

  getPeer(): string {
    return this.#line.peer;
  }

  write(bytes: Buffer, written: () => void): boolean {
    this.#line.toClient(() => this.#session.take(bytes));
    setImmediate(written);
    return true;
  }

  arrives(bytes: Buffer): void {
    if (this.#isPaused) this.#waiting.push(bytes);
    else this.emit("data", bytes);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    while (!this.#isPaused && this.#waiting.length > 0) this.emit("data", this.#waiting.shift());
  }

  end(): void {
    this.#line.toClient(() => this.#session.over());
  }

  lost(): void {
    this.cancelled = true;
    this.emit("end");
    this.emit("cancelled");
  }
}

/** The client's side of one session. */
class SimSession {
  isOver = false;
  #isGoingAway = false;
  readonly #line: Line;
  readonly #calls = new Map<bigint, (result: SessionResult["result"] | null) => void>();
  #lastCall = 0n;
  #received = 0n;
  /** Those of one turn go in one message, as the client for TypeScript sends them. */
  #commands: object[] = [];
  readonly #beats: NodeJS.Timeout;
  #stream: ServerStream | undefined;

  constructor(line: Line, owner: string, beatMs: number) {
    this.#line = line;
    this.#beats = setInterval(() => this.#send({ received: this.#received }), beatMs);
    line.onBroken("client", () => this.over());
    if (line.isCut) line.breaks();
    else
      line.toServer(() => {
        const { server } = line;
        if (!server.isServing) return line.breaks();
        const stream = new ServerStream(line, this);
        this.#stream = stream;
        line.onBroken("server", () => stream.lost());
        void server.sessions.handler(stream as never);
      });
    this.#send({ open: { owner } });
  }

  /** Whether new commands can be sent. */
  get isUsable(): boolean {
    return !this.isOver && !this.#isGoingAway;
  }

  ask(command: object, heard: (result: SessionResult["result"] | null) => void): bigint {
    const call = ++this.#lastCall;
    this.#calls.set(call, heard);
    this.#command({ call, command });
    return call;
  }

  cancel(call: bigint): void {
    if (this.#calls.delete(call)) this.#command({ command: { case: "cancel", value: call } });
  }

  done(call: bigint): void {
    this.#calls.delete(call);
  }

  take(bytes: Buffer): void {
    if (this.isOver) return;
    this.#received += 1n;
    const response: SessionResponse = fromBinary(SessionResponseSchema, bytes);
    if (response.goingAway) this.#isGoingAway = true;
    for (const { call, result } of response.results) this.#calls.get(call)?.(result);
  }

  over(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearInterval(this.#beats);
    for (const heard of [...this.#calls.values()]) heard(null);
    this.#calls.clear();
  }

  #command(command: object): void {
    this.#commands.push(command);
    if (this.#commands.length > 1) return;
    setImmediate(() => this.#send({ commands: this.#commands.splice(0), received: this.#received }));
  }

  #send(request: object): void {
    if (this.isOver) return;
    const bytes = Buffer.from(toBinary(SessionRequestSchema, create(SessionRequestSchema, request)));
    this.#line.toServer(() => this.#stream?.arrives(bytes));
  }
}

const isLast = (result: SessionResult["result"]) =>
  result.case !== "watchLocks" && (result.case !== "waitInQueue" || result.value.update.case !== "position");

/** `beatMs`: how often the session says that it lives. */
export function sessionCalls(network: Network, client: Process, address: number, beatMs: number): BareCalls {
  let session: SimSession | undefined;
  const open = () => {
    if (!session?.isUsable) session = new SimSession(network.line(client, address), client.name, beatMs);
    return session;
  };
  const ask = (
    method: string,
    request: object,
    { timeout, signal }: BareCallOptions,
    heard: (message: object) => void,
  ) =>
    new Promise<void>((resolve, reject) => {
      const own = open();
      const end = (error?: unknown) => {
        clearTimeout(timer);
        own.done(call);
        if (error) reject(error);
        else resolve();
      };
      const giveUp = (error: RowlockError) => {
        own.cancel(call);
        end(error);
      };
      const call = own.ask({ case: method, value: request }, (result) => {
        if (!result) return end(connectionLost());
        if (result.case === "error" || result.case === "rejected")
          return end(RowlockError.ofStatus(result.value as Status));
        heard(result.value as object);
        if (isLast(result)) end();
      });
      const timer = timeout === undefined ? undefined : setTimeout(() => giveUp(deadlineExceeded()), timeout);
      signal?.addEventListener("abort", () => giveUp(RowlockError.cancelled()), { once: true });
    });
  return {
    async call(method: string, request: object, options: BareCallOptions = {}) {
      let answer: object | undefined;
      await ask(method, request, options, (message) => {
        answer = message;
      });
      return answer;
    },
    stream(method: string, request: object, options: BareCallOptions = {}) {
      const gaveUp = new AbortController();
      const arriving = new Arriving<object>(() => gaveUp.abort());
      ask(method, request, { ...options, signal: gaveUp.signal }, (part) => arriving.add(part)).then(
        () => arriving.end(null),
        (error: unknown) => arriving.end(error),
      );
      return arriving;
    },
  } as unknown as BareCalls;
}
