// The seam for wake-ups between replicas: a hint that something may have changed, never the truth. The truth is in the
// database, and whoever is woken reads it there; a lost or a false hint costs time, nothing else.

export interface Wakeup {
  /**
   * Calls `onHint` now and then: with the locks that may have changed, or without any, which means all that the
   * replica has waiters for. Waits for the hint to be worked off before the next one.
   */
  start(onHint: (lockIds?: readonly bigint[]) => Promise<void>): void;
  /** Tells other replicas that these locks have changed. Never waits, never fails. */
  announce(lockIds: readonly bigint[]): void;
  /** No hint comes after it has resolved. Can be called twice. */
  stop(): Promise<void>;
}
