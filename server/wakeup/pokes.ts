// Wake-ups by pokes: the replica that grants tells the one where the waiter is. The poll goes on beside them, as the truth
// for whatever no poke tells of, or tells too early.

import type { ClaimKey } from "../core/claim.ts";
import type { GrantedElsewhere, Wakeup } from "./wakeup.ts";

export interface PokesOptions {
  readonly poll: Wakeup;
  readonly send: (granted: GrantedElsewhere) => void;
  readonly onFailure: (loop: string, error: unknown) => void;
}

/** Claims that one hint names. Those beyond wait for the poll: a crowd is told faster by one read of its locks. */
const CLAIMS_MAX = 1_000;

export class Pokes implements Wakeup {
  readonly #options: PokesOptions;
  #onHint: ((claims: readonly ClaimKey[]) => Promise<void>) | null = null;
  #poked: ClaimKey[] = [];
  #telling: Promise<void> | null = null;

  constructor(options: PokesOptions) {
    this.#options = options;
  }

  start(onHint: (claims?: readonly ClaimKey[]) => Promise<void>): void {
    this.#onHint = onHint;
    this.#options.poll.start(onHint);
  }

  announce(granted: readonly GrantedElsewhere[]): void {
    for (const claim of granted) this.#options.send(claim);
  }

  /** Another replica says that these were granted. Those that come while others are worked off go together. */
  poked(claims: readonly ClaimKey[]): void {
    this.#poked.push(...claims.slice(0, CLAIMS_MAX - this.#poked.length));
    if (this.#onHint) this.#telling ??= this.#tell(this.#onHint);
  }

  async stop(): Promise<void> {
    this.#onHint = null;
    await this.#options.poll.stop();
    await this.#telling;
  }

  async #tell(onHint: (claims: readonly ClaimKey[]) => Promise<void>): Promise<void> {
    while (this.#onHint && this.#poked.length > 0) {
      await onHint(this.#poked.splice(0)).catch((error: unknown) => this.#options.onFailure("poke", error));
    }
    this.#telling = null;
  }
}
