// Calls that all use one session, with the same promises and the same errors. Also the bare session below it, for tests
// of what only a session has.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import { onTestFinished } from "vitest";
import type { Lease, Ticket } from "#proto/rowlock/v1/lock_pb.js";
import type {
  SessionCommandSchema,
  SessionRequestSchema,
  SessionResponse,
  SessionResult,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import {
  type BareCallOptions,
  type RequestOf,
  type ResponseOf,
  RowlockError,
  type SessionStream,
  type UnaryMethod,
} from "../../clients/typescript/src/bare/index.ts";
import { msOf } from "../../clients/typescript/src/times.ts";
import { QueueStream } from "./queue-stream.ts";
import { TestCalls } from "./test-calls.ts";
import { WatchedLocks } from "./watched-locks.ts";

export type Command = NonNullable<MessageInitShape<typeof SessionCommandSchema>["command"]>;
type RequestInit = MessageInitShape<typeof SessionRequestSchema>;

export const acquire = (value: object) => ({ case: "acquire", value }) as Command;
export const wait = (value: object) =>
  ({ case: "waitInQueue", value: { target: { case: "request", value } } }) as Command;
export const capture = (value: RequestOf<"capture">) => ({ case: "capture", value }) as Command;
export const comeBack = (ticketId: string) =>
  ({ case: "waitInQueue", value: { target: { case: "ticketId", value: ticketId } } }) as Command;
export const renew = (leaseId: string) => ({ case: "renew", value: { leaseId } }) as Command;
export const release = (leaseId: string) => ({ case: "release", value: { leaseId } }) as Command;
export const cancel = (call: bigint) => ({ case: "cancel", value: call }) as Command;

/** Slightly less than the time-out of a test, so that a wait that hangs fails where it stands. */
const HANGS_MS = 110_000;

/** One session, message by message. Sends acknowledgements only when the test asks for them. */
export class BareSession {
  readonly responses: SessionResponse[] = [];
  /** Resolves, or rejects with a RowlockError, when the session has ended. */
  readonly ended: Promise<void>;
  readonly #stream: SessionStream;
  readonly #heard: (response: SessionResponse) => void;
  #mayRead = Promise.resolve();
  #arrived: (() => void)[] = [];
  #calls = 100_000n;

  /** `first`: the first request; by default one that opens the session and nothing else. */
  constructor(client: TestCalls, first: RequestInit = { open: {} }, heard = (_: SessionResponse) => {}) {
    this.#stream = client.session();
    this.#heard = heard;
    this.ended = this.#read();
    this.ended.catch(() => {});
    this.send(first);
  }

  send(request: RequestInit | Uint8Array): void {
    this.#stream.send(request);
  }

  /** Ends the request side of the stream. */
  end(): void {
    this.#stream.end();
  }

  /** Reads nothing from now on, not even the end of the stream. */
  stopReading(): void {
    this.#mayRead = new Promise(() => {});
  }

  async #read(): Promise<void> {
    try {
      for await (const response of this.#stream) {
        this.responses.push(response);
        this.#heard(response);
        for (const tell of this.#arrived.splice(0)) tell();
        await this.#mayRead;
      }
    } finally {
      for (const tell of this.#arrived.splice(0)) tell();
    }
  }

  /** From now on, until the session ends, acknowledges all received responses every `everyMs`. */
  keepAlive(everyMs: number): void {
    const timer = setInterval(() => this.send({ received: BigInt(this.responses.length) }), everyMs);
    timer.unref();
    void this.ended.catch(() => {}).finally(() => clearInterval(timer));
  }

  /** Sends commands in one request; returns their call numbers, which are not those given to `send`. */
  ask(...commands: readonly Command[]): bigint[] {
    const numbered = commands.map((command) => ({ call: ++this.#calls, command }));
    this.send({ commands: numbered });
    return numbered.map(({ call }) => call);
  }

  askOne(command: Command): bigint {
    return this.ask(command)[0] as bigint;
  }

  /** The lease that the call gets, at once or after a wait. */
  async leaseOf(call: bigint): Promise<Lease> {
    const result = await this.last(call);
    if (result.case === "acquire" && result.value.outcome.case === "lease") return result.value.outcome.value;
    if (result.case === "waitInQueue" && result.value.update.case === "granted")
      return result.value.update.value;
    throw new Error(`expected a lease, got ${JSON.stringify(result, (_, value) => String(value))}`);
  }

  /** The place that the call gets first. */
  ticketOf(call: bigint): Promise<Ticket> {
    return this.until(() => {
      const [first] = this.resultsOf(call);
      return first?.case === "waitInQueue" && first.value.update.case === "position"
        ? first.value.update.value
        : undefined;
    });
  }

  /** The first leases that are reported as lost, or as confirmed. */
  firstOf<Part extends "lost" | "confirmed">(part: Part): Promise<SessionResponse[Part]> {
    return this.until((all) => all.map((response) => response[part]).find(({ length }) => length > 0));
  }

  /** The error that the session ends with. */
  async failure(): Promise<RowlockError> {
    return await this.ended.then(
      () => Promise.reject(new Error("the session ended in good order")),
      (error: RowlockError) => error,
    );
  }

  /** Resolves with what `find` finds in the responses, as soon as it is there. */
  async until<Found>(find: (responses: readonly SessionResponse[]) => Found | undefined): Promise<Found> {
    let hangs: NodeJS.Timeout | undefined;
    const hung = new Promise<never>((_, reject) => {
      hangs = setTimeout(
        () => reject(new Error("The session does not send what this test waits for.")),
        HANGS_MS,
      );
    });
    try {
      for (;;) {
        const found = find(this.responses);
        if (found !== undefined) return found;
        const arrived = new Promise<void>((resolve) => this.#arrived.push(resolve));
        await Promise.race([arrived, this.#failed(), hung]);
      }
    } finally {
      clearTimeout(hangs);
    }
  }

  /** The results of a call so far. */
  resultsOf(call: bigint): SessionResult["result"][] {
    return this.responses.flatMap(({ results }) =>
      results.filter((result) => result.call === call).map(({ result }) => result),
    );
  }

  /** The first result of a call that is not a position. */
  last(call: bigint): Promise<SessionResult["result"]> {
    return this.until(() =>
      this.resultsOf(call).find(
        (result) => result.case !== "waitInQueue" || result.value.update.case !== "position",
      ),
    );
  }

  cancel(): void {
    this.#stream.cancel();
  }

  async #failed(): Promise<never> {
    await this.ended;
    throw new Error("the session was closed in good order");
  }
}

/** A session that is cancelled when the test that opens it is over. */
export function sessionOfTest(client: TestCalls, first?: RequestInit): BareSession {
  const session = new BareSession(client, first);
  onTestFinished(() => session.cancel());
  return session;
}

export class SessionClient extends TestCalls {
  #session: BareSession | undefined;
  #calls = 0n;
  readonly #listeners = new Map<bigint, (result: SessionResult["result"] | RowlockError) => void>();

  override call<N extends UnaryMethod>(
    name: N,
    request: RequestOf<N>,
    { timeout, signal }: BareCallOptions = {},
  ): Promise<ResponseOf<N>> {
    const answer = Promise.withResolvers<ResponseOf<N>>();
    const number = this.#begin({ case: name, value: request } as Command, timeout, (result) => {
      if (result instanceof RowlockError) answer.reject(result);
      else if (result.case === "error" || result.case === "rejected")
        answer.reject(RowlockError.ofStatus(result.value));
      else if (result.case === name) answer.resolve(result.value as ResponseOf<N>);
      else answer.reject(new Error(`${name} was answered by ${result.case}`));
      this.#listeners.delete(number);
    });
    signal?.addEventListener("abort", () => this.#cancel(number));
    return answer.promise;
  }

  override wait(request: RequestOf<"waitInQueue">, { timeout }: BareCallOptions = {}): QueueStream {
    const value =
      request instanceof Uint8Array ? fromBinary(LockService.method.waitInQueue.input, request) : request;
    const updates = new Updates(
      () => this.#cancel(number),
      (result) => (result.case === "waitInQueue" ? result.value : undefined),
      ({ update }) => update.case !== "position",
    );
    const number = this.#begin({ case: "waitInQueue", value } as Command, timeout, (result) => {
      if (updates.take(result)) this.#listeners.delete(number);
    });
    return new QueueStream(updates);
  }

  override watch(prefix: string): WatchedLocks {
    const updates = new Updates(
      () => this.#cancel(number),
      (result) => (result.case === "watchLocks" ? result.value : undefined),
      () => false,
    );
    const number = this.#begin({ case: "watchLocks", value: { prefix } } as Command, undefined, (result) => {
      if (updates.take(result)) this.#listeners.delete(number);
    });
    return new WatchedLocks(updates, updates.cancel);
  }

  override close(): void {
    this.#session?.cancel();
    super.close();
  }

  #begin(
    command: Command,
    timeoutMs: number | undefined,
    listener: (result: SessionResult["result"] | RowlockError) => void,
  ): bigint {
    this.#session ??= this.#open();
    const call = ++this.#calls;
    this.#listeners.set(call, listener);
    const timeout =
      timeoutMs === undefined
        ? {}
        : {
            timeout: {
              seconds: BigInt(Math.trunc(timeoutMs / 1_000)),
              nanos: Math.round((timeoutMs % 1_000) * 1e6),
            },
          };
    this.#session.send({ commands: [{ call, command, ...timeout }] });
    return call;
  }

  #cancel(call: bigint): void {
    this.#session?.send({ commands: [{ command: { case: "cancel", value: call } }] });
  }

  #open(): BareSession {
    const session = new BareSession(this, { open: {} }, ({ results }) => {
      for (const { call, result } of results) this.#listeners.get(call)?.(result);
    });
    const interval = session.until(([first]) => first?.opened?.heartbeatInterval);
    interval.then(
      (duration) => session.keepAlive(msOf(duration)),
      () => {},
    );
    session.ended.catch((error: RowlockError) => {
      for (const listener of [...this.#listeners.values()]) listener(error);
      this.#session = undefined;
    });
    return session;
  }
}

/** The updates of one call, kept until they are read. */
class Updates<Message> {
  readonly cancel: () => void;
  readonly #read: (result: SessionResult["result"]) => Message | undefined;
  readonly #isLast: (message: Message) => boolean;
  readonly #kept: (Message | RowlockError | null)[] = [];
  #arrived = Promise.withResolvers<void>();

  constructor(
    cancel: () => void,
    read: (result: SessionResult["result"]) => Message | undefined,
    isLast: (message: Message) => boolean,
  ) {
    this.cancel = cancel;
    this.#read = read;
    this.#isLast = isLast;
  }

  /** Returns whether it was the last one. */
  take(result: SessionResult["result"] | RowlockError): boolean {
    const isOver = this.#take(result);
    this.#arrived.resolve();
    return isOver;
  }

  #take(result: SessionResult["result"] | RowlockError): boolean {
    if (result instanceof RowlockError) this.#kept.push(result);
    else if (result.case === "error" || result.case === "rejected")
      this.#kept.push(RowlockError.ofStatus(result.value));
    else {
      const message = this.#read(result);
      if (message) this.#kept.push(message);
      if (message && !this.#isLast(message)) return false;
      this.#kept.push(null);
    }
    return true;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Message> {
    for (;;) {
      while (this.#kept.length === 0) {
        this.#arrived = Promise.withResolvers<void>();
        await this.#arrived.promise;
      }
      const next = this.#kept.shift();
      if (next instanceof RowlockError) throw next;
      if (!next) return;
      yield next;
    }
  }
}
