// Who on this replica wants to hear of the end of which lease: sessions, of those that they hold.

import type { Claim, ClaimRef } from "../../core/claim.ts";

type EndListener = (ended: Claim) => void;

/**
 * Listeners for the end of leases, for any cause. They hear what this replica commits; the next Renew finds what another
 * replica has ended.
 */
export class HeldLeases {
  /** By the lease's secret, which no other lease has. */
  readonly #listeners = new Map<string, EndListener[]>();

  /** Number of leases that have listeners. */
  get count(): number {
    return this.#listeners.size;
  }

  /** Calls `listener` at most once, synchronously; it must not throw. Returns a function that removes the listener. */
  add({ secret }: Pick<ClaimRef, "secret">, listener: EndListener): () => void {
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

  #remove(secret: string, listener: EndListener): void {
    const listeners = this.#listeners.get(secret);
    const index = listeners?.indexOf(listener) ?? -1;
    if (!listeners || index < 0) return;
    if (listeners.length === 1) this.#listeners.delete(secret);
    else listeners.splice(index, 1);
  }
}
