// Finds the guard rows that any replica decided about since the last sweep, along the index by the time of the last
// decision. That time may lie up to a second before the decision, and a decision becomes visible only when its
// transaction commits. So each sweep goes back more than a second behind the one before it, and once a second a sweep
// goes back by more than any transaction lasts.

import type { DecidedLock, DecidedPage, Store } from "../../storage/store.ts";
import { DECIDED_AT_STEP_US } from "../../storage/store.ts";
import {
  CLOCK_BACK_US,
  DECIDED_ROWS_MAX,
  SWEEP_BEHIND_MS,
  TRANSACTION_US_MAX,
  TRANSACTION_US_USUAL,
  WIDE_SWEEP_MS,
} from "../engine-bounds.ts";

/** Why earlier knowledge is no longer valid. */
export type Break = "outage" | "failed_over" | "clock";

export interface DecidedSweepsOptions {
  readonly read: Store["decidedSince"];
  readonly onSeen: (lock: DecidedLock) => void;
  /** The chain of sweeps has a gap, or the rows were replaced. */
  readonly onBreak: (why: Break) => void;
}

/** No decision is later than this. */
const NEVER = { atUs: Number.MAX_SAFE_INTEGER, afterLockId: 0n };

export class DecidedSweeps {
  readonly #options: DecidedSweepsOptions;
  /** When the last sweep began, by the database's clock; null: none so far. */
  #sweptUs: number | null = null;
  #widelySweptUs = 0;
  /** performance.now() when the last sweep began, and when the last wide sweep began. */
  #sweptMs = 0;
  #widelySweptMs = 0;
  #epoch = 0n;
  #rulesRevision = -1n;

  constructor(options: DecidedSweepsOptions) {
    this.#options = options;
  }

  get hasBegun(): boolean {
    return this.#sweptUs !== null;
  }

  /** From its resolution on, sweeps find new decisions. */
  async begin(): Promise<void> {
    if (this.hasBegun) return;
    const beganMs = performance.now();
    const page = await this.#options.read(NEVER, null, 1);
    if (this.hasBegun) return;
    this.#epoch = page.epoch;
    this.#rulesRevision = page.rulesRevision;
    this.#done(page.nowUs, beganMs, true);
  }

  /** Nobody listens any more. */
  end(): void {
    this.#sweptUs = null;
  }

  /** Reports what it finds. Resolves with whether limit rules have changed since the last sweep. */
  async sweep(): Promise<boolean> {
    if (this.#sweptUs === null) return false;
    const beganMs = performance.now();
    const isWide = beganMs - this.#widelySweptMs >= WIDE_SWEEP_MS;
    const sinceUs = isWide ? this.#widelySweptUs - TRANSACTION_US_MAX : this.#sweptUs - TRANSACTION_US_USUAL;
    const first = await this.#page({ atUs: sinceUs - DECIDED_AT_STEP_US, afterLockId: 0n }, null);
    const why = this.#breakAt(first, beganMs);
    const rulesChanged = first.rulesRevision !== this.#rulesRevision;
    for (let page = first; page.next; ) page = await this.#page(page.next, first.nowUs);
    if (why) this.#options.onBreak(why);
    this.#epoch = first.epoch;
    this.#rulesRevision = first.rulesRevision;
    this.#done(first.nowUs, beganMs, isWide || why !== null);
    return rulesChanged;
  }

  async #page(from: Parameters<Store["decidedSince"]>[0], untilUs: number | null): Promise<DecidedPage> {
    const page = await this.#options.read(from, untilUs, DECIDED_ROWS_MAX);
    for (const lock of page.locks) this.#options.onSeen(lock);
    return page;
  }

  #breakAt({ nowUs, epoch }: DecidedPage, beganMs: number): Break | null {
    if (epoch !== this.#epoch) return "failed_over";
    if (nowUs < (this.#sweptUs ?? 0) - CLOCK_BACK_US) return "clock";
    return beganMs - this.#sweptMs > SWEEP_BEHIND_MS ? "outage" : null;
  }

  #done(nowUs: number, beganMs: number, isWide: boolean): void {
    this.#sweptUs = nowUs;
    this.#sweptMs = beganMs;
    if (!isWide) return;
    this.#widelySweptUs = nowUs;
    this.#widelySweptMs = beganMs;
  }
}
