// The seam for wake-ups between replicas: a hint that something may have changed, never the truth. The truth is in the
// database, and whoever is woken reads it there; a lost or a false hint costs time, nothing else.

import type { ClaimKey } from "../core/claim.ts";

/** A claim that was granted after a wait at a replica. */
export interface GrantedElsewhere extends ClaimKey {
  readonly replica: bigint;
}

export interface Wakeup {
  /**
   * Calls `onHint` now and then: with the claims that may have been granted, or without any, which means all that the
   * replica has waiters for. Waits for a hint to be worked off before the next one of its kind.
   */
  start(onHint: (claims?: readonly ClaimKey[]) => Promise<void>): void;
  /** Tells other replicas that claims were granted whose waiters hang on them. Never waits, never fails. */
  announce(granted: readonly GrantedElsewhere[]): void;
  /** No hint comes after it has resolved. Can be called twice. */
  stop(): Promise<void>;
}
