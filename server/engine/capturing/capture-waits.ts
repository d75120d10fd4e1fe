// Captures that wait until there is something to take. Those of one line are served one after the other: when a lock that
// they may want was decided about, at whatever replica, when the next one is due, and now and then in any case.
// Nothing of it is in the database: who comes later may be served before.

import type { DecidedLock } from "../../storage/store.ts";
import {
  CAPTURE_POLL_MS,
  CAPTURE_POLL_MS_EACH,
  CAPTURE_POLL_MS_MIN,
  CAPTURE_REST_SHARE,
  CAPTURE_SEEN_MAX,
  UNAVAILABLE_RETRY_AFTER_MS,
} from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
import type { Captured, CaptureInput } from "../lock-engine.ts";
import { RecentMap } from "../recent-map.ts";
import type { DecidedFeed, DecidedListener } from "../watching/decided-feed.ts";
import { lineOf } from "./lines.ts";

interface Waiting {
  /** Takes what there is for it. */
  readonly attempt: () => Promise<Captured>;
  readonly resolve: (captured: Captured) => void;
  readonly reject: (error: unknown) => void;
  /** Nobody waits for it any more. */
  isGone: boolean;
}

export interface CaptureWaitsOptions {
  readonly feed: Pick<DecidedFeed, "begin" | "end">;
  readonly onFailure: (loop: string, error: unknown) => void;
  /** What was taken for somebody who is gone. */
  readonly giveBack: (captured: Captured, input: CaptureInput) => void;
}

export class CaptureWaits implements DecidedListener {
  readonly #options: CaptureWaitsOptions;
  readonly #lines = new Map<string, WaitingLine>();
  /** Locks that were seen lately, each with its revision: they are told again and again. */
  readonly #seen = new RecentMap<bigint, bigint>(CAPTURE_SEEN_MAX);

  constructor(options: CaptureWaitsOptions) {
    this.#options = options;
  }

  /** Those that wait. */
  get count(): number {
    let count = 0;
    for (const line of this.#lines.values()) count += line.length;
    return count;
  }

  /** Resolves with at least one lease. Rejects with the reason of the signal. */
  async wait(
    input: CaptureInput,
    firstInUs: number | null,
    signal: AbortSignal,
    attempt: () => Promise<Captured>,
  ): Promise<Captured> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Captured>();
    const key = lineOf(input.target, input.terms?.ifStatus ?? []);
    const line = this.#lines.get(key) ?? this.#newLine(key, input);
    const waiting: Waiting = {
      attempt,
      reject,
      isGone: false,
      resolve: (captured) => {
        if (waiting.isGone) this.#options.giveBack(captured, input);
        else resolve(captured);
      },
    };
    const leave = () => {
      waiting.isGone = true;
      line.remove(waiting);
      reject(signal.reason);
    };
    signal.addEventListener("abort", leave);
    line.add(waiting, firstInUs);
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** What this replica has just committed. */
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

  stop(why: Error): void {
    for (const line of [...this.#lines.values()]) line.stop(why);
  }

  #newLine(key: string, input: CaptureInput): WaitingLine {
    const onEmpty = () => {
      if (this.#lines.get(key) === line) this.#lines.delete(key);
      if (this.#lines.size === 0) this.#options.feed.end(this);
    };
    const line = new WaitingLine(
      input,
      () => Math.max(CAPTURE_POLL_MS, this.#lines.size * CAPTURE_POLL_MS_EACH),
      onEmpty,
    );
    const isFirst = this.#lines.size === 0;
    this.#lines.set(key, line);
    if (isFirst) void this.#begin();
    return line;
  }

  /** Should it fail, lines look by themselves now and then. */
  async #begin(): Promise<void> {
    try {
      await this.#options.feed.begin(this);
    } catch (error) {
      this.#options.onFailure("watches", error);
    }
    if (this.#lines.size === 0) this.#options.feed.end(this);
  }
}

class WaitingLine {
  readonly #prefix: string | null;
  readonly #names: ReadonlySet<string>;
  /** How long it waits at the most before it looks by itself. */
  readonly #pollMs: () => number;
  readonly #onEmpty: () => void;
  readonly #waiting: Waiting[] = [];
  #isServing = false;
  /** Something has changed since it was begun to serve. */
  #isAgain = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor({ target }: CaptureInput, pollMs: () => number, onEmpty: () => void) {
    this.#prefix = target.kind === "prefix" ? target.prefix : null;
    this.#names = new Set(target.kind === "names" ? target.names : []);
    this.#pollMs = pollMs;
    this.#onEmpty = onEmpty;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Whether it may: of its record nothing is known here. */
  wants(name: string): boolean {
    return this.#prefix === null ? this.#names.has(name) : name.startsWith(this.#prefix);
  }

  add(waiting: Waiting, firstInUs: number | null): void {
    this.#waiting.push(waiting);
    this.#serveIn(firstInUs, this.#pollMs());
  }

  remove(waiting: Waiting): void {
    const at = this.#waiting.indexOf(waiting);
    if (at >= 0) this.#waiting.splice(at, 1);
    if (this.#waiting.length > 0) return;
    clearTimeout(this.#timer);
    this.#onEmpty();
  }

  serve(): void {
    this.#isAgain = true;
    if (!this.#isServing) void this.#serve();
  }

  stop(why: Error): void {
    for (const waiting of [...this.#waiting]) {
      waiting.isGone = true;
      this.remove(waiting);
      waiting.reject(why);
    }
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    clearTimeout(this.#timer);
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    let nextInUs: number | null = null;
    const beganMs = performance.now();
    while (this.#isAgain && this.#waiting.length > 0) {
      this.#isAgain = false;
      nextInUs = await this.#serveAll();
    }
    this.#isServing = false;
    if (this.#waiting.length === 0) return;
    const tookMs = performance.now() - beganMs;
    this.#serveIn(nextInUs, Math.max(this.#pollMs(), tookMs * CAPTURE_REST_SHARE));
  }

  /** Serves from the first on, until there is nothing left to take. Answers in how long there may be something. */
  async #serveAll(): Promise<number | null> {
    for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
      try {
        const captured = await first.attempt();
        if (captured.leases.length === 0) return captured.retryAfterUs;
        this.remove(first);
        first.resolve(captured);
      } catch (error) {
        // The database is away, or has too much to do: it waits on.
        if (error instanceof Fault) return UNAVAILABLE_RETRY_AFTER_MS * 1_000;
        this.remove(first);
        first.reject(error);
      }
    }
    return null;
  }

  #serveIn(nextInUs: number | null, pollMs: number): void {
    const waitMs = Math.max(
      CAPTURE_POLL_MS_MIN,
      Math.min(pollMs, Math.ceil((nextInUs ?? pollMs * 1_000) / 1_000)),
    );
    const atMs = performance.now() + waitMs;
    if (this.#isServing || atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(() => this.serve(), waitMs);
  }
}
