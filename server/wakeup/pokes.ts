// Wake-ups by pokes: the replica that grants a claim notifies the replica that its waiter hangs on. The poll goes on
// beside them, and finds the grants whose poke is missing or came too early.

import type { ClaimKey } from "../core/claim.ts";
import type { GrantedElsewhere, Wakeup } from "./wakeup.ts";

export interface PokesOptions {
  readonly poll: Wakeup;
  readonly send: (granted: GrantedElsewhere) => void;
  readonly onFailure: (loop: string, error: unknown) => void;
}

/** Claims that one hint names. Claims beyond that wait for the poll: one read of their locks serves a crowd faster. */
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

  /**
   * Another replica reports that these were granted. Claims that arrive while a hint is processed go together into
   * the next.
   */
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
