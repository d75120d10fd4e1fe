// Lets connections that open many calls at once take turns in being read: one of them in a turn of the event loop, where
// the transport would read all of each. So what others have sent is read in between, and TCP holds back who floods.
// Delays nothing of a connection that opens few calls.

import { CALLS_READ_AT_ONCE } from "./grpc-bounds.ts";

export interface Reading<Connection> {
  readonly stop: (connection: Connection) => void;
  readonly goOn: (connection: Connection) => void;
}

export class ReadingTurns<Connection extends object> {
  readonly #reading: Reading<Connection>;
  /** Calls that were opened in this turn; stopped ones are no longer in it. */
  readonly #opened = new Map<Connection, number>();
  readonly #stopped = new Set<Connection>();
  #isScheduled = false;

  constructor(reading: Reading<Connection>) {
    this.#reading = reading;
  }

  /** A connection has opened a call. */
  opened(connection: Connection): void {
    const count = (this.#opened.get(connection) ?? 0) + 1;
    this.#opened.set(connection, count);
    if (count === CALLS_READ_AT_ONCE && !this.#stopped.has(connection)) {
      this.#stopped.add(connection);
      this.#reading.stop(connection);
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#isScheduled = false;
    this.#opened.clear();
    const [first] = this.#stopped;
    if (!first) return;
    this.#stopped.delete(first);
    this.#reading.goOn(first);
    this.#schedule();
  };
}
