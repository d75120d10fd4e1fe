// Puts the new calls of all connections in turns, so that a connection which opens hundreds of calls with one packet
// does not delay the calls of others. Of one connection, the calls that may not be refused come first; the others are
// refused while the next of them has waited for long. A call that its client has reset before its turn costs nothing
// more. Reads no call.

import type { ServerHttp2Stream } from "node:http2";
import { RetryTimes } from "./admission.ts";
import { CALLS_AT_ONCE, CALLS_TURN_MS } from "./grpc-bounds.ts";

export interface NewCall {
  readonly stream: Pick<ServerHttp2Stream, "destroyed" | "closed" | "aborted" | "on">;
  readonly begin: () => void;
  /** Unset: it may not be refused. */
  readonly refuse?: (retryAfterMs: number) => void;
}

interface Line {
  begun: number;
  turn: number;
  readonly urgent: NewCall[];
  readonly others: (NewCall & { readonly sinceMs: number })[];
  readonly retryTimes: RetryTimes;
}

export class StreamTurns {
  readonly #lines = new WeakMap<object, Line>();
  /** Lines with calls that wait, in the order of their turns. */
  readonly #queue = new Set<Line>();
  #turn = 0;
  #isScheduled = false;

  /** Begins a call now, or later if its connection has begun many in this tick of the event loop, or refuses it. */
  add(connection: object, call: NewCall): void {
    const line = this.#lineOf(connection);
    this.#schedule();
    const isUrgent = call.refuse === undefined;
    const waiting = line.urgent.length + (isUrgent ? 0 : line.others.length);
    if (waiting === 0 && line.begun < CALLS_AT_ONCE) {
      line.begun += 1;
      call.begin();
      return;
    }
    const nowMs = performance.now();
    const next = isUrgent ? undefined : line.others[0];
    const retryAfterMs = next && line.retryTimes.ifLate(nowMs, next.sinceMs, line.others.length);
    if (retryAfterMs !== undefined) {
      call.refuse?.(retryAfterMs);
      return;
    }
    // Until grpc-js listens, the end of the connection would be an error that nobody handles.
    call.stream.on("error", () => {});
    if (isUrgent) line.urgent.push(call);
    else line.others.push({ ...call, sinceMs: nowMs });
    this.#queue.add(line);
  }

  #lineOf(connection: object): Line {
    let line = this.#lines.get(connection);
    if (!line) {
      line = { begun: 0, turn: this.#turn, urgent: [], others: [], retryTimes: new RetryTimes() };
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
    const endsMs = performance.now() + CALLS_TURN_MS;
    for (const line of this.#queue) {
      this.#queue.delete(line);
      const urgent = wanted(line.urgent, CALLS_AT_ONCE);
      const others = wanted(line.others, CALLS_AT_ONCE - urgent.length);
      // Behind the other lines; the loop comes to it again if there is time.
      if (line.urgent.length + line.others.length > 0) this.#queue.add(line);
      for (const { begin } of [...urgent, ...others]) begin();
      if (performance.now() >= endsMs) break;
    }
    if (this.#queue.size > 0) this.#schedule();
  };
}

/** Takes the first calls that their clients still want, up to `max`, and those before them that nobody wants. */
function wanted(waiting: NewCall[], max: number): readonly NewCall[] {
  const found: NewCall[] = [];
  let passed = 0;
  for (; passed < waiting.length && found.length < max; passed++) {
    const call = waiting[passed] as NewCall;
    if (!call.stream.destroyed && !call.stream.closed && !call.stream.aborted) found.push(call);
  }
  waiting.splice(0, passed);
  return found;
}
