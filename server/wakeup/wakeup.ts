// The seam for wake-ups between replicas. A wake-up is a hint that something may have changed. The truth is in the
// database, and the woken replica reads it there. A lost or a false hint costs only time.

import type { ClaimKey } from "../core/claim.ts";

/** A claim that was granted after a wait, and the replica that its waiter hangs on. */
export interface GrantedElsewhere extends ClaimKey {
  readonly replica: bigint;
}

export interface Wakeup {
  /**
   * Calls `onHint` now and then: with claims that may have been granted, or without any, which means all that the
   * replica has waiters for. Waits until a hint is processed before it gives the next one of its kind.
   */
  start(onHint: (claims?: readonly ClaimKey[]) => Promise<void>): void;
  /** Notifies other replicas that claims were granted whose waiters hang on them. Never waits, never fails. */
  announce(granted: readonly GrantedElsewhere[]): void;
  /** No hint comes after this has resolved. Can be called twice. */
  stop(): Promise<void>;
}
