// Captures that wait until there is something to take. Those of one line are served one after the other: when a lock
// that they may want was decided about at any replica, when the next one is due, and now and then in any case. None of
// this is in the database, so a later capture may be served earlier.
//
// An attempt under way decides the answer of its wait, even if the wait ends meanwhile: otherwise nobody would learn
// what it took.

import type { DecidedLock } from "../../storage/store.ts";
import { CAPTURE_POLL_MS, CAPTURE_POLL_MS_EACH, CAPTURE_SEEN_MAX } from "../engine-bounds.ts";
import type { Captured, CaptureInput } from "../lock-engine.ts";
import { RecentMap } from "../recent-map.ts";
import type { DecidedFeed, DecidedListener } from "../watching/decided-feed.ts";
import { lineOf } from "./lines.ts";
import { type Waiting, WaitingLine } from "./waiting-line.ts";

export interface CaptureWaitsOptions {
  readonly feed: Pick<DecidedFeed, "begin" | "end">;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class CaptureWaits implements DecidedListener {
  readonly #options: CaptureWaitsOptions;
  readonly #lines = new Map<string, WaitingLine>();
  /** Locks seen lately, each with its revision: the feed reports them repeatedly. */
  readonly #seen = new RecentMap<bigint, bigint>(CAPTURE_SEEN_MAX);

  constructor(options: CaptureWaitsOptions) {
    this.#options = options;
  }

  /** Number of waiting captures. */
  get count(): number {
    let count = 0;
    for (const line of this.#lines.values()) count += line.length;
    return count;
  }

  /**
   * Resolves with at least one lease, or with the earlier answer to the request. Rejects with the signal's reason, or
   * with the Fault of an attempt that may have taken something under a request id: the caller must then ask again.
   *
   * @param attempt takes what there is; `isOver`: whether the wait has ended and nothing further is to begin.
   */
  async wait(
    input: CaptureInput,
    firstInUs: number | null,
    signal: AbortSignal,
    attempt: (isOver: () => boolean) => Promise<Captured>,
  ): Promise<Captured> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Captured>();
    const key = lineOf(input.target, input.terms?.ifStatus ?? []);
    const line = this.#lines.get(key) ?? this.#newLine(key, input);
    const waiting: Waiting = {
      attempt: () => attempt(() => waiting.over !== null),
      canAskAgain: input.requestId !== "",
      resolve,
      reject,
      over: null,
      inDoubt: null,
    };
    const leave = () => line.end(waiting, signal.reason);
    signal.addEventListener("abort", leave);
    line.add(waiting, firstInUs);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** Reports what this replica has just committed. */
  committed(written: Iterable<{ readonly lock: DecidedLock }>): void {
    if (this.#lines.size === 0) return;
    for (const { lock } of written) this.seen(lock);
  }

  seen(lock: DecidedLock): void {
    if (this.#seen.get(lock.id) === lock.revision) return;
    this.#seen.set(lock.id, lock.revision);
    if (lock.holders + lock.waiting > 0) return;
    for (const line of this.#lines.values()) if (line.wants(lock.name)) line.serve();
  }

  broke(): void {
    for (const line of this.#lines.values()) line.serve();
  }

  async swept(rulesChanged: boolean): Promise<void> {
    if (rulesChanged) this.broke();
  }

  /** Ends all waits; those with an attempt under way end with the attempt. */
  stop(why: Error): void {
    for (const line of [...this.#lines.values()]) line.stop(why);
  }

  #newLine(key: string, input: CaptureInput): WaitingLine {
    const onEmpty = () => {
      if (this.#lines.get(key) === line) this.#lines.delete(key);
      if (this.#lines.size === 0) this.#options.feed.end(this);
    };
    const line = new WaitingLine(
      input.target,
      () => Math.max(CAPTURE_POLL_MS, this.#lines.size * CAPTURE_POLL_MS_EACH),
      onEmpty,
    );
    const isFirst = this.#lines.size === 0;
    this.#lines.set(key, line);
    if (isFirst) void this.#begin();
    return line;
  }

  /** Starts the feed. If that fails, the lines still look now and then by themselves. */
  async #begin(): Promise<void> {
    try {
      await this.#options.feed.begin(this);
    } catch (error) {
      this.#options.onFailure("watches", error);
    }
    if (this.#lines.size === 0) this.#options.feed.end(this);
  }
}
