// Lets a few pieces of work of one kind run at once. Further work waits in a bounded queue, which goes round the
// clients that asked for it. A piece of work holds its place until it is over, even if nobody waits for it any more.
// Work that nobody wants when its turn comes is dropped. Knows nothing of the work.

import type { BoundUse } from "../core/bound-use.ts";
import type { Caller } from "../core/command.ts";
import { FairQueue, sourceOf } from "./fair-queue.ts";
import { type Fault, overloaded } from "./faults.ts";

export interface FairGateOptions {
  readonly atOnce: number;
  readonly queuedMax: number;
  /** At most this much queued work of one client; unset: `queuedMax`. */
  readonly queuedEachMax?: number;
  /** Name of the bound of the queue, for the fault when it is full. */
  readonly bound: string;
}

interface Turn {
  readonly isOver: () => boolean;
  /** `begins`: whether the work may begin. */
  readonly resolve: (begins: boolean) => void;
  readonly reject: (why: Fault) => void;
}

const never = () => false;

export class FairGate {
  readonly #options: FairGateOptions;
  readonly #queue: FairQueue<Turn>;
  #running = 0;

  constructor(options: FairGateOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options.queuedMax, options.queuedEachMax);
  }

  get bounds(): readonly BoundUse[] {
    const { bound, atOnce, queuedMax } = this.#options;
    return [
      { bound, kind: "room", used: this.#queue.size, max: queuedMax },
      { bound: bound.replace(/queued$/, "at_once"), kind: "turns", used: this.#running, max: atOnce },
    ];
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
  async begin(caller?: Caller, isOver: () => boolean = never): Promise<boolean> {
    if (isOver()) return false;
    if (this.#running < this.#options.atOnce) {
      this.#running += 1;
      return true;
    }
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const { bound } = this.#options;
    const refused = this.#queue.add(sourceOf(caller), { isOver, resolve, reject });
    refused?.reject(overloaded(bound, `Too much work is queued (${bound}).`));
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
}
