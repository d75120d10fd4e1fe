// A worker loop: captures locks under a prefix, runs a handler with each of them, and releases each with a status. It
// outlives outages of servers, and when it stops, it waits for its handlers.

import { setTimeout as pause } from "node:timers/promises";
import { backoffMs } from "./backoff.ts";
import type { CaptureOptions } from "./capture.ts";
import type { Captured } from "./client.ts";
import type { Lock } from "./lock.ts";
import type { LogFields } from "./options.ts";
import type { ReleaseOptions } from "./records.ts";
import { RowlockError } from "./rowlock-error.ts";

/** A lock whose handler has failed, or whose worker has died, rests: twice as long each time, if nothing else is asked. */
const BACKOFF = { first: 1_000, max: 60_000 } as const;
/** Of how many such locks the loop knows how often that was. */
const REFUSED_LOCKS_MAX = 1_000;
/** The most locks of one capture. */
const COUNT_MAX = 100;

/** The options of a worker loop. All times are milliseconds. */
export interface WorkOptions
  extends Omit<CaptureOptions, "prefix" | "names" | "count" | "wait" | "requestId"> {
  /** How many handlers run at once; 1 by default. */
  readonly concurrency?: number;
  /** Stops the loop; handlers that run go on. */
  readonly signal?: AbortSignal | undefined;
  /** The lock's status when its handler has returned. Unset: as it was. */
  readonly statusWhenDone?: string;
  /** The lock's status when its handler has thrown; by default that of `statusIfLost`. */
  readonly statusWhenFailed?: string;
}

export interface WorkParts {
  readonly capture: (options: CaptureOptions) => Promise<Captured>;
  /** Runs a handler in the span of its lock. */
  readonly holding: (lock: Lock, run: () => Promise<void>) => Promise<void>;
  /** If the server refuses what a release of the lock says, the lock is given back with these options. */
  readonly ifRefused: (lock: Lock, options: ReleaseOptions) => void;
  /** Whether the lease had ended before the lock's release, unnoticed by this client. */
  readonly hadEnded: (lock: Lock) => boolean;
  readonly log: (message: string, fields: LogFields) => void;
}

export class Work {
  readonly #prefix: string;
  readonly #handler: (lock: Lock) => unknown;
  readonly #options: WorkOptions;
  readonly #parts: WorkParts;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();
  /** How often in a row the server has refused what a release of this lock said. */
  readonly #refusals = new Map<string, number>();
  #failures = 0;
  /** Resolves what the loop waits for. A race with a promise that outlives it would keep memory for each wait. */
  #wake: () => void = () => {};

  constructor(prefix: string, handler: (lock: Lock) => unknown, options: WorkOptions, parts: WorkParts) {
    this.#prefix = prefix;
    this.#handler = handler;
    this.#options = options;
    this.#parts = parts;
  }

  /** Resolves when it was stopped and all handlers have ended. Call it once. */
  async run(): Promise<void> {
    const { signal, concurrency = 1 } = this.#options;
    const stop = () => this.abandon();
    if (signal?.aborted) return;
    signal?.addEventListener("abort", stop);
    try {
      while (!this.#isStopped) {
        if (this.#running.size < concurrency) await this.#take(concurrency - this.#running.size);
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      signal?.removeEventListener("abort", stop);
      await Promise.all(this.#running);
    }
  }

  /** Takes no more locks. */
  abandon(): void {
    this.#stop.abort();
    this.#wake();
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Waits for up to `count` locks, and begins with them. */
  async #take(count: number): Promise<void> {
    const { concurrency: _, statusWhenDone: __, statusWhenFailed: ___, ...asked } = this.#options;
    // With a minInterval, a lock rests in any case.
    const backoff = asked.minInterval === undefined ? { backoff: BACKOFF } : {};
    try {
      const { locks } = await this.#parts.capture({
        ...backoff,
        ...asked,
        prefix: this.#prefix,
        count: Math.min(count, COUNT_MAX),
        wait: "forever",
        signal: this.#stop.signal,
      });
      this.#failures = 0;
      for (const lock of locks) this.#begin(lock);
    } catch (error) {
      if (!this.#isStopped) await this.#goesOn(error);
    }
  }

  /** Waits before the next try after a failed capture. Throws the error if no other try can help. */
  async #goesOn(error: unknown): Promise<void> {
    if (!(error instanceof RowlockError) || !error.isTransient || error.isHopeless) throw error;
    this.#failures += 1;
    if (this.#failures === 1)
      this.#parts.log(`The worker gets no locks: ${error.message}`, { reason: error.reason });
    const ms = backoffMs(this.#failures, error.retryAfterMs);
    await pause(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  #begin(lock: Lock): void {
    const running = this.#parts.holding(lock, () => this.#handle(lock));
    this.#running.add(running);
    void running.finally(() => {
      this.#running.delete(running);
      this.#wake();
    });
  }

  /** Runs the handler and releases its lock. Never rejects. */
  async #handle(lock: Lock): Promise<void> {
    const { statusWhenDone, statusIfLost, statusWhenFailed = statusIfLost, minInterval } = this.#options;
    // Without its new status, the lock could be taken again at once. With a minInterval it rests in any case.
    if (minInterval === undefined) this.#parts.ifRefused(lock, { coolDown: this.#restMs(lock.name) });
    try {
      await this.#handler(lock);
      await this.#release(lock, statusWhenDone === undefined ? {} : { status: statusWhenDone });
    } catch (error) {
      this.#parts.log(`The handler of the lock "${lock.name}" failed: ${error}`, { lock: lock.name });
      await this.#release(lock, {
        ...(statusWhenFailed !== undefined && { status: statusWhenFailed }),
        failed: true,
      });
    }
  }

  async #release(lock: Lock, options: ReleaseOptions): Promise<void> {
    try {
      await lock.release(options);
      // A loss that the client has noticed itself is in the log already. A release that ended nothing is no loss if it
      // was repeated, as the first one may have got through.
      if (this.#parts.hadEnded(lock)) throw RowlockError.hadEnded(lock.name);
      this.#refusals.delete(lock.name);
    } catch (error) {
      const { message, reason } = RowlockError.of(error);
      const rest = reason === "BAD_REQUEST" ? this.#refused(lock.name) : "";
      this.#parts.log(`The lock "${lock.name}" was not released: ${message}${rest}`, {
        lock: lock.name,
        reason,
      });
    }
  }

  /** Takes a release that the server has refused, and says for how long the lock rests. */
  #refused(name: string): string {
    const rests = ` It rests for ${this.#restMs(name) / 1_000} s.`;
    if (this.#refusals.size >= REFUSED_LOCKS_MAX) this.#refusals.clear();
    this.#refusals.set(name, (this.#refusals.get(name) ?? 0) + 1);
    return this.#options.minInterval === undefined ? rests : "";
  }

  /** How long the lock rests if the server refuses its release now. */
  #restMs(name: string): number {
    const refusals = this.#refusals.get(name) ?? 0;
    return Math.min(BACKOFF.max, BACKOFF.first * 2 ** refusals);
  }
}
