// A LockClient whose calls all go over one session: the same promises, the same errors. And the bare session below it, for
// tests of what only a session has.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { fromBinary } from "@bufbuild/protobuf";
import type { ClientDuplexStream, ServiceError } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import type { Status } from "#proto/google/rpc/status_pb.js";
import type {
  SessionCommandSchema,
  SessionRequestSchema,
  SessionResponse,
  SessionResult,
  WaitInQueueRequestSchema,
  WaitInQueueResponse,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { msOf } from "../../clients/typescript/src/times.ts";
import type { CallSettings, Name, Request, Response } from "./lock-client.ts";
import { CallFailure, encode, LockClient, QueueStream } from "./lock-client.ts";

export type Command = NonNullable<MessageInitShape<typeof SessionCommandSchema>["command"]>;
type RequestInit = MessageInitShape<typeof SessionRequestSchema>;

export const acquire = (value: object) => ({ case: "acquire", value }) as Command;
export const wait = (value: object) =>
  ({ case: "waitInQueue", value: { target: { case: "acquire", value } } }) as Command;
export const comeBack = (ticketId: string) =>
  ({ case: "waitInQueue", value: { target: { case: "ticketId", value: ticketId } } }) as Command;
export const renew = (leaseId: string) => ({ case: "renew", value: { leaseId } }) as Command;
export const release = (leaseId: string) => ({ case: "release", value: { leaseId } }) as Command;
export const cancel = (call: bigint) => ({ case: "cancel", value: call }) as Command;

/** One session, message by message. Acknowledges only what it is told to. */
export class BareSession {
  readonly responses: SessionResponse[] = [];
  readonly stream: ClientDuplexStream<Buffer, SessionResponse>;
  /** Rejects with a CallFailure, or resolves, when the session has ended. */
  readonly ended: Promise<void>;
  #arrived: (() => void)[] = [];
  #calls = 100_000n;

  /** `first`: the first request; unless told otherwise, one that opens the session and asks for nothing. */
  constructor(client: LockClient, first: RequestInit = { open: {} }) {
    this.stream = client.session();
    const ended = Promise.withResolvers<void>();
    this.ended = ended.promise;
    ended.promise.catch(() => {});
    this.stream.on("data", (response: SessionResponse) => {
      this.responses.push(response);
      for (const tell of this.#arrived.splice(0)) tell();
    });
    this.stream.on("end", () => ended.resolve());
    this.stream.on("error", (error: ServiceError) => {
      ended.reject(CallFailure.of(error));
      for (const tell of this.#arrived.splice(0)) tell();
    });
    this.send(first);
  }

  send(request: RequestInit): void {
    this.stream.write(encode(LockService.method.session, request));
  }

  /** From now on it is heard so often, until it has ended, and acknowledges all that it has received. */
  keepAlive(everyMs: number): void {
    const timer = setInterval(() => this.send({ received: BigInt(this.responses.length) }), everyMs);
    timer.unref();
    void this.ended.catch(() => {}).finally(() => clearInterval(timer));
  }

  /** Sends commands in one request; answers their call numbers. Others than those that `send` was given. */
  ask(...commands: readonly Command[]): bigint[] {
    const numbered = commands.map((command) => ({ call: ++this.#calls, command }));
    this.send({ commands: numbered });
    return numbered.map(({ call }) => call);
  }

  /** Resolves with what `find` finds in the responses, as soon as it is there. */
  async until<Found>(find: (responses: readonly SessionResponse[]) => Found | undefined): Promise<Found> {
    for (;;) {
      const found = find(this.responses);
      if (found !== undefined) return found;
      await Promise.race([new Promise<void>((resolve) => this.#arrived.push(resolve)), this.#failed()]);
    }
  }

  /** The results of a call that have come so far. */
  resultsOf(call: bigint): SessionResult["result"][] {
    return this.responses.flatMap(({ results }) =>
      results.filter((result) => result.call === call).map(({ result }) => result),
    );
  }

  /** The first result of a call that is no position. */
  last(call: bigint): Promise<SessionResult["result"]> {
    return this.until(() =>
      this.resultsOf(call).find(
        (result) => result.case !== "waitInQueue" || result.value.update.case !== "position",
      ),
    );
  }

  cancel(): void {
    this.stream.cancel();
  }

  async #failed(): Promise<never> {
    await this.ended;
    throw new Error("the session was closed in good order");
  }
}

export class SessionClient extends LockClient {
  #session: BareSession | undefined;
  #calls = 0n;
  #seen = 0;
  readonly #listeners = new Map<bigint, (result: SessionResult["result"] | CallFailure) => void>();

  override call<N extends Exclude<Name, "waitInQueue">>(
    name: N,
    request: Request<N>,
    { deadlineMs, signal }: CallSettings = {},
  ): Promise<Response<N>> {
    const answer = Promise.withResolvers<Response<N>>();
    const number = this.#begin({ case: name, value: request } as Command, deadlineMs, (result) => {
      if (result instanceof CallFailure) answer.reject(result);
      else if (result.case === "error" || result.case === "rejected") answer.reject(failure(result.value));
      else if (result.case === name) answer.resolve(result.value as Response<N>);
      else answer.reject(new Error(`${name} was answered by ${result.case}`));
      this.#listeners.delete(number);
    });
    signal?.addEventListener("abort", () => this.#cancel(number));
    return answer.promise;
  }

  override wait(
    request: Request<"waitInQueue">,
    { deadlineMs }: Pick<CallSettings, "deadlineMs"> = {},
  ): QueueStream {
    const value = request as MessageInitShape<typeof WaitInQueueRequestSchema>;
    const updates = new Updates(() => this.#cancel(number));
    const number = this.#begin({ case: "waitInQueue", value } as Command, deadlineMs, (result) => {
      if (updates.take(result)) this.#listeners.delete(number);
    });
    return new QueueStream(updates);
  }

  override waitBytes(request: Buffer, settings: Pick<CallSettings, "deadlineMs"> = {}): QueueStream {
    return this.wait(fromBinary(LockService.method.waitInQueue.input, request), settings);
  }

  override close(): void {
    this.#session?.cancel();
    super.close();
  }

  #begin(
    command: Command,
    deadlineMs: number | undefined,
    listener: (result: SessionResult["result"] | CallFailure) => void,
  ): bigint {
    this.#session ??= this.#open();
    const call = ++this.#calls;
    this.#listeners.set(call, listener);
    const timeout =
      deadlineMs === undefined ? {} : { timeout: { seconds: 0n, nanos: Math.round(deadlineMs * 1e6) } };
    this.#session.send({ commands: [{ call, command, ...timeout }] });
    return call;
  }

  #cancel(call: bigint): void {
    this.#session?.send({ commands: [{ command: { case: "cancel", value: call } }] });
  }

  #open(): BareSession {
    const session = new BareSession(this);
    session.stream.on("data", () => {
      for (const response of session.responses.slice(this.#seen))
        for (const { call, result } of response.results) this.#listeners.get(call)?.(result);
      this.#seen = session.responses.length;
    });
    const interval = session.until(([first]) => first?.opened?.heartbeatInterval);
    interval.then(
      (duration) => session.keepAlive(msOf(duration)),
      () => {},
    );
    session.ended.catch((error: CallFailure) => {
      for (const listener of [...this.#listeners.values()]) listener(error);
      this.#session = undefined;
    });
    return session;
  }
}

/** The updates of one call, kept until they are asked for. */
class Updates {
  readonly cancel: () => void;
  readonly #kept: (WaitInQueueResponse | CallFailure | null)[] = [];
  #arrived = Promise.withResolvers<void>();

  constructor(cancel: () => void) {
    this.cancel = cancel;
  }

  /** Whether it was the last one. */
  take(result: SessionResult["result"] | CallFailure): boolean {
    if (result instanceof CallFailure) this.#kept.push(result);
    else if (result.case === "error" || result.case === "rejected") this.#kept.push(failure(result.value));
    else if (result.case === "waitInQueue") this.#kept.push(result.value);
    const isPosition =
      !(result instanceof CallFailure) &&
      result.case === "waitInQueue" &&
      result.value.update.case === "position";
    if (!isPosition && this.#kept.at(-1) instanceof CallFailure === false) this.#kept.push(null);
    this.#arrived.resolve();
    return !isPosition;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<WaitInQueueResponse> {
    for (;;) {
      while (this.#kept.length === 0) {
        this.#arrived = Promise.withResolvers<void>();
        await this.#arrived.promise;
      }
      const next = this.#kept.shift();
      if (next instanceof CallFailure) throw next;
      if (!next) return;
      yield next;
    }
  }
}

/** A Status of a session, as the failure of a call. */
function failure({ code, message, details }: Status): CallFailure {
  return new CallFailure(code in status ? code : status.UNKNOWN, message, details);
}
