// All that is asked for and not yet answered. A call outlives sessions: what was not answered in one is asked for again in the
// next, where that is safe; it is retried when it could not be done at the moment, and given up when no answer comes in time.

import { create, toBinary } from "@bufbuild/protobuf";
import type { SessionCommand, SessionResult } from "#proto/rowlock/v1/lock_service_pb.js";
import { SessionCommandSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { backoffMs } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import { RowlockError } from "../rowlock-error.ts";
import type { SessionStream } from "./session-stream.ts";

export type Command = Exclude<SessionCommand["command"], { case: undefined } | { case: "cancel" }>;
export type Result = Exclude<SessionResult["result"], { case: undefined | "error" | "rejected" }>;

/** Each kind is asked for in order of arrival, and has bounds of its own: what keeps leases, what waits, and the rest. */
const KINDS = ["urgent", "other", "wait"] as const;

export interface Ask {
  readonly kind: (typeof KINDS)[number];
  /** What to ask for, each time that it is asked for. */
  readonly command: () => Command;
  /** always; not once it may have taken effect; or not in another session. */
  readonly repeat: "always" | "unsent" | "in this session";
  /** Without an answer for so long it fails. Infinity: it is not given up. */
  readonly giveUpAfterMs: () => number;
  /** A result, which was so at `basisMs` or later. Whether it was the last one. */
  readonly answered: (result: Result, basisMs: number) => boolean;
  readonly failed: (error: RowlockError) => void;
}

export class Call {
  readonly ask: Ask;
  /** Calls are asked for again in the order in which they began. */
  readonly order: number;
  number = 0n;
  session: OpenSession | undefined;
  /** When it was asked for; Infinity once it was answered. */
  askedMs = 0;
  /** Whether a server may know of it. */
  wasSent = false;
  isOver = false;
  failures = 0;
  /** What it was answered last, where that was no result. */
  lastError: RowlockError | undefined;
  retryTimer: NodeJS.Timeout | undefined;
  giveUpTimer: NodeJS.Timeout | undefined;

  constructor(ask: Ask, order: number) {
    this.ask = ask;
    this.order = order;
  }
}

/** How much of a session's bounds is used. */
interface OpenSession {
  readonly stream: SessionStream;
  commands: number;
  waits: number;
}

export interface CallsOptions {
  /** Something is asked for: there should be a session. */
  readonly need: () => void;
  /** Why there was no session lately. */
  readonly lastError: () => RowlockError | undefined;
  readonly addresses: readonly string[];
  readonly clock: Clock;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #open = new Set<Call>();
  readonly #byNumber = new Map<bigint, Call>();
  readonly #queues: Readonly<Record<Ask["kind"], Call[]>> = { urgent: [], other: [], wait: [] };
  #current: OpenSession | undefined;
  #begun = 0;
  #numbers = 0n;
  #onIdle: (() => void)[] = [];

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  begin(ask: Ask): Call {
    this.#begun += 1;
    const call = new Call(ask, this.#begun);
    this.#open.add(call);
    this.#queues[ask.kind].push(call);
    this.#unanswered(call);
    this.#options.need();
    this.#pump();
    return call;
  }

  /** From now on, its answers are nobody's business. The server is told; what it has done by then stays done. */
  cancel(call: Call): void {
    if (call.isOver) return;
    if (call.session && this.#byNumber.has(call.number))
      call.session.stream.send(encoded({ case: "cancel", value: call.number }, 0n));
    this.#close(call);
  }

  /** An answer is due: the call fails unless something comes within its time. */
  #unanswered(call: Call): void {
    const withinMs = call.ask.giveUpAfterMs();
    if (call.giveUpTimer || withinMs === Number.POSITIVE_INFINITY) return;
    call.giveUpTimer = setTimeout(() => this.#fail(call, this.#noAnswer(call, withinMs)), withinMs);
  }

  /** Resolves when nothing is open any more. */
  async idle(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  failAll(error: RowlockError): void {
    for (const call of [...this.#open]) this.#fail(call, error);
  }

  /** A session begins: from now on, calls go there. */
  begun(stream: SessionStream): void {
    this.#current = { stream, commands: 0, waits: 0 };
    this.#pump();
  }

  /** Nothing goes there any more. */
  leaving(stream: SessionStream): void {
    if (this.#current?.stream === stream) this.#current = undefined;
  }

  /** Its server has answered, so that more may be asked of it. */
  opened(): void {
    this.#pump();
  }

  results(results: readonly SessionResult[], basisMs: number): void {
    for (const { call: number, result } of results) {
      const call = this.#byNumber.get(number);
      if (!call || result.case === undefined) continue;
      if (result.case === "error" || result.case === "rejected") {
        this.#failed(call, RowlockError.ofStatus(result.value));
        continue;
      }
      clearTimeout(call.giveUpTimer);
      call.giveUpTimer = undefined;
      call.failures = 0;
      // The server may have heard more of this client between its decision and the response that tells it: what is decided
      // for a call counts from when it was asked for. Of a grant after a place only the response says when it was made.
      const atMs = Math.min(basisMs, call.askedMs);
      call.askedMs = Number.POSITIVE_INFINITY;
      if (call.ask.answered(result, atMs)) this.#close(call);
    }
    this.#pump();
  }

  /** What was asked for there is asked for again elsewhere, or fails. */
  ended(stream: SessionStream, error: RowlockError): void {
    this.leaving(stream);
    const lost = [...this.#byNumber.values()].filter((call) => call.session?.stream === stream);
    for (const call of lost) {
      this.#leave(call);
      if (call.ask.repeat === "always") this.#again(call);
      else this.#fail(call, call.ask.repeat === "unsent" ? inDoubt(error) : error);
    }
  }

  #failed(call: Call, error: RowlockError): void {
    const { repeat } = call.ask;
    // What a bound has refused was not done.
    const isSafe = repeat === "always" || (repeat === "unsent" && error.reason === "OVERLOADED");
    if (!error.isTransient || !isSafe) {
      this.#fail(call, error);
      return;
    }
    const isMoving = call.session !== this.#current;
    this.#leave(call);
    if (isMoving) {
      this.#again(call);
      return;
    }
    call.lastError = error;
    call.failures += 1;
    call.retryTimer = setTimeout(() => this.#again(call), backoffMs(call.failures, error.retryAfterMs));
  }

  #again(call: Call): void {
    if (call.isOver) return;
    const queue = this.#queues[call.ask.kind];
    const at = queue.findLastIndex(({ order }) => order < call.order);
    queue.splice(at + 1, 0, call);
    this.#unanswered(call);
    this.#options.need();
    this.#pump();
  }

  #pump(): void {
    if (!this.#current) return;
    for (const kind of KINDS) {
      const queue = this.#queues[kind];
      let sent = 0;
      for (const call of queue) {
        if (!call.isOver && !this.#sent(call, this.#current)) break;
        sent += 1;
      }
      if (sent > 0) queue.splice(0, sent);
    }
  }

  /** Whether it was sent, or has failed by that. */
  #sent(call: Call, session: OpenSession): boolean {
    const { stream } = session;
    const { ask } = call;
    const isWait = ask.kind === "wait";
    const { waitsMax = 1, commandsMax = 1 } = stream.opened ?? {};
    if (isWait ? session.waits >= waitsMax : session.commands >= commandsMax) {
      // Before the server has named its bounds, a first request is free to name what there was.
      if (stream.opened) return false;
    }
    // A server of which nothing was heard may not be there, and then this would be in doubt for nothing.
    if (!stream.opened && ask.repeat === "unsent") return false;
    this.#numbers += 1n;
    const bytes = encoded(ask.command(), this.#numbers);
    if (bytes.length > stream.commandBytesMax) {
      if (!stream.opened) return false;
      // Not in this turn: whoever is told may ask for more.
      const error = tooLarge(bytes.length, stream.commandBytesMax);
      queueMicrotask(() => this.#fail(call, error));
      return true;
    }
    call.number = this.#numbers;
    call.session = session;
    call.wasSent = true;
    call.askedMs = this.#options.clock.now();
    this.#byNumber.set(call.number, call);
    if (isWait) session.waits += 1;
    else session.commands += 1;
    stream.send(bytes);
    return true;
  }

  #fail(call: Call, error: RowlockError): void {
    if (call.isOver) return;
    this.#close(call);
    call.ask.failed(error);
  }

  #close(call: Call): void {
    if (call.isOver) return;
    call.isOver = true;
    clearTimeout(call.retryTimer);
    clearTimeout(call.giveUpTimer);
    this.#leave(call);
    this.#open.delete(call);
    if (this.#open.size === 0) for (const tell of this.#onIdle.splice(0)) tell();
  }

  #leave(call: Call): void {
    const { session } = call;
    if (!session) return;
    this.#byNumber.delete(call.number);
    call.session = undefined;
    if (call.ask.kind === "wait") session.waits -= 1;
    else session.commands -= 1;
  }

  #noAnswer(call: Call, withinMs: number): RowlockError {
    if (call.lastError) return call.lastError;
    const { addresses, lastError } = this.#options;
    const why = lastError();
    const words = why ? ` ${why.message}` : "";
    return new RowlockError(
      "NO_SERVER",
      "UNAVAILABLE",
      `No answer within ${Math.round(withinMs)} ms from ${addresses.join(", ")}.${words}`,
      { ...(why && { cause: why }) },
    );
  }
}

function encoded(command: SessionCommand["command"], call: bigint): Uint8Array {
  return toBinary(SessionCommandSchema, create(SessionCommandSchema, { call, command }));
}

function inDoubt(error: RowlockError): RowlockError {
  return new RowlockError(
    "CONNECTION_LOST",
    "UNAVAILABLE",
    `The connection was lost before the answer came: it may have been done or not. ${error.message}`,
    { cause: error },
  );
}

function tooLarge(bytes: number, bytesMax: number): RowlockError {
  return new RowlockError(
    "MESSAGE_TOO_LARGE",
    "RESOURCE_EXHAUSTED",
    `This would take ${bytes} bytes, and the server takes no more than ${bytesMax} of one command.`,
    { metadata: { bytes_max: String(bytesMax) } },
  );
}
