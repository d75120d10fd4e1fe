// Brings locks up to date in the background: ends what is due and grants what fits. A lock has one advance at a time,
// and one failing advance does not affect the others. An advance that will be requested again is started once. An
// advance that nobody else would do is owed, and retried until it succeeds. While the database fails, one advance at a
// time tries whether it works again.

import type { Advance } from "../../core/command.ts";
import { OWED_AT_ONCE_MAX } from "../engine-bounds.ts";
import { Fault, isHeldUp } from "../faults.ts";
import { Backoff } from "../loop.ts";

export interface AdvancesOptions {
  /** Rejects with a Fault, or throws one at once. */
  readonly submit: (lockId: bigint, command: Advance) => Promise<unknown>;
  readonly onFailure: (loop: string, error: unknown) => void;
}

const ADVANCE: Advance = { verb: "advance" };

export class Advances {
  readonly #options: AdvancesOptions;
  readonly #underWay = new Map<bigint, Promise<void>>();
  readonly #owed = new Set<bigint>();
  readonly #backoff = new Backoff();
  /** performance.now() before which no advance begins. */
  #restUntilMs = 0;
  /** The lock whose advance tries whether the database works again. */
  #trial: bigint | null = null;

  constructor(options: AdvancesOptions) {
    this.#options = options;
  }

  /** Does nothing if one is under way or the database failed a moment ago. Resolves when it is over; never rejects. */
  start(lockId: bigint, command = ADVANCE): Promise<void> {
    const underWay = this.#underWay.get(lockId);
    if (underWay) return underWay;
    if (this.#backoff.restMs > 0) {
      if (this.#trial !== null || performance.now() < this.#restUntilMs) return Promise.resolve();
      this.#trial = lockId;
    }
    // The end is a tick of its own: an advance that is refused at once ends after it was noted as under way.
    const started = this.#run(lockId, command).finally(() => this.#over(lockId));
    this.#underWay.set(lockId, started);
    return started;
  }

  /** Makes sure that an advance begins from now on and succeeds. Resolves after the first try; never rejects. */
  async owe(lockId: bigint): Promise<void> {
    this.#owed.add(lockId);
    // An advance under way may have decided already.
    await this.#underWay.get(lockId);
    if (this.#owed.has(lockId)) await this.start(lockId);
  }

  /** Retries what is owed. */
  again(): void {
    for (const lockId of [...this.#owed].slice(0, OWED_AT_ONCE_MAX)) void this.start(lockId);
  }

  async #run(lockId: bigint, command: Advance): Promise<void> {
    const wasOwed = this.#owed.delete(lockId);
    try {
      await this.#options.submit(lockId, command);
      this.#backoff.succeeded();
    } catch (error) {
      // At the end, so that advances which keep failing do not come first again.
      if (wasOwed) this.#owed.add(lockId);
      if (isHeldUp(error)) return;
      if (error instanceof Fault) this.#rest();
      this.#options.onFailure("advance", error);
    }
  }

  #over(lockId: bigint): void {
    this.#underWay.delete(lockId);
    if (this.#trial === lockId) this.#trial = null;
  }

  /** Failures of advances that were under way together have one cause, and prolong the rest only once. */
  #rest(): void {
    const nowMs = performance.now();
    if (nowMs < this.#restUntilMs) return;
    this.#backoff.failed();
    this.#restUntilMs = nowMs + this.#backoff.restMs;
  }
}
