// Lets a few pieces of work of one kind run at once. Further work waits in a bounded queue, which goes round the
// clients that asked for it. A piece of work holds its place until it is over, even if nobody waits for it any more.
// Work that nobody wants when its turn comes is dropped. Knows nothing of the work.

import type { Caller } from "../core/command.ts";
import { OVERLOADED_RETRY_AFTER_MS } from "./engine-bounds.ts";
import { FairQueue } from "./fair-queue.ts";
import { Fault } from "./faults.ts";
import { sourceOf } from "./source-of.ts";

export interface FairGateOptions {
  readonly atOnce: number;
  readonly queuedMax: number;
  /** At most this much queued work of one client; unset: `queuedMax`. */
  readonly queuedEachMax?: number;
  /** Name of the bound, for the fault when the queue is full. */
  readonly bound: string;
}

interface Turn {
  readonly isOver: () => boolean;
  /** `begins`: whether the work may begin. */
  readonly resolve: (begins: boolean) => void;
  readonly reject: (why: Fault) => void;
}

const isWanted = () => false;

export class FairGate {
  readonly #options: FairGateOptions;
  readonly #queue: FairQueue<Turn>;
  #running = 0;

  constructor(options: FairGateOptions) {
    this.#options = options;
    this.#queue = new FairQueue({ max: options.queuedMax, eachMax: options.queuedEachMax });
  }

  /** Number of clients whose work waits. */
  get sources(): number {
    return this.#queue.sources;
  }

  /** Runs the work when it is the caller's turn. Throws as `begin` does, and what the work throws. */
  async run<Answer>(work: () => Promise<Answer>, caller?: Caller): Promise<Answer> {
    await this.begin(caller);
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  /**
   * Resolves when it is the caller's turn. True: the work may begin, and the caller must call `end` afterwards. False:
   * `isOver` says that nobody wants the work any more. Throws a Fault if the queue is full and this client has most of
   * it. A client that is already queued may also be refused later.
   */
  async begin(caller?: Caller, isOver: () => boolean = isWanted): Promise<boolean> {
    if (isOver()) return false;
    if (this.#running < this.#options.atOnce) {
      this.#running += 1;
      return true;
    }
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#queue.add(sourceOf(caller), { isOver, resolve, reject })?.reject(this.#overloaded());
    return await promise;
  }

  /** Passes the place to the next piece of work in the queue, or frees it. */
  end(): void {
    for (let turn = this.#queue.next(); turn; turn = this.#queue.next()) {
      const begins = !turn.isOver();
      turn.resolve(begins);
      if (begins) return;
    }
    this.#running -= 1;
  }

  #overloaded(): Fault {
    const { bound } = this.#options;
    return new Fault("overloaded", bound, `Too much work is queued (${bound}).`, {
      retryAfterMs: OVERLOADED_RETRY_AFTER_MS,
    });
  }
}
