// How many captures are at work at a time, and who is next: in turn by client, so that one that asks for thousands, and gives
// them up with its next breath, costs itself alone. A call that was cancelled keeps its place until its work is over; what was
// not begun by then never is. Knows nothing of the work.

import { setImmediate as nextTurn } from "node:timers/promises";
import {
  CAPTURES_AT_ONCE_MAX,
  CAPTURES_QUEUED_EACH_MAX,
  CAPTURES_QUEUED_MAX,
  OVERLOADED_RETRY_AFTER_MS,
} from "../engine-bounds.ts";
import { Fault } from "../faults.ts";

interface Turn {
  /** Whether nobody wants it any more. */
  readonly isOver: () => boolean;
  /** `isDropped`: it is not to begin. */
  readonly resolve: (isDropped: boolean) => void;
  readonly reject: (error: Fault) => void;
}

export class CaptureTurns {
  /** Those that wait, by client; the client that is next comes first. */
  readonly #queues = new Map<unknown, Turn[]>();
  #queued = 0;
  #atWork = 0;

  /** The work's result; null: it was over before its turn came. Throws a Fault where too many wait. */
  async run<Result>(
    client: unknown,
    isOver: () => boolean,
    work: () => Promise<Result>,
  ): Promise<Result | null> {
    if (isOver()) return null;
    if (this.#atWork < CAPTURES_AT_ONCE_MAX) this.#atWork += 1;
    else if (await this.#turn(client, isOver)) return null;
    try {
      // What its client has said in the same breath is heard first.
      await nextTurn();
      return isOver() ? null : await work();
    } finally {
      this.#next();
    }
  }

  #turn(client: unknown, isOver: () => boolean): Promise<boolean> {
    const queue = this.#queues.get(client) ?? [];
    if (queue.length >= CAPTURES_QUEUED_EACH_MAX) throw overloaded();
    if (this.#queued >= CAPTURES_QUEUED_MAX) this.#makeRoom(queue.length);
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    queue.push({ isOver, resolve, reject });
    this.#queued += 1;
    this.#queues.set(client, queue);
    return promise;
  }

  /** Refuses the last one of the client that has most; that may be the one that asks. */
  #makeRoom(own: number): void {
    let longest: Turn[] = [];
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue;
    if (longest.length <= own + 1) throw overloaded();
    this.#queued -= 1;
    longest.pop()?.reject(overloaded());
  }

  #next(): void {
    for (const [client, queue] of this.#queues) {
      const turn = queue.shift() as Turn;
      this.#queued -= 1;
      // Behind the others.
      this.#queues.delete(client);
      if (queue.length > 0) this.#queues.set(client, queue);
      const isDropped = turn.isOver();
      turn.resolve(isDropped);
      if (!isDropped) return;
    }
    this.#atWork -= 1;
  }
}

function overloaded(): Fault {
  return new Fault("overloaded", "captures_queued", "Too many captures wait for their turn.", {
    retryAfterMs: OVERLOADED_RETRY_AFTER_MS,
  });
}
