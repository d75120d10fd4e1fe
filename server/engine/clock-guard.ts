// Watches the database's clock against this process's monotonic one, with every transaction. A database whose clock is
// set ahead would end all leases at once while their holders still count on them; so from a jump on, nothing that was
// given before is due until its time has passed once more.
//
// A reading that was long on its way makes the database's clock look slow, never fast. So a step ahead is believed at
// once, a step back only when it lasts.

import type { Clock } from "../core/draft.ts";
import { CLOCK_DRIFT_MAX, CLOCK_JUMP_US_MIN, CLOCK_STEP_BACK_LASTS_US } from "./engine-bounds.ts";

export class ClockGuard {
  readonly #onJump: (byUs: number) => void;
  readonly #monotonicUs: () => number;
  /** How far the database's clock is ahead of the monotonic one: the highest that was seen, less what drift explains. */
  #aheadUs: number | undefined;
  #readAtUs = 0;
  /** Since when all readings are too low for delays of the usual kind, and the highest of them. */
  #low: { readonly sinceUs: number; aheadUs: number } | undefined;
  #jumpedAtUs: number | null = null;

  /** `onJump` is told by how much: positive is ahead. */
  constructor(onJump: (byUs: number) => void, monotonicUs: () => number = () => performance.now() * 1_000) {
    this.#onJump = onJump;
    this.#monotonicUs = monotonicUs;
  }

  /** To be called with each reading of the database's clock, before anything is decided by it. */
  read(nowUs: number): Clock {
    const monotonicUs = this.#monotonicUs();
    const aheadUs = nowUs - monotonicUs;
    const beforeUs = this.#aheadUs ?? aheadUs;
    const slackUs = (monotonicUs - this.#readAtUs) * CLOCK_DRIFT_MAX;
    this.#readAtUs = monotonicUs;
    this.#aheadUs = Math.max(aheadUs, beforeUs - slackUs);
    if (aheadUs >= beforeUs + slackUs + CLOCK_JUMP_US_MIN) {
      this.#jumpedAtUs = nowUs;
      this.#onJump(aheadUs - beforeUs);
    }
    if (aheadUs > beforeUs - slackUs - CLOCK_JUMP_US_MIN) this.#low = undefined;
    else this.#believeStepBack(aheadUs, beforeUs, monotonicUs);
    return { nowUs, jumpedAtUs: this.#jumpedAtUs };
  }

  #believeStepBack(aheadUs: number, beforeUs: number, monotonicUs: number): void {
    this.#low ??= { sinceUs: monotonicUs, aheadUs };
    this.#low.aheadUs = Math.max(this.#low.aheadUs, aheadUs);
    if (monotonicUs - this.#low.sinceUs < CLOCK_STEP_BACK_LASTS_US) return;
    this.#aheadUs = this.#low.aheadUs;
    this.#onJump(this.#low.aheadUs - beforeUs);
    this.#low = undefined;
  }
}
