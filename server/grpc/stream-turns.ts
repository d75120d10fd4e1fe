// Puts the new calls of all connections in turns, so that a connection which opens hundreds of calls with one packet
// does not delay the calls of others. A call that its client has reset before its turn costs nothing more. Decides
// nothing about calls and reads none of them.

import type { ServerHttp2Stream } from "node:http2";
import { CALLS_AT_ONCE, CALLS_TURN_MS } from "./grpc-bounds.ts";

interface Waiting {
  readonly stream: Pick<ServerHttp2Stream, "destroyed" | "aborted" | "on">;
  readonly begin: () => void;
}

/** The new calls of one connection. */
interface Line {
  /** Begun in this turn of the event loop. */
  begun: number;
  turn: number;
  readonly waiting: Waiting[];
}

export class StreamTurns {
  readonly #lines = new WeakMap<object, Line>();
  /** Lines with calls that wait, in the order of their turns. */
  readonly #queue = new Set<Line>();
  readonly #now: () => number;
  #turn = 0;
  #isScheduled = false;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Begins a call now, or later if its connection has begun many in this turn of the event loop. */
  add(connection: object, stream: Waiting["stream"], begin: () => void): void {
    const line = this.#lineOf(connection);
    this.#schedule();
    if (line.waiting.length === 0 && line.begun < CALLS_AT_ONCE) {
      line.begun += 1;
      begin();
      return;
    }
    // Until grpc-js listens, the end of the connection would be an error that nobody handles.
    stream.on("error", () => {});
    line.waiting.push({ stream, begin });
    this.#queue.add(line);
  }

  #lineOf(connection: object): Line {
    let line = this.#lines.get(connection);
    if (!line) {
      line = { begun: 0, turn: this.#turn, waiting: [] };
      this.#lines.set(connection, line);
    }
    if (line.turn !== this.#turn) Object.assign(line, { begun: 0, turn: this.#turn });
    return line;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#next);
  }

  /** Each line in turn begins some calls, for as long as the turn may last. Connections are read in between. */
  readonly #next = (): void => {
    this.#isScheduled = false;
    this.#turn += 1;
    const endsMs = this.#now() + CALLS_TURN_MS;
    for (const line of this.#queue) {
      this.#queue.delete(line);
      const batch = line.waiting.splice(0, nextCalls(line.waiting));
      // Behind the other lines; the loop comes to it again if there is time.
      if (line.waiting.length > 0) this.#queue.add(line);
      for (const { stream, begin } of batch) if (!isGone(stream)) begin();
      if (this.#now() >= endsMs) break;
    }
    if (this.#queue.size > 0) this.#schedule();
  };
}

const isGone = ({ destroyed, aborted }: Pick<ServerHttp2Stream, "destroyed" | "aborted">) =>
  destroyed || aborted;

/** How many calls from the first one on contain CALLS_AT_ONCE whose clients still want them. */
function nextCalls(waiting: readonly Waiting[]): number {
  let wanted = 0;
  const last = waiting.findIndex(({ stream }) => !isGone(stream) && ++wanted === CALLS_AT_ONCE);
  return last < 0 ? waiting.length : last + 1;
}
