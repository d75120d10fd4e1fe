// Lets connections that open many calls at once take turns in being read: one of them in a turn of the event loop, where
// the transport would read all of each. So what others have sent is read in between, and TCP holds back who floods. Those
// of strangers, or whose calls come to nothing, rest in between. Delays nothing of a connection that opens few calls.

import { CALLS_READ_AT_ONCE, READ_REST_MS } from "./grpc-bounds.ts";

export interface Reading<Connection> {
  readonly stop: (connection: Connection) => void;
  readonly goOn: (connection: Connection) => void;
  /** Whether the connection is to rest before it is read again. */
  readonly rests: (connection: Connection) => boolean;
}

export class ReadingTurns<Connection extends object> {
  readonly #reading: Reading<Connection>;
  /** Calls that were opened in this turn. */
  readonly #opened = new Map<Connection, number>();
  readonly #stopped = new Set<Connection>();
  readonly #resting = new Set<Connection>();
  #isScheduled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(reading: Reading<Connection>) {
    this.#reading = reading;
  }

  /** A connection has opened a call. */
  opened(connection: Connection): void {
    const count = (this.#opened.get(connection) ?? 0) + 1;
    this.#opened.set(connection, count);
    if (count === CALLS_READ_AT_ONCE) this.#stop(connection);
    this.#schedule();
  }

  #stop(connection: Connection): void {
    if (this.#stopped.has(connection) || this.#resting.has(connection)) return;
    this.#reading.stop(connection);
    if (!this.#reading.rests(connection)) {
      this.#stopped.add(connection);
      return;
    }
    this.#resting.add(connection);
    this.#timer ??= setInterval(this.#rested, READ_REST_MS).unref();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#isScheduled = false;
    this.#opened.clear();
    if (this.#goOn(this.#stopped)) this.#schedule();
  };

  readonly #rested = (): void => {
    if (this.#goOn(this.#resting)) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  };

  /** Returns whether there was one. */
  #goOn(waiting: Set<Connection>): boolean {
    const [first] = waiting;
    if (!first) return false;
    waiting.delete(first);
    this.#reading.goOn(first);
    return true;
  }
}
