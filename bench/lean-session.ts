// A session that keeps no results, for very many calls. Commands of one turn go as one request.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { SessionCommandSchema, SessionResult } from "#proto/rowlock/v1/lock_service_pb.js";
import type { RowlockError, SessionStream } from "../clients/typescript/src/bare/index.ts";
import { encode } from "../clients/typescript/src/bare/methods.ts";
import { partsOf } from "../server/core/bounds.ts";
import type { Command } from "../test/support/session-client.ts";
import type { TestCalls } from "../test/support/test-calls.ts";

type CommandInit = MessageInitShape<typeof SessionCommandSchema>;
type Result = SessionResult["result"];

const HEARTBEAT_MS = 1_000;
const BYTES_MAX = 60_000;

export class LeanSession {
  readonly #stream: SessionStream;
  readonly #waiting = new Map<bigint, (result: Result) => void>();
  readonly #heartbeats: NodeJS.Timeout;
  #unsent: CommandInit[] = [];
  #calls = 0n;
  #received = 0n;

  constructor(client: TestCalls) {
    this.#stream = client.session();
    void this.#read();
    this.#write({ open: {} });
    this.#heartbeats = setInterval(() => this.#write({}), HEARTBEAT_MS);
  }

  /** `first` resolves with the first result, which for a wait is its place. */
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

  async #read(): Promise<void> {
    try {
      for await (const { results } of this.#stream) {
        this.#received += 1n;
        for (const { call, result } of results) {
          this.#waiting.get(call)?.(result);
          this.#waiting.delete(call);
        }
      }
    } catch (error) {
      if ((error as RowlockError).code !== "CANCELLED") throw error;
    }
  }

  #later(command: CommandInit): void {
    if (this.#unsent.length === 0) setImmediate(() => this.#flush());
    this.#unsent.push(command);
  }

  /** Puts as many commands into each request as fit. */
  #flush(): void {
    const commands = this.#unsent.splice(0);
    const bytes = encode("session", { commands }).length;
    const perRequest = Math.max(1, Math.floor(commands.length / Math.ceil(bytes / BYTES_MAX)));
    for (const part of partsOf(commands, perRequest)) this.#write({ commands: part });
  }

  #write(request: object): void {
    this.#stream.send({ ...request, received: this.#received });
  }
}
