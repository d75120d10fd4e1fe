// A session that keeps nothing that was told: for very many calls. What is asked for in one turn goes as one request.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ClientDuplexStream } from "@grpc/grpc-js";
import type {
  SessionCommandSchema,
  SessionResponse,
  SessionResult,
} from "#proto/rowlock/v1/lock_service_pb.js";
import {
  LockService,
  SessionRequestSchema,
  SessionResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import type { LockClient } from "../support/lock-client.ts";

export type Command = NonNullable<MessageInitShape<typeof SessionCommandSchema>["command"]>;
type Result = SessionResult["result"];

const HEARTBEAT_MS = 1_000;
const BYTES_MAX = 60_000;

export class LeanSession {
  readonly #stream: ClientDuplexStream<Buffer, SessionResponse>;
  readonly #waiting = new Map<bigint, (result: Result) => void>();
  readonly #heartbeats: NodeJS.Timeout;
  #unsent: MessageInitShape<typeof SessionCommandSchema>[] = [];
  #calls = 0n;
  #received = 0n;

  constructor(client: LockClient) {
    this.#stream = client.grpc.makeBidiStreamRequest(
      `/${LockService.typeName}/Session`,
      (bytes: Buffer) => bytes,
      (bytes) => fromBinary(SessionResponseSchema, bytes),
    );
    this.#stream.on("data", ({ results }: SessionResponse) => {
      this.#received += 1n;
      for (const { call, result } of results) {
        this.#waiting.get(call)?.(result);
        this.#waiting.delete(call);
      }
    });
    this.#stream.on("error", (error: Error) => {
      if (!/cancelled/i.test(error.message)) throw error;
    });
    this.#write({ open: {} });
    this.#heartbeats = setInterval(() => this.#write({}), HEARTBEAT_MS);
  }

  /** `first` is the first result; that of a wait is its place. */
  ask(command: Command): { readonly call: bigint; readonly first: Promise<Result> } {
    const call = ++this.#calls;
    const first = new Promise<Result>((resolve) => this.#waiting.set(call, resolve));
    this.#later({ call, command });
    return { call, first };
  }

  cancel(call: bigint): void {
    this.#later({ command: { case: "cancel", value: call } });
  }

  close(): void {
    clearInterval(this.#heartbeats);
    this.#stream.cancel();
  }

  #later(command: MessageInitShape<typeof SessionCommandSchema>): void {
    if (this.#unsent.length === 0) setImmediate(() => this.#flush());
    this.#unsent.push(command);
  }

  #flush(): void {
    for (const commands of this.#parts(this.#unsent.splice(0))) this.#write({ commands });
  }

  /** As many in each as fit into a message. */
  *#parts(commands: readonly MessageInitShape<typeof SessionCommandSchema>[]) {
    const bytes = toBinary(
      SessionRequestSchema,
      create(SessionRequestSchema, { commands: [...commands] }),
    ).length;
    const perPart = Math.max(1, Math.floor(commands.length / Math.ceil(bytes / BYTES_MAX)));
    for (let at = 0; at < commands.length; at += perPart) yield commands.slice(at, at + perPart);
  }

  #write(request: MessageInitShape<typeof SessionRequestSchema>): void {
    const whole = create(SessionRequestSchema, { ...request, received: this.#received } as typeof request);
    this.#stream.write(Buffer.from(toBinary(SessionRequestSchema, whole)));
  }
}
