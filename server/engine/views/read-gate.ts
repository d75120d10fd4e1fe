// Lets a few pieces of work of one kind run at once. The others wait in a bounded queue, in turn by whose they are and then
// first come first served, so that nobody waits for all that one client has asked for. A piece of work holds its place until
// it is over, whether or not anybody waits for it still. Knows nothing of the work.

import type { Caller } from "../../core/command.ts";
import { OVERLOADED_RETRY_AFTER_MS } from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
import { sourceOf } from "../source-of.ts";

export interface ReadGateOptions {
  readonly atOnce: number;
  readonly queuedMax: number;
  /** The bound's name, for the fault when the queue is full. */
  readonly bound: string;
}

interface Queued {
  readonly go: () => void;
  readonly refuse: (why: Fault) => void;
}

export class ReadGate {
  readonly #options: ReadGateOptions;
  /** By whose they are: the first of the first is next. None is empty. */
  readonly #queues = new Map<unknown, Queued[]>();
  #queued = 0;
  #running = 0;

  constructor(options: ReadGateOptions) {
    this.#options = options;
  }

  /** Those whose turn is awaited. */
  get sources(): number {
    return this.#queues.size;
  }

  async run<Answer>(work: () => Promise<Answer>, caller?: Caller): Promise<Answer> {
    await this.begin(caller);
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  /**
   * Resolves when it is the caller's turn, which then has to `end`. Where too many wait, throws a Fault, or lets one of those
   * who has most of them wait in vain.
   */
  begin(caller?: Caller): Promise<void> {
    const { atOnce, queuedMax } = this.#options;
    if (this.#running < atOnce) {
      this.#running += 1;
      return Promise.resolve();
    }
    const source = sourceOf(caller);
    if (this.#queued >= queuedMax) this.#makeRoom(source);
    return new Promise((go, refuse) => {
      this.#queued += 1;
      const queue = this.#queues.get(source);
      if (queue) queue.push({ go, refuse });
      else this.#queues.set(source, [{ go, refuse }]);
    });
  }

  /** The turn goes on to the next, or is free. */
  end(): void {
    for (const [source, queue] of this.#queues) {
      const next = queue.shift();
      this.#queued -= 1;
      // Its others wait until all have had a turn.
      this.#queues.delete(source);
      if (queue.length > 0) this.#queues.set(source, queue);
      next?.go();
      return;
    }
    this.#running -= 1;
  }

  /** Who waits for most is refused the last of it. */
  #makeRoom(source: unknown): void {
    const { bound } = this.#options;
    const why = new Fault("overloaded", bound, `Too much waits for its turn (${bound}).`, {
      retryAfterMs: OVERLOADED_RETRY_AFTER_MS,
    });
    const own = this.#queues.get(source)?.length ?? 0;
    let most: Queued[] = [];
    for (const queue of this.#queues.values()) if (queue.length > most.length) most = queue;
    if (most.length <= own + 1) throw why;
    this.#queued -= 1;
    most.pop()?.refuse(why);
  }
}
