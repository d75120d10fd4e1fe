// Listeners for the end of leases, for any cause. They hear what this replica commits; the next Renew finds what
// another replica has ended.

import type { Claim, ClaimRef } from "../../core/claim.ts";

type Listener = (ended: Claim) => void;

export class HeldLeases {
  /** By the lease's secret, which no other lease has. */
  readonly #listeners = new Map<string, Listener[]>();

  /** Number of leases that have listeners. */
  get count(): number {
    return this.#listeners.size;
  }

  /** Calls `listener` at most once, synchronously; it must not throw. Returns a function that removes the listener. */
  add({ secret }: Pick<ClaimRef, "secret">, listener: Listener): () => void {
    const listeners = this.#listeners.get(secret);
    if (listeners) listeners.push(listener);
    else this.#listeners.set(secret, [listener]);
    return () => this.#remove(secret, listener);
  }

  ended(claim: Claim): void {
    if (this.#listeners.size === 0) return;
    const listeners = this.#listeners.get(claim.secret);
    if (!listeners) return;
    this.#listeners.delete(claim.secret);
    for (const listener of listeners) listener(claim);
  }

  #remove(secret: string, listener: Listener): void {
    const listeners = this.#listeners.get(secret);
    const place = listeners?.indexOf(listener) ?? -1;
    if (!listeners || place < 0) return;
    if (listeners.length === 1) this.#listeners.delete(secret);
    else listeners.splice(place, 1);
  }
}
