// What the decisions of the last seconds say of the database: whether transactions of clients get through. Owns two times and
// one error, so that it costs a decision next to nothing.

import { RECENT_DECISIONS_MS } from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
import { isHeldUp } from "./attempts.ts";

export interface Recent {
  /** Whether a transaction was committed. */
  readonly committed: boolean;
  /** performance.now() of the last commit; -Infinity: there was none. */
  readonly committedMs: number;
  /** Why the last one failed of those that failed because of the database; null: none did. */
  readonly failure: Fault | null;
  /** Something failed that may be about one lock alone, or was no decision. */
  readonly isSuspect: boolean;
}

export class RecentDecisions {
  #committedMs = Number.NEGATIVE_INFINITY;
  #failedMs = Number.NEGATIVE_INFINITY;
  #failure: Fault | null = null;
  #suspectedMs = Number.NEGATIVE_INFINITY;
  readonly #onTrouble: () => void;

  /** `onTrouble` is called whenever something fails. It must not throw. */
  constructor(onTrouble: () => void) {
    this.#onTrouble = onTrouble;
  }

  committed(): void {
    this.#committedMs = performance.now();
  }

  /** A decision failed. A lock that another transaction holds says nothing of the others. */
  failed(error: unknown): void {
    if (!(error instanceof Fault) || error.kind !== "unavailable") return;
    if (!isHeldUp(error)) {
      this.#failedMs = performance.now();
      this.#failure = error;
    }
    this.suspected();
  }

  /** Something else failed that needs the database. */
  suspected(): void {
    this.#suspectedMs = performance.now();
    this.#onTrouble();
  }

  get recent(): Recent {
    const fromMs = performance.now() - RECENT_DECISIONS_MS;
    return {
      committed: this.#committedMs >= fromMs,
      committedMs: this.#committedMs,
      failure: this.#failedMs >= fromMs ? this.#failure : null,
      isSuspect: this.#suspectedMs >= fromMs,
    };
  }
}
