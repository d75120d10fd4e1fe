// Knows under which locks a piece of work runs, by its asynchronous context: work that waits for one of them waits for
// itself. A lock that its caller releases itself has no such context, and other work of the same program is no mistake.

import { AsyncLocalStorage } from "node:async_hooks";

interface Held {
  readonly leaseId: string;
  readonly outer: Held | undefined;
}

export class WorkUnderLock {
  readonly #held = new AsyncLocalStorage<Held>();

  /** Runs work under a lock. Costs nothing where nobody calls it. */
  run<Value>(leaseId: string, work: () => Value): Value {
    return this.#held.run({ leaseId, outer: this.#held.getStore() }, work);
  }

  /** Returns whether the caller's work runs under this lease. */
  isUnder(leaseId: string, since: Under = this.#held.getStore()): boolean {
    for (let one = since; one; one = one.outer) if (one.leaseId === leaseId) return true;
    return false;
  }

  /** What `isUnder` takes, for a question that comes later. */
  get now(): Under {
    return this.#held.getStore();
  }
}

export type Under = Held | undefined;
