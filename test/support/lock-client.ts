// A client of LockService for tests, made from the same descriptors as the server: promises for calls, a queue of updates
// for streams, and errors with their details decoded.

import type { DescMessage, DescMethod, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import type { CallOptions, ClientDuplexStream, ServiceError } from "@grpc/grpc-js";
import { type ChannelCredentials, Client, credentials, status } from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "#proto/google/rpc/error_details_pb.js";
import { StatusSchema } from "#proto/google/rpc/status_pb.js";
import type { Lease, Refusal, Ticket } from "#proto/rowlock/v1/lock_pb.js";
import type {
  AcquireResponse,
  SessionResponse,
  WaitInQueueResponse,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { msOf } from "../../clients/typescript/src/times.ts";

type Methods = Omit<typeof LockService.method, "session">;
export type Name = keyof Methods;
export type Request<N extends Name> = MessageInitShape<Methods[N]["input"]>;
export type Response<N extends Name> = MessageShape<Methods[N]["output"]>;

/** A failed call as a client library would show it. */
export class CallFailure extends Error {
  /** By name: `NOT_FOUND`. */
  readonly code: string;
  /** Of the ErrorInfo; undefined if there is none. */
  readonly reason: string | undefined;
  readonly domain: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Field to description. */
  readonly violations: Readonly<Record<string, string>>;
  readonly retryDelayMs: number | undefined;

  /** `details`: of google.rpc.Status. */
  constructor(code: number, message: string, details: readonly Any[]) {
    super(message);
    this.name = "CallFailure";
    this.code = status[code] as string;
    const find = <Schema extends DescMessage>(schema: Schema): MessageShape<Schema> | undefined => {
      for (const any of details) {
        const message = anyUnpack(any, schema);
        if (message) return message;
      }
      return undefined;
    };
    const info = find(ErrorInfoSchema);
    this.reason = info?.reason;
    this.domain = info?.domain;
    this.metadata = info?.metadata ?? {};
    const fields = find(BadRequestSchema)?.fieldViolations ?? [];
    this.violations = Object.fromEntries(fields.map(({ field, description }) => [field, description]));
    const delay = find(RetryInfoSchema)?.retryDelay;
    this.retryDelayMs = delay && msOf(delay);
  }

  /** Of a call of its own. */
  static of({ code, details, metadata }: ServiceError): CallFailure {
    const [bytes] = metadata.get("grpc-status-details-bin");
    return new CallFailure(code, details, bytes ? fromBinary(StatusSchema, bytes as Buffer).details : []);
  }
}

export interface CallSettings {
  readonly deadlineMs?: number;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
}

export class LockClient {
  readonly grpc: Client;

  constructor(address: string, channel: ChannelCredentials = credentials.createInsecure()) {
    // Clients of one address share a connection unless they are told not to, and tests cut connections.
    this.grpc = new Client(address, channel, { "grpc.use_local_subchannel_pool": 1 });
  }

  call<N extends Exclude<Name, "waitInQueue">>(
    name: N,
    request: Request<N>,
    settings: CallSettings = {},
  ): Promise<Response<N>> {
    return this.callBytes(name, encode(LockService.method[name], request), settings);
  }

  /** Sends whatever bytes as the request. */
  callBytes<N extends Exclude<Name, "waitInQueue">>(
    name: N,
    request: Buffer,
    { deadlineMs, signal }: CallSettings = {},
  ): Promise<Response<N>> {
    const method: DescMethod = LockService.method[name];
    const answer = Promise.withResolvers<Response<N>>();
    const call = this.grpc.makeUnaryRequest(
      pathOf(method),
      asItIs,
      (bytes) => fromBinary(method.output, bytes) as Response<N>,
      request,
      optionsOf(deadlineMs),
      (error: ServiceError | null, response) => {
        if (error || !response) answer.reject(error ? CallFailure.of(error) : error);
        else answer.resolve(response);
      },
    );
    signal?.addEventListener("abort", () => call.cancel());
    return answer.promise;
  }

  /** An Acquire that must be granted at once. */
  async lease(request: Request<"acquire">): Promise<Lease> {
    return leaseIn(await this.call("acquire", request));
  }

  /** An Acquire that must be given a ticket. */
  async ticket(request: Request<"acquire">): Promise<Ticket> {
    const { outcome } = await this.call("acquire", { whenBusy: 2, ...request } as Request<"acquire">);
    if (outcome.case !== "ticket") throw new Error(`expected a ticket, got ${outcome.case}`);
    return outcome.value;
  }

  /** An Acquire that must be refused. */
  async refusal(request: Request<"acquire">): Promise<Refusal> {
    const { outcome } = await this.call("acquire", request);
    if (outcome.case !== "refusal") throw new Error(`expected a refusal, got ${outcome.case}`);
    return outcome.value;
  }

  wait(request: Request<"waitInQueue">, settings: Pick<CallSettings, "deadlineMs"> = {}): QueueStream {
    return this.waitBytes(encode(LockService.method.waitInQueue, request), settings);
  }

  waitBytes(request: Buffer, { deadlineMs }: Pick<CallSettings, "deadlineMs"> = {}): QueueStream {
    const method = LockService.method.waitInQueue;
    return new QueueStream(
      this.grpc.makeServerStreamRequest(
        pathOf(method),
        asItIs,
        (bytes) => fromBinary(method.output, bytes),
        request,
        optionsOf(deadlineMs),
      ),
    );
  }

  /** The stream of a session, on which nothing was said yet; what is said are whatever bytes. */
  session(): ClientDuplexStream<Buffer, SessionResponse> {
    const method = LockService.method.session;
    return this.grpc.makeBidiStreamRequest(pathOf(method), asItIs, (bytes) =>
      fromBinary(method.output, bytes),
    );
  }

  close(): void {
    this.grpc.close();
  }
}

type Update = WaitInQueueResponse["update"];

/** What brings the updates: a stream of its own, or a call of a session. */
interface Updates extends AsyncIterable<WaitInQueueResponse> {
  cancel(): void;
}

/** The updates of one WaitInQueue, one after the other. */
export class QueueStream {
  readonly #stream: Updates;
  readonly #updates: AsyncIterator<WaitInQueueResponse>;

  constructor(stream: Updates) {
    this.#stream = stream;
    this.#updates = stream[Symbol.asyncIterator]();
  }

  /** The next update, or undefined when the stream was closed in good order. Rejects with a CallFailure. */
  async next(): Promise<Update | undefined> {
    try {
      const { value, done } = await this.#updates.next();
      return done ? undefined : (value as WaitInQueueResponse).update;
    } catch (error) {
      throw error instanceof CallFailure ? error : CallFailure.of(error as ServiceError);
    }
  }

  async position(): Promise<Ticket> {
    return (await this.#expect("position")) as Ticket;
  }

  /** The lease, after whatever positions come before it. */
  async granted(): Promise<Lease> {
    return (await this.#last("granted")) as Lease;
  }

  /** The refusal, after whatever positions come before it. */
  async ended(): Promise<Refusal> {
    return (await this.#last("ended")) as Refusal;
  }

  /** The failure that the stream ends with, after whatever updates come before it. */
  async failure(): Promise<CallFailure> {
    try {
      while (await this.next());
    } catch (error) {
      return error as CallFailure;
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

export function leaseIn({ outcome }: AcquireResponse): Lease {
  if (outcome.case !== "lease") throw new Error(`expected a lease, got ${outcome.case}`);
  return outcome.value;
}

function optionsOf(deadlineMs: number | undefined): CallOptions {
  return deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
}

/** A request of the method, as bytes. */
export function encode(method: DescMethod, request: unknown): Buffer {
  return Buffer.from(toBinary(method.input, create(method.input, request as MessageInitShape<DescMessage>)));
}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}
