// Brings locks up to date in the background: ends what is due and grants what fits. A lock has one advance at a time,
// and none fails for another. An advance that somebody will ask for again is started; one that nobody else would do is
// owed, and tried until it is done. Where the database can do nothing, one advance at a time finds out whether it can again.

import { Backoff } from "../../wakeup/backoff.ts";
import { OWED_AT_ONCE_MAX } from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
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
  readonly #backoff = new Backoff();
  /** performance.now() before which none is begun. */
  #restUntilMs = 0;
  /** The one that finds out whether the database can be used again. */
  #trial: bigint | null = null;

  constructor(options: AdvancesOptions) {
    this.#options = options;
  }

  /**
   * Starts one, unless one is under way, or the database could do nothing a moment ago. Resolves when it is over, however it
   * ended; never rejects.
   */
  start(lockId: bigint): Promise<void> {
    const underWay = this.#underWay.get(lockId);
    if (underWay) return underWay;
    if (this.#backoff.restMs > 0) {
      if (this.#trial !== null || performance.now() < this.#restUntilMs) return Promise.resolve();
      this.#trial = lockId;
    }
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
      this.#backoff.succeeded();
    } catch (error) {
      // At the end, so that those which fail again and again do not come first again.
      if (wasOwed) this.#owed.add(lockId);
      if (isHeldUp(error)) return;
      if (error instanceof Fault) this.#rest();
      this.#options.onFailure("advance", error);
    } finally {
      this.#underWay.delete(lockId);
      if (this.#trial === lockId) this.#trial = null;
    }
  }

  /** Those that were under way together have failed of the same, and make it no longer. */
  #rest(): void {
    const nowMs = performance.now();
    if (nowMs < this.#restUntilMs) return;
    this.#backoff.failed();
    this.#restUntilMs = nowMs + this.#backoff.restMs;
  }
}
