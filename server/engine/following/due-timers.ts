// Wakes at the very end of a lease that others wait for, and not at the next poll after it. What it is told may be old by
// then, as leases are renewed: whoever is woken looks again.

import { DUE_AFTER_MS } from "../engine-bounds.ts";

export class DueTimers {
  readonly #onDue: (lockIds: readonly bigint[]) => void;
  readonly #timers = new Map<bigint, NodeJS.Timeout>();
  #due: bigint[] = [];

  /** `onDue` is told of all that end in one turn together. */
  constructor(onDue: (lockIds: readonly bigint[]) => void) {
    this.#onDue = onDue;
  }

  /** The first end of the lock, as known now, is in so many microseconds. */
  set(lockId: bigint, inUs: number): void {
    if (this.#timers.has(lockId)) return;
    const timer = setTimeout(() => this.#end(lockId), inUs / 1_000 + DUE_AFTER_MS);
    this.#timers.set(lockId, timer);
  }

  stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #end(lockId: bigint): void {
    this.#timers.delete(lockId);
    if (this.#due.length === 0) setImmediate(() => this.#onDue(this.#due.splice(0)));
    this.#due.push(lockId);
  }
}
