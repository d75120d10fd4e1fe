// Wakes exactly at the end of a lease that has waiters, instead of at the next poll. The known end may be old,
// because leases are renewed, so the woken side checks again.

import { DUE_AFTER_MS } from "../engine-bounds.ts";

export class DueTimers {
  readonly #onDue: (lockIds: readonly bigint[]) => void;
  readonly #timers = new Map<bigint, NodeJS.Timeout>();
  #due: bigint[] = [];

  /** Calls `onDue` once with all locks whose timers end in one turn. */
  constructor(onDue: (lockIds: readonly bigint[]) => void) {
    this.#onDue = onDue;
  }

  /** Sets a timer unless the lock has one. `inUs`: time until the lock's first known end. */
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
