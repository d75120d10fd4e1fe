// Lets a few pieces of work of one kind run at once; the others wait in a bounded queue, first come first served. Knows
// nothing of the work.

import { OVERLOADED_RETRY_AFTER_MS } from "../engine-bounds.ts";
import { Fault } from "../faults.ts";

export interface ReadGateOptions {
  readonly atOnce: number;
  readonly queuedMax: number;
  /** The bound's name, for the fault when the queue is full. */
  readonly bound: string;
}

export class ReadGate {
  readonly #options: ReadGateOptions;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(options: ReadGateOptions) {
    this.#options = options;
  }

  async run<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    await this.begin();
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  /** Resolves when it is the caller's turn, which then has to `end`. Throws a Fault when too many wait. */
  begin(): Promise<void> {
    const { atOnce, queuedMax, bound } = this.#options;
    if (this.#running < atOnce) {
      this.#running += 1;
      return Promise.resolve();
    }
    if (this.#queue.length >= queuedMax) {
      throw new Fault("overloaded", bound, `Too many reads wait for their turn (${bound}).`, {
        retryAfterMs: OVERLOADED_RETRY_AFTER_MS,
      });
    }
    return new Promise((resolve) => this.#queue.push(resolve));
  }

  /** The turn goes to the one who waits longest, or is free. */
  end(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
