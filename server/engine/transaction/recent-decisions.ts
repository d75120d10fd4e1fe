// What the decisions of the last seconds say about the database: whether clients' transactions succeed. Keeps only
// a few times and one error, so that it costs a decision next to nothing.

import { RECENT_DECISIONS_MS } from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
import { isHeldUp } from "./attempts.ts";

export interface Recent {
  /** Whether a transaction was committed. */
  readonly committed: boolean;
  /** performance.now() of the last commit; -Infinity: none so far. */
  readonly committedMs: number;
  /** The last failure that was due to the database; null: none. */
  readonly failure: Fault | null;
  /** Something failed that may concern only one lock, or was no decision. */
  readonly isSuspect: boolean;
}

export class RecentDecisions {
  #committedMs = Number.NEGATIVE_INFINITY;
  #failedMs = Number.NEGATIVE_INFINITY;
  #failure: Fault | null = null;
  #suspectedMs = Number.NEGATIVE_INFINITY;
  readonly #onTrouble: () => void;

  /** Calls `onTrouble` on each failure. `onTrouble` must not throw. */
  constructor(onTrouble: () => void) {
    this.#onTrouble = onTrouble;
  }

  committed(): void {
    this.#committedMs = performance.now();
  }

  /** Records a failed decision. A lock that another transaction holds says nothing about the other locks. */
  failed(error: unknown): void {
    if (!(error instanceof Fault) || error.kind !== "unavailable") return;
    if (!isHeldUp(error)) {
      this.#failedMs = performance.now();
      this.#failure = error;
    }
    this.suspected();
  }

  /** Records another failure of something that needs the database. */
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
