// Finds the claims that got their times while the database's clock was ahead, after it was set back, and the locks with waiters
// whose rate counts from then. A decision gives them their times again (core/transitions.ts), but nobody decides about the
// lease of a holder that is gone, nor about a lock whose waiters wait for such a time. So this replica looks at all of them
// once when it starts, and whenever it sees that the clock was set back: it may be the only one that sees it.

import { partsOf } from "../../core/bounds.ts";
import type { ClaimKey } from "../../core/claim.ts";
import { effectiveRate } from "../../core/limit.ts";
import { correctedUntilUs } from "../../core/rate.ts";
import { isFromAhead } from "../../core/transitions.ts";
import type { Store } from "../../storage/store.ts";
import * as bounds from "../engine-bounds.ts";
import type { Advances } from "../transaction/advances.ts";

export interface ClaimsFromAheadOptions {
  readonly store: Pick<Store, "claimTimes" | "busyLocks" | "limitRules" | "clock">;
  readonly advances: Pick<Advances, "start">;
}

/** A claim, or (without a ticket number) a lock because of its rate. */
type Found = Pick<ClaimKey, "lockId"> & Partial<ClaimKey>;

export class ClaimsFromAhead {
  readonly #options: ClaimsFromAheadOptions;
  /** performance.now() when the clock was last set back, or may have been. */
  #setBackMs = performance.now();
  /** performance.now() when all claims are to be looked at. */
  #lookMs = Number.NEGATIVE_INFINITY;
  /** Found and not brought back yet. */
  #found: Found[] = [];

  constructor(options: ClaimsFromAheadOptions) {
    this.#options = options;
    options.store.clock.onJump((byUs) => {
      if (byUs >= 0) return;
      this.#setBackMs = performance.now();
      this.#lookMs = this.#setBackMs;
    });
  }

  /** Looks if it is time for that, and brings back some of what was found. To be called again and again. */
  async bringBack(): Promise<void> {
    if (this.#found.length === 0 && performance.now() >= this.#lookMs) await this.#look();
    const round = this.#found.splice(0, bounds.AHEAD_CLAIMS_MAX * bounds.AHEAD_ROUNDS_MAX);
    for (const part of partsOf(round, bounds.AHEAD_CLAIMS_MAX)) {
      const byLock = Map.groupBy(part, ({ lockId }) => lockId);
      const { advances } = this.#options;
      // Those whose advances fail are found again.
      await Promise.all(
        [...byLock].map(([id, found]) => advances.start(id, { verb: "advance", claims: claimsOf(found) })),
      );
    }
  }

  async #look(): Promise<void> {
    const { store } = this.#options;
    const beganMs = performance.now();
    const found: Found[] = [];
    const nowUsOrNull = () => store.clock.latestUs(performance.now() * 1_000);
    // This replica has not read the clock yet.
    if (nowUsOrNull() === null) return;
    await store.claimTimes((claims) => {
      const nowUs = nowUsOrNull() as number;
      for (const claim of claims) if (isFromAhead(claim, nowUs)) found.push(claim);
    });
    const rules = await store.limitRules();
    await store.busyLocks((locks) => {
      const nowUs = nowUsOrNull() as number;
      for (const { lock } of locks) {
        const rate = lock.wakesAtUs === null ? null : effectiveRate(lock, rules);
        if (rate && correctedUntilUs(rate, lock.rateUntilUs, { nowUs }) < lock.rateUntilUs)
          found.push({ lockId: lock.id });
      }
    });
    this.#found = found;
    // If the clock was set back meanwhile, it is time for the next look already.
    if (this.#lookMs > beganMs) return;
    const isLast = found.length === 0 && beganMs >= this.#setBackMs + bounds.AHEAD_AGAIN_MS;
    this.#lookMs = isLast ? Number.POSITIVE_INFINITY : beganMs + bounds.AHEAD_AGAIN_MS;
  }
}

function claimsOf(found: readonly Found[]): ClaimKey[] {
  return found.flatMap(({ lockId, ticketNumber }) =>
    ticketNumber === undefined ? [] : [{ lockId, ticketNumber }],
  );
}
