// Watches the database's clock against this process's monotonic one, with every transaction. A database whose clock is
// set ahead would end all leases at once while their holders still count on them; so from a jump on, nothing that was
// given before is due until its time has passed once more.
//
// A reading was made at some time between its question and its answer, so it says how far the database's clock is ahead
// only to within that. A step is believed as soon as this cannot explain it.

import { CLOCK_DRIFT_MAX } from "../core/bounds.ts";
import type { Clock } from "../core/draft.ts";
import { CLOCK_JUMP_US_MIN } from "./engine-bounds.ts";

export class ClockGuard {
  readonly #onJump: (byUs: number) => void;
  readonly #monotonicUs: () => number;
  /** How far the database's clock is ahead of the monotonic one: the highest that is certain, less what drift explains. */
  #aheadUs: number | undefined;
  #readAtUs = 0;
  #jumpedAtUs: number | null = null;
  /** Whether the next reading is the first one after this replica was away from the database: so at its start. */
  #isBack = true;
  #backAtUs: number | null = null;

  /** `onJump` is told by how much: positive is ahead. */
  constructor(onJump: (byUs: number) => void, monotonicUs: () => number = () => performance.now() * 1_000) {
    this.#onJump = onJump;
    this.#monotonicUs = monotonicUs;
  }

  /** The time of a question that is about to be sent, to be given to `read` with the answer. */
  ask(): number {
    return this.#monotonicUs();
  }

  /** To be called when this replica can reach the database again after it could not for a while. */
  cameBack(): void {
    this.#isBack = true;
  }

  /** To be called with each reading of the database's clock, before anything is decided by it. */
  read(nowUs: number, askedUs: number): Clock {
    const monotonicUs = this.#monotonicUs();
    const aheadUs = nowUs - monotonicUs;
    const beforeUs = this.#aheadUs ?? aheadUs;
    const slackUs = (monotonicUs - this.#readAtUs) * CLOCK_DRIFT_MAX;
    this.#readAtUs = monotonicUs;
    const atMostUs = nowUs - askedUs;
    if (aheadUs >= beforeUs + slackUs + CLOCK_JUMP_US_MIN) {
      this.#aheadUs = aheadUs;
      this.#jumpedAtUs = nowUs;
      this.#onJump(aheadUs - beforeUs);
    } else if (atMostUs <= beforeUs - slackUs - CLOCK_JUMP_US_MIN) {
      // What is granted from here on ends early when the clock is set right again: that is then a step ahead.
      this.#aheadUs = aheadUs;
      // An earlier jump ahead was as long ago as before. Left where it was, it would lie ahead of the clock, and nothing
      // would be due until the clock came by there again.
      if (this.#jumpedAtUs !== null) this.#jumpedAtUs += atMostUs - beforeUs;
      if (this.#backAtUs !== null) this.#backAtUs += atMostUs - beforeUs;
      this.#onJump(atMostUs - beforeUs);
    } else this.#aheadUs = Math.max(aheadUs, beforeUs - slackUs);
    if (this.#isBack) this.#backAtUs = nowUs;
    this.#isBack = false;
    return { nowUs, jumpedAtUs: this.#jumpedAtUs, backAtUs: this.#backAtUs };
  }
}
