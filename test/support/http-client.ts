// Calls over HTTP, in the JSON of the Connect protocol, to a door that is opened for them, with the same promises and the same errors.

import { create, fromBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { type CallOptions, type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { StatusSchema } from "#proto/google/rpc/status_pb.js";
import {
  LockService,
  type WaitInQueueResponse,
  type WatchLocksResponse,
} from "#proto/rowlock/v1/lock_service_pb.js";
import {
  type BareCallOptions,
  type RequestOf,
  type ResponseOf,
  RowlockError,
  type UnaryMethod,
} from "../../clients/typescript/src/bare/index.ts";
import type { GrpcServer } from "../../server/grpc/server.ts";
import { type DoorStage, startDoor } from "../http/door-stage.ts";
import { QueueStream } from "./queue-stream.ts";
import { TestCalls } from "./test-calls.ts";
import { WatchedLocks } from "./watched-locks.ts";

type Method = (request: unknown, options: CallOptions) => unknown;

export class HttpClient extends TestCalls {
  readonly #grpc: GrpcServer;
  #door: Promise<DoorStage> | undefined;
  #client: Promise<Client<typeof LockService>> | undefined;

  /** `address`: for what HTTP has not. */
  constructor(address: string, grpc: GrpcServer) {
    super(address);
    this.#grpc = grpc;
  }

  override async call<N extends UnaryMethod>(
    name: N,
    request: RequestOf<N>,
    options: BareCallOptions = {},
  ): Promise<ResponseOf<N>> {
    try {
      const method = (await this.#connected())[name as "acquire"] as Method;
      return (await method(request, optionsOf(options))) as ResponseOf<N>;
    } catch (error) {
      throw asRowlockError(error);
    }
  }

  override wait(request: RequestOf<"waitInQueue">, options: BareCallOptions = {}): QueueStream {
    return new QueueStream(this.#streamed<WaitInQueueResponse>("waitInQueue", request, options));
  }

  override watch(prefix: string): WatchedLocks {
    const stream = this.#streamed<WatchLocksResponse>("watchLocks", { prefix }, {});
    return new WatchedLocks(stream, () => stream.cancel());
  }

  override close(): void {
    void this.#door?.then((door) => door.stop());
    super.close();
  }

  #connected(): Promise<Client<typeof LockService>> {
    this.#door ??= startDoor(this.#grpc);
    this.#client ??= this.#door.then(({ url }) => {
      const baseUrl = new URL(url).origin;
      return createClient(
        LockService,
        createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
      );
    });
    return this.#client;
  }

  #streamed<Message>(name: "waitInQueue" | "watchLocks", request: unknown, options: BareCallOptions) {
    const controller = new AbortController();
    const { signal } = options;
    signal?.addEventListener("abort", () => controller.abort());
    const begun = this.#connected().then((client) => {
      const method = client[name] as Method;
      const { input } = LockService.method[name];
      const message = request instanceof Uint8Array ? fromBinary(input, request) : request;
      return method(message, { ...optionsOf(options), signal: controller.signal }) as AsyncIterable<Message>;
    });
    return {
      cancel: () => controller.abort(),
      async *[Symbol.asyncIterator](): AsyncGenerator<Message> {
        try {
          yield* await begun;
        } catch (error) {
          throw asRowlockError(error);
        } finally {
          controller.abort();
        }
      },
    };
  }
}

function optionsOf({ timeout, signal, headers }: BareCallOptions): CallOptions {
  return {
    ...(timeout !== undefined && { timeoutMs: timeout }),
    ...(signal && { signal }),
    ...(headers && { headers: headers as Record<string, string> }),
  };
}

function asRowlockError(error: unknown): RowlockError {
  const { code, rawMessage, details } = ConnectError.from(error, Code.Internal);
  const packed = details.map((detail) =>
    "type" in detail
      ? create(AnySchema, { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value })
      : create(AnySchema),
  );
  return RowlockError.ofStatus(create(StatusSchema, { code, message: rawMessage, details: packed }));
}
