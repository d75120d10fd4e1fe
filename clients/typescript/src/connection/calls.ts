// All calls that are not yet answered. A call outlives connections. If one connection is lost before the answer, the
// call is repeated in the next one, provided that this is safe. A call that a server could not do at the moment is
// retried. A call without an answer in time fails.

import { backoffMs } from "../backoff.ts";
import type { Clock } from "../clock.ts";
import { type Diagnosis, inWords } from "../diagnosis.ts";
import { RowlockError } from "../rowlock-error.ts";
import { type Ask, Call, KINDS, type Usage } from "./call.ts";
import type { Connection, News } from "./connection.ts";

export interface CallsOptions {
  /** Requests a connection. */
  readonly need: () => void;
  /** Why the last connection ended or could not be opened. */
  readonly lastError: () => RowlockError | undefined;
  /** What was found at the addresses, if somebody has looked. */
  readonly diagnoses?: () => readonly Diagnosis[];
  readonly addresses: readonly string[];
  readonly clock: Clock;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #open = new Set<Call>();
  readonly #byNumber = new Map<bigint, Call>();
  readonly #queues: Readonly<Record<Ask["kind"], Call[]>> = { urgent: [], other: [], wait: [] };
  #current: Usage | undefined;
  #begun = 0;
  #numbers = 0n;
  #onIdle: (() => void)[] = [];

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Whether a server may know of an open call, or must still receive one that keeps or ends a lease. */
  get isOwed(): boolean {
    return [...this.#open].some((call) => call.mayBeKnown || call.ask.kind === "urgent");
  }

  /** Starts a call; it is sent as soon as there is a connection with room for it. */
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

  /** Ignores all further answers, and sends the server a cancellation, which does not undo what it has done. */
  cancel(call: Call): void {
    if (call.isOver) return;
    call.usage?.connection.cancel(call.number);
    this.#close(call);
  }

  /** Sends the server a cancellation, but still takes an answer to what the server had done before that. */
  withdraw(call: Call): void {
    // A cancelled unary call gets no answer.
    if (call.usage?.connection.via === "session") call.usage.connection.cancel(call.number);
    else this.cancel(call);
  }

  /** Starts the timer that fails the call unless a result comes in time. */
  #unanswered(call: Call): void {
    const withinMs = call.ask.giveUpAfterMs();
    if (call.giveUpTimer || withinMs === Number.POSITIVE_INFINITY) return;
    call.giveUpTimer = setTimeout(() => {
      call.usage?.connection.cancel(call.number);
      this.#fail(call, this.#noAnswer(call, withinMs));
    }, withinMs);
  }

  /** Resolves when no call is open. */
  async idle(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  failAll(error: RowlockError): void {
    for (const call of [...this.#open]) this.#fail(call, error);
  }

  /**
   * Fails the calls that no server has answered. The others, such as waits that have their places, go on waiting for a
   * server; when their time is over, they fail with this error.
   */
  failUnanswered(error: RowlockError): void {
    for (const call of [...this.#open])
      if (call.wasAnswered) call.lastError = error;
      else this.#fail(call, error);
  }

  /** Sends calls to this connection from now on. */
  begun(connection: Connection): void {
    this.#current = { connection, commands: 0, waits: 0 };
    this.#pump();
  }

  /** Sends no more calls to this connection, and fails the unsent ones that must not go to another. */
  leaving(connection: Connection, error: RowlockError): void {
    if (this.#current?.connection === connection) this.#current = undefined;
    for (const call of [...this.#open])
      if (call.ask.repeat === "on this connection" && !call.usage) this.#fail(call, error);
  }

  /** Sends the calls that waited for the server's first answer. */
  opened(): void {
    this.#pump();
  }

  /** Passes results to their calls; the server made them at `basisMs` or later. */
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
      call.lastError = undefined;
      call.wasAnswered = true;
      // The first result counts from when the call was sent, as the server may have heard later requests of this client
      // between its decision and its response. A grant after a place counts from the response's basis, as nothing else
      // says when it was made.
      const atMs = Math.min(basisMs, call.askedMs);
      call.askedMs = Number.POSITIVE_INFINITY;
      if (call.ask.answered(result, atMs)) this.#close(call);
    }
    this.#pump();
  }

  /** Repeats the calls of this connection in the next one, or fails them. */
  ended(connection: Connection, error: RowlockError): void {
    const lost = [...this.#byNumber.values()].filter((call) => call.usage?.connection === connection);
    for (const call of lost) {
      this.#leave(call);
      if (isRepeated(call.ask)) this.#again(call);
      else this.#fail(call, call.ask.repeat === "unsent" ? inDoubt(error) : error);
    }
  }

  #failed(call: Call, error: RowlockError): void {
    const { repeat } = call.ask;
    // The call was not made. This connection ends next, and then the call is repeated with other credentials.
    const isRefused = error.isOfCredentials && call.usage?.connection.via === "unary";
    if (isRefused && isRepeated(call.ask)) return;
    const isSafe = isRepeated(call.ask) || (repeat === "unsent" && error.isUndone);
    if (!(error.isTransient || isRefused) || !isSafe) {
      this.#fail(call, error);
      return;
    }
    const isMoving = call.usage !== this.#current;
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

  /** Sends a call; returns false if it must wait for room or for the server's first answer. */
  #sent(call: Call, usage: Usage): boolean {
    const { connection } = usage;
    const { ask } = call;
    const isWait = ask.kind === "wait";
    const { opened } = connection;
    // A first request may hold any number of calls, before the server reports its bounds.
    if (opened && (isWait ? usage.waits >= opened.waitsMax : usage.commands >= opened.commandsMax))
      return false;
    // A server that has not answered may not be there, and then a call that must not be repeated would be in doubt for
    // nothing.
    if (!opened && (ask.repeat === "unsent" || ask.repeat === "once open")) return false;
    this.#numbers += 1n;
    try {
      if (!connection.send(this.#numbers, ask.command(connection), ask.traceparent)) return false;
    } catch (error) {
      const why = error instanceof RowlockError ? error : RowlockError.unsendable(error);
      // In a later turn, as the caller may start more calls when this one fails.
      queueMicrotask(() => this.#fail(call, why));
      return true;
    }
    call.number = this.#numbers;
    call.usage = usage;
    call.timesSent += 1;
    call.askedMs = this.#options.clock.now();
    this.#byNumber.set(call.number, call);
    if (isWait) usage.waits += 1;
    else usage.commands += 1;
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
    if (call.usage) this.#leave(call);
    else this.#unqueue(call);
    this.#open.delete(call);
    if (this.#open.size === 0) for (const notify of this.#onIdle.splice(0)) notify();
  }

  #unqueue(call: Call): void {
    const queue = this.#queues[call.ask.kind];
    const at = queue.indexOf(call);
    if (at >= 0) queue.splice(at, 1);
  }

  #leave(call: Call): void {
    const { usage } = call;
    if (!usage) return;
    this.#byNumber.delete(call.number);
    call.wasReached ||= usage.connection.wasReached;
    call.usage = undefined;
    if (call.ask.kind === "wait") usage.waits -= 1;
    else usage.commands -= 1;
  }

  #noAnswer(call: Call, withinMs: number): RowlockError {
    if (call.lastError) return call.lastError;
    const { addresses, lastError, diagnoses } = this.#options;
    const why = lastError();
    const found = diagnoses?.() ?? [];
    const words = inWords(found) || (why ? ` ${why.message}` : "");
    const message = `No answer within ${Math.round(withinMs)} ms from ${addresses.join(", ")}.${words}`;
    return RowlockError.noServer(message, found, why);
  }
}

/** Whether its answer may be lost, and another one asked for. */
function isRepeated({ repeat }: Ask): boolean {
  return repeat === "always" || repeat === "once open";
}

function inDoubt(error: RowlockError): RowlockError {
  return new RowlockError(
    "CONNECTION_LOST",
    "UNAVAILABLE",
    `The connection was lost before the answer came, so the call may have taken effect or not. ${error.message}`,
    { cause: error },
  );
}
