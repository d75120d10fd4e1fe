// All that is asked for and not yet answered. A call outlives connections: what was not answered by one is asked for again by
// the next, where that is safe; it is retried when it could not be done at the moment, and given up when no answer comes in time.

import { backoffMs } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import { RowlockError } from "../rowlock-error.ts";
import { type Ask, Call, KINDS, type Use } from "./call.ts";
import type { Connection, News } from "./connection.ts";

export interface CallsOptions {
  /** Something is asked for: there should be a connection. */
  readonly need: () => void;
  /** Why there was no connection lately. */
  readonly lastError: () => RowlockError | undefined;
  readonly addresses: readonly string[];
  readonly clock: Clock;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #open = new Set<Call>();
  readonly #byNumber = new Map<bigint, Call>();
  readonly #queues: Readonly<Record<Ask["kind"], Call[]>> = { urgent: [], other: [], wait: [] };
  #current: Use | undefined;
  #begun = 0;
  #numbers = 0n;
  #onIdle: (() => void)[] = [];

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Whether a server may know of any of them, or has to hear of one for the sake of others. */
  get isOwed(): boolean {
    return [...this.#open].some((call) => call.mayBeKnown || call.ask.kind === "urgent");
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
    call.use?.connection.cancel(call.number);
    this.#close(call);
  }

  /** The server is told that nobody waits any more. What it had done by then may still be answered. */
  withdraw(call: Call): void {
    // A call of its own that is cancelled is answered no more.
    if (call.use?.connection.via === "session") call.use.connection.cancel(call.number);
    else this.cancel(call);
  }

  /** An answer is due: the call fails unless something comes within its time. */
  #unanswered(call: Call): void {
    const withinMs = call.ask.giveUpAfterMs();
    if (call.giveUpTimer || withinMs === Number.POSITIVE_INFINITY) return;
    call.giveUpTimer = setTimeout(() => {
      call.use?.connection.cancel(call.number);
      this.#fail(call, this.#noAnswer(call, withinMs));
    }, withinMs);
  }

  /** Resolves when nothing is open any more. */
  async idle(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  failAll(error: RowlockError): void {
    for (const call of [...this.#open]) this.#fail(call, error);
  }

  /** From now on, calls go there. */
  begun(connection: Connection): void {
    this.#current = { connection, commands: 0, waits: 0 };
    this.#pump();
  }

  /** Nothing goes there any more, and what should have gone nowhere else has failed. */
  leaving(connection: Connection, error: RowlockError): void {
    if (this.#current?.connection === connection) this.#current = undefined;
    for (const call of [...this.#open])
      if (call.ask.repeat === "on this connection" && !call.use) this.#fail(call, error);
  }

  /** Its server has answered, so that more may be asked of it. */
  opened(): void {
    this.#pump();
  }

  results(results: NonNullable<News["results"]>, basisMs: number): void {
    for (const { call: number, result } of results) {
      const call = this.#byNumber.get(number);
      if (!call) continue;
      if (result instanceof RowlockError) {
        this.#failed(call, result);
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
  ended(connection: Connection, error: RowlockError): void {
    const lost = [...this.#byNumber.values()].filter((call) => call.use?.connection === connection);
    for (const call of lost) {
      this.#leave(call);
      if (call.ask.repeat === "always") this.#again(call);
      else this.#fail(call, call.ask.repeat === "unsent" ? inDoubt(error) : error);
    }
  }

  #failed(call: Call, error: RowlockError): void {
    const { repeat } = call.ask;
    const isSafe = repeat === "always" || (repeat === "unsent" && error.isUndone);
    if (!error.isTransient || !isSafe) {
      this.#fail(call, error);
      return;
    }
    const isMoving = call.use !== this.#current;
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
        if (!this.#sent(call, this.#current)) break;
        sent += 1;
      }
      if (sent > 0) queue.splice(0, sent);
    }
  }

  /** Whether it was sent, or has failed by that. */
  #sent(call: Call, use: Use): boolean {
    const { connection } = use;
    const { ask } = call;
    const isWait = ask.kind === "wait";
    const { opened } = connection;
    // Before the server has named its bounds, a first request is free to name what there was.
    if (opened && (isWait ? use.waits >= opened.waitsMax : use.commands >= opened.commandsMax)) return false;
    // A server of which nothing was heard may not be there, and then this would be in doubt for nothing.
    if (!opened && ask.repeat === "unsent") return false;
    this.#numbers += 1n;
    try {
      if (!connection.take(this.#numbers, ask.command(connection))) return false;
    } catch (error) {
      const why = error instanceof RowlockError ? error : RowlockError.unsendable(error);
      // Not in this turn: whoever is told may ask for more.
      queueMicrotask(() => this.#fail(call, why));
      return true;
    }
    call.number = this.#numbers;
    call.use = use;
    call.timesSent += 1;
    call.askedMs = this.#options.clock.now();
    this.#byNumber.set(call.number, call);
    if (isWait) use.waits += 1;
    else use.commands += 1;
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
    if (call.use) this.#leave(call);
    else this.#unqueue(call);
    this.#open.delete(call);
    if (this.#open.size === 0) for (const tell of this.#onIdle.splice(0)) tell();
  }

  #unqueue(call: Call): void {
    const queue = this.#queues[call.ask.kind];
    const at = queue.indexOf(call);
    if (at >= 0) queue.splice(at, 1);
  }

  #leave(call: Call): void {
    const { use } = call;
    if (!use) return;
    this.#byNumber.delete(call.number);
    call.wasReached ||= use.connection.wasReached;
    call.use = undefined;
    if (call.ask.kind === "wait") use.waits -= 1;
    else use.commands -= 1;
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

function inDoubt(error: RowlockError): RowlockError {
  return new RowlockError(
    "CONNECTION_LOST",
    "UNAVAILABLE",
    `The connection was lost before the answer came: it may have been done or not. ${error.message}`,
    { cause: error },
  );
}
