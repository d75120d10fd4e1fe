// Reports which locks were decided about, by any server, to listeners that do not know the locks beforehand. What this
// server commits is reported at once. What other servers commit is found by sweeps, one for all listeners, along the
// index by the time of the last decision. That time may lie up to a second before the decision, and a decision becomes
// visible only when its transaction commits. So each sweep goes back more than a second behind the one before it, and
// once a second a wide one by more than any transaction lasts; a lock is reported repeatedly. A wide sweep also reads one
// page ahead of the clock, in turn: decisions lie there if the clock was set ahead and back, and no sweep saw them then.
// Sweeps run only while there are listeners, and rest in between, to leave the database to others.

import {
  DECIDED_AT_STEP_US,
  type DecidedFrom,
  type DecidedLock,
  type DecidedPage,
  type Store,
} from "../../storage/store.ts";
import * as bounds from "../engine-bounds.ts";
import { Loop } from "../loop.ts";

/** Why earlier reports are no longer valid. */
export type Gap = "outage" | "failed_over" | "clock";

/** The feed calls these methods synchronously: they must not throw, and a listener that has to read does so later. */
export interface DecisionListener {
  /** A server has decided about the lock: this one just now, or any server lately. */
  decided(lock: DecidedLock): void;
  /** Limit rules with these prefixes have changed. */
  rulesChanged(prefixes: readonly string[]): void;
  /** Decisions may have been missed, or the rows were replaced. */
  missed(why: Gap): void;
}

export interface DecisionFeedOptions {
  readonly read: Store["decidedSince"];
  /** How often sweeps follow each other while they are quick. */
  readonly intervalMs: number;
  readonly onFailure: (loop: string, error: unknown) => void;
}

/** No decision is later than this. */
const NEVER = { atUs: Number.MAX_SAFE_INTEGER, afterLockId: 0n };

export class DecisionFeed {
  readonly #options: DecisionFeedOptions;
  /** A commit without listeners need not be reported. */
  readonly listeners = new Set<DecisionListener>();
  readonly #sweeps: Loop;
  /** When the last sweep began, by the database's clock; null: nobody listens. */
  #sweptUs: number | null = null;
  #widelySweptUs = 0;
  /** performance.now() when the last sweep began, and when the last wide sweep began. */
  #sweptMs = 0;
  #widelySweptMs = 0;
  /** Where the next page of decisions ahead of the clock begins; null: at the clock. */
  #ahead: DecidedFrom | null = null;
  #epoch = 0n;

  constructor(options: DecisionFeedOptions) {
    this.#options = options;
    const { intervalMs, onFailure } = options;
    this.#sweeps = new Loop({
      ...{ name: "watches", intervalMs, restMsMax: bounds.POLL_REST_MS_MAX, onFailure },
      restMsAfter: (sweepMs) => Math.min(sweepMs * bounds.WATCH_REST_SHARE, bounds.WATCH_REST_MS_MAX),
      run: () => this.#sweep(),
    });
  }

  /** Resolves when the feed reports every decision from then on. Throws StoreErrors; sweeps then try to begin. */
  async begin(listener: DecisionListener): Promise<void> {
    this.listeners.add(listener);
    this.#sweeps.start();
    await this.#begin();
  }

  end(listener: DecisionListener): void {
    this.listeners.delete(listener);
    this.#endIfUnheard();
  }

  committed(written: Iterable<{ readonly lock: DecidedLock }>): void {
    for (const { lock } of written) this.#decided(lock);
  }

  rulesChanged(prefixes: readonly string[]): void {
    for (const listener of this.listeners) listener.rulesChanged(prefixes);
  }

  /** Resolves when no sweep is under way. Listeners must have left. */
  stop(): Promise<void> {
    return this.#sweeps.stop();
  }

  /** Also after each read, because the last listener may have left during it. */
  #endIfUnheard(): void {
    if (this.listeners.size > 0) return;
    this.#sweptUs = null;
    void this.#sweeps.stop();
  }

  async #begin(): Promise<void> {
    if (this.#sweptUs !== null) return;
    const beganMs = performance.now();
    const page = await this.#options.read(NEVER, null, 1);
    if (this.#sweptUs !== null) return;
    this.#swept(page, beganMs, true);
  }

  async #sweep(): Promise<void> {
    if (this.#sweptUs === null) return await this.#begin();
    const beganMs = performance.now();
    const isWide = beganMs - this.#widelySweptMs >= bounds.WIDE_SWEEP_MS;
    const sinceUs = isWide
      ? this.#widelySweptUs - bounds.TRANSACTION_US_MAX
      : this.#sweptUs - bounds.TRANSACTION_US_USUAL;
    const first = await this.#page({ atUs: sinceUs - DECIDED_AT_STEP_US, afterLockId: 0n }, null);
    const gap = this.#gapBefore(first, beganMs);
    for (let page = first; page.next; ) page = await this.#page(page.next, first.nowUs);
    if (isWide) await this.#sweepAhead(first.nowUs);
    if (gap) for (const listener of this.listeners) listener.missed(gap);
    this.#swept(first, beganMs, isWide || gap !== null);
  }

  async #sweepAhead(nowUs: number): Promise<void> {
    const now = { atUs: nowUs, afterLockId: 0n };
    const from = this.#ahead && this.#ahead.atUs > nowUs ? this.#ahead : now;
    this.#ahead = (await this.#page(from, NEVER.atUs)).next;
  }

  async #page(from: DecidedFrom, untilUs: number | null): Promise<DecidedPage> {
    const page = await this.#options.read(from, untilUs, bounds.DECIDED_ROWS_MAX);
    for (const lock of page.locks) this.#decided(lock);
    return page;
  }

  #decided(lock: DecidedLock): void {
    for (const listener of this.listeners) listener.decided(lock);
  }

  #gapBefore({ nowUs, epoch }: DecidedPage, beganMs: number): Gap | null {
    if (epoch !== this.#epoch) return "failed_over";
    if (nowUs < (this.#sweptUs ?? 0) - bounds.CLOCK_BACK_US) return "clock";
    return beganMs - this.#sweptMs > bounds.SWEEP_BEHIND_MS ? "outage" : null;
  }

  #swept({ nowUs, epoch }: DecidedPage, beganMs: number, isWide: boolean): void {
    this.#epoch = epoch;
    this.#sweptUs = nowUs;
    this.#sweptMs = beganMs;
    if (isWide) {
      this.#widelySweptUs = nowUs;
      this.#widelySweptMs = beganMs;
    }
    this.#endIfUnheard();
  }
}

/** Calls back when something becomes due. Of two times for one key, the earlier counts. */
export class DueTimers<Key> {
  readonly #onDue: (key: Key) => void;
  readonly #timers = new Map<Key, { readonly atMs: number; readonly timer: NodeJS.Timeout }>();
  #isStopped = false;

  constructor(onDue: (key: Key) => void) {
    this.#onDue = onDue;
  }

  set(key: Key, inMs: number): void {
    const atMs = performance.now() + inMs;
    if (this.#isStopped || atMs >= (this.#timers.get(key)?.atMs ?? Number.POSITIVE_INFINITY)) return;
    this.clear(key);
    const timer = setTimeout(() => {
      this.#timers.delete(key);
      this.#onDue(key);
    }, inMs);
    this.#timers.set(key, { atMs, timer });
  }

  clear(key: Key): void {
    clearTimeout(this.#timers.get(key)?.timer);
    this.#timers.delete(key);
  }

  /** Nothing is called back after this. */
  stop(): void {
    this.#isStopped = true;
    for (const key of [...this.#timers.keys()]) this.clear(key);
  }
}
