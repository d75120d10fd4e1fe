// Lets connections that open many calls at once take turns in being read: one of them in a tick of the event loop, where
// the transport would read all of each. So what others have sent is read in between, and TCP holds back who floods. Those
// of strangers, or whose calls come to nothing, rest in between. Delays nothing of a connection that opens few calls.

import { CALL_OPENS_MS, CALLS_READ_AT_ONCE, CALLS_READ_MANY, READ_REST_MS } from "./grpc-bounds.ts";

/** `waits`: the client does not read what it was sent. `gone`: the connection is closed, or not read any more. */
export type HowItGoesOn = "reads" | "waits" | "gone";

export interface Reading<Connection> {
  readonly stop: (connection: Connection) => void;
  readonly goOn: (connection: Connection) => HowItGoesOn;
  readonly rests: (connection: Connection) => boolean;
  readonly addressOf: (connection: Connection) => string;
}

export class ReadingTurns<Connection extends object> {
  readonly #reading: Reading<Connection>;
  readonly #opened = new Map<Connection, number>();
  readonly #stopped = new Set<Connection>();
  /** By their addresses, which take turns: one with many connections does not make another one wait for all of them. */
  readonly #resting = new Map<string, Set<Connection>>();
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #pauseUntilMs = 0;
  #pause: NodeJS.Timeout | undefined;

  constructor(reading: Reading<Connection>) {
    this.#reading = reading;
  }

  /** A connection has opened a call. Returns how many it has opened in this tick. */
  opened(connection: Connection): number {
    const count = (this.#opened.get(connection) ?? 0) + 1;
    this.#opened.set(connection, count);
    if (count === CALLS_READ_AT_ONCE) this.#stop(connection);
    this.#schedule();
    return count;
  }

  #stop(connection: Connection): void {
    // Also one that is stopped already: the transport itself goes on to read when it has written.
    this.#reading.stop(connection);
    if (this.#resting.get(this.#reading.addressOf(connection))?.has(connection)) return;
    if (this.#reading.rests(connection)) this.#rest(connection);
    else this.#stopped.add(connection);
  }

  #rest(connection: Connection): void {
    const address = this.#reading.addressOf(connection);
    const resting = this.#resting.get(address) ?? new Set();
    this.#resting.set(address, resting.add(connection));
    this.#timer ??= setInterval(this.#rested, READ_REST_MS).unref();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#isScheduled = false;
    const pauseMs = this.#pauseMs();
    this.#opened.clear();
    if (pauseMs > 0) {
      this.#pause ??= setTimeout(() => {
        this.#pause = undefined;
        this.#schedule();
      }, pauseMs).unref();
      return;
    }
    for (const connection of this.#stopped) {
      this.#stopped.delete(connection);
      const how = this.#reading.goOn(connection);
      if (how === "waits") this.#rest(connection);
      if (how === "reads") break;
    }
    if (this.#stopped.size > 0) this.#schedule();
  };

  readonly #rested = (): void => {
    if (this.#pauseMs() > 0) return;
    for (const [address, resting] of [...this.#resting]) {
      const isRead = this.#goOn(resting);
      // Behind the other addresses.
      this.#resting.delete(address);
      if (resting.size > 0) this.#resting.set(address, resting);
      if (isRead) break;
    }
    if (this.#resting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  };

  /** How long no connection goes on: a single read can open thousands of calls, which take as long. */
  #pauseMs(): number {
    const nowMs = performance.now();
    for (const calls of this.#opened.values())
      if (calls > CALLS_READ_MANY) this.#pauseUntilMs = nowMs + calls * CALL_OPENS_MS;
    return this.#pauseUntilMs - nowMs;
  }

  #goOn(connections: Set<Connection>): boolean {
    for (const connection of connections) {
      const how = this.#reading.goOn(connection);
      if (how !== "waits") connections.delete(connection);
      if (how === "reads") return true;
    }
    return false;
  }
}
