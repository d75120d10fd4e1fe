// Brings locks up to date in the background: ends what is due and grants what fits. A lock has one advance at a time,
// and none fails for another. An advance that somebody will ask for again is started; one that nobody else would do is
// owed, and tried until it is done.

import { OWED_AT_ONCE_MAX } from "../engine-bounds.ts";
import { isHeldUp } from "../transaction/attempts.ts";

export interface AdvancesOptions {
  /** One transaction. */
  readonly advance: (lockId: bigint) => Promise<void>;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class Advances {
  readonly #options: AdvancesOptions;
  readonly #underWay = new Map<bigint, Promise<void>>();
  readonly #owed = new Set<bigint>();

  constructor(options: AdvancesOptions) {
    this.#options = options;
  }

  /** Starts one, unless one is under way. Resolves when it is over, however it ended; never rejects. */
  start(lockId: bigint): Promise<void> {
    const underWay = this.#underWay.get(lockId);
    if (underWay) return underWay;
    const started = this.#run(lockId);
    this.#underWay.set(lockId, started);
    return started;
  }

  /** Sees to it that one is begun from now on, and gets through. Resolves when the first try is over; never rejects. */
  async owe(lockId: bigint): Promise<void> {
    this.#owed.add(lockId);
    // One that is under way may have decided already.
    await this.#underWay.get(lockId);
    if (this.#owed.has(lockId)) await this.start(lockId);
  }

  /** Tries again what is owed. */
  again(): void {
    for (const lockId of [...this.#owed].slice(0, OWED_AT_ONCE_MAX)) void this.start(lockId);
  }

  async #run(lockId: bigint): Promise<void> {
    const wasOwed = this.#owed.delete(lockId);
    try {
      await this.#options.advance(lockId);
    } catch (error) {
      // At the end, so that those which fail again and again do not come first again.
      if (wasOwed) this.#owed.add(lockId);
      if (!isHeldUp(error)) this.#options.onFailure("advance", error);
    } finally {
      this.#underWay.delete(lockId);
    }
  }
}
