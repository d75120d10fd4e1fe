// A session that keeps nothing that was told: for very many calls. What is asked for in one turn goes as one request.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ClientDuplexStream } from "@grpc/grpc-js";
import type {
  SessionCommandSchema,
  SessionResponse,
  SessionResult,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { partsOf } from "../../server/core/parts.ts";
import { encode, type LockClient } from "../support/lock-client.ts";
import type { Command } from "../support/session-client.ts";

type CommandInit = MessageInitShape<typeof SessionCommandSchema>;
type Result = SessionResult["result"];

const SESSION = LockService.method.session;
const HEARTBEAT_MS = 1_000;
const BYTES_MAX = 60_000;

export class LeanSession {
  readonly #stream: ClientDuplexStream<Buffer, SessionResponse>;
  readonly #waiting = new Map<bigint, (result: Result) => void>();
  readonly #heartbeats: NodeJS.Timeout;
  #unsent: CommandInit[] = [];
  #calls = 0n;
  #received = 0n;

  constructor(client: LockClient) {
    this.#stream = client.session();
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

  #later(command: CommandInit): void {
    if (this.#unsent.length === 0) setImmediate(() => this.#flush());
    this.#unsent.push(command);
  }

  /** As many in each request as fit into it. */
  #flush(): void {
    const commands = this.#unsent.splice(0);
    const bytes = encode(SESSION, { commands }).length;
    const perRequest = Math.max(1, Math.floor(commands.length / Math.ceil(bytes / BYTES_MAX)));
    for (const part of partsOf(commands, perRequest)) this.#write({ commands: part });
  }

  #write(request: object): void {
    this.#stream.write(encode(SESSION, { ...request, received: this.#received }));
  }
}
