// Who wants to hear that a lease has ended, whoever ended it. Told by what this replica commits; what another one has
// ended is found by the next Renew.

import { type Claim, type ClaimKey, keyText } from "../../core/claim.ts";

type Listener = (ended: Claim) => void;

export class HeldLeases {
  readonly #listeners = new Map<string, Set<Listener>>();

  /** Leases that somebody wants to hear of. */
  get count(): number {
    return this.#listeners.size;
  }

  /** Calls `listener` once at most, synchronously; it must not throw. Returns what takes it away. */
  add(lease: ClaimKey, listener: Listener): () => void {
    const key = keyText(lease);
    const listeners = this.#listeners.get(key) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(key, listeners);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }

  ended(claim: Claim): void {
    if (this.#listeners.size === 0) return;
    const key = keyText(claim);
    const listeners = this.#listeners.get(key);
    if (!listeners) return;
    this.#listeners.delete(key);
    for (const listener of listeners) listener(claim);
  }
}
