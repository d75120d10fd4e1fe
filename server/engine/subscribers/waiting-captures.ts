// Captures that wait until there is something to take. Captures that want the same locks are a line, and are served one
// after the other: when a lock that they may want was decided about at any replica, when the next one is due, and now
// and then in any case. None of this is in the database, so a later capture may be served earlier. A capture whose
// attempt finds nothing or fails goes behind the others. An attempt that proves that there is nothing to take ends the
// round. An attempt under way decides the answer of its wait, even if the wait ends meanwhile: otherwise nobody would
// learn what it took.

import { hash } from "node:crypto";
import { poolPrefix } from "../../core/pools.ts";
import { RecentMap } from "../../core/recent-map.ts";
import type { DecidedLock } from "../../storage/store.ts";
import type { Captured, CaptureInput, CaptureTarget } from "../answers.ts";
import * as bounds from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
import { type DecisionFeed, type DecisionListener, DueTimers } from "./decision-feed.ts";

/** Names the line of a capture: captures that want the same locks are in one line. */
export function lineOf({ target, terms }: Pick<CaptureInput, "target" | "terms">): string {
  const names = target.kind === "prefix" ? target.prefix : target.names;
  const line = JSON.stringify([names, terms?.ifStatus ?? []]);
  // A thousand names are long.
  return line.length <= 512 ? line : hash("sha256", line);
}

export interface WaitingCapturesOptions {
  readonly feed: Pick<DecisionFeed, "begin" | "end">;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class WaitingCaptures implements DecisionListener {
  readonly #options: WaitingCapturesOptions;
  readonly #lines = new Map<string, CaptureLine>();
  /** When a line looks again without a hint. */
  readonly #due = new DueTimers<CaptureLine>((line) => line.serve());
  /** Locks and pools seen lately: the feed reports them repeatedly. */
  readonly #seen = new RecentMap<bigint, Pick<DecidedLock, "revision" | "holders">>(bounds.CAPTURE_SEEN_MAX);

  constructor(options: WaitingCapturesOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#lines.values().reduce((count, line) => count + line.length, 0);
  }

  /**
   * Resolves with at least one lease, or with the earlier answer to the request. Rejects with the signal's reason, or
   * with the Fault of an attempt that may have taken something under a request id: the caller must then ask again.
   * `isOver`: whether the wait has ended and the attempt is to begin nothing further.
   */
  async wait(
    input: CaptureInput,
    firstInUs: number | null,
    signal: AbortSignal,
    attempt: (isOver: () => boolean) => Promise<Captured>,
  ): Promise<Captured> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Captured>();
    const key = lineOf(input);
    const line = this.#lines.get(key) ?? this.#newLine(key, input);
    const waiting: WaitingCapture = {
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

  decided(lock: DecidedLock): void {
    const seen = this.#seen.get(lock.id);
    if (seen?.revision === lock.revision) return;
    this.#seen.set(lock.id, { revision: lock.revision, holders: lock.holders });
    const pool = poolPrefix(lock.name);
    if (pool !== null) {
      // A claim that waits there goes first.
      const hasLeft = seen !== undefined && lock.holders < seen.holders && lock.waiting === 0;
      for (const line of this.#lines.values()) if (hasLeft && line.mayBeUnder(pool)) line.serve();
      return;
    }
    if (lock.holders + lock.waiting > 0) return;
    for (const line of this.#lines.values()) if (line.wants(lock.name)) line.serve();
  }

  rulesChanged(): void {
    this.missed();
  }

  missed(): void {
    for (const line of this.#lines.values()) line.serve();
  }

  /** Ends all waits; those with an attempt under way end with the attempt. */
  stop(why: Error): void {
    for (const line of [...this.#lines.values()]) line.stop(why);
  }

  #newLine(key: string, input: CaptureInput): CaptureLine {
    const onEmpty = () => {
      if (this.#lines.get(key) === line) this.#lines.delete(key);
      if (this.#lines.size === 0) this.#options.feed.end(this);
    };
    const pollMs = () => Math.max(bounds.CAPTURE_POLL_MS, this.#lines.size * bounds.CAPTURE_POLL_MS_EACH);
    const line = new CaptureLine(input.target, this.#due, pollMs, onEmpty);
    const isFirst = this.#lines.size === 0;
    this.#lines.set(key, line);
    const { feed, onFailure } = this.#options;
    // If this fails, the lines still look now and then by themselves.
    if (isFirst) feed.begin(this).catch((error: unknown) => onFailure("watches", error));
    return line;
  }
}

export interface WaitingCapture {
  readonly attempt: () => Promise<Captured>;
  /** Whether it has a request id, under which it finds what an attempt may have taken. */
  readonly canAskAgain: boolean;
  readonly resolve: (captured: Captured) => void;
  readonly reject: (error: unknown) => void;
  /** Why the wait is over. If an attempt is under way, the caller gets the reason when that attempt is over. */
  over: { readonly why: unknown } | null;
  /** The latest Fault of an attempt that may have taken something; null once a later attempt has succeeded. */
  inDoubt: Fault | null;
}

/** `more`: the next capture may find something; `nothing`: it did not look; else: when one may find something. */
type Round = "more" | "nothing" | { readonly nextInUs: number | null };

class CaptureLine {
  /** Whether the line may want the lock; its record is not known here. */
  readonly wants: (name: string) => boolean;
  /** Whether a lock that it wants may be under a pool with this prefix. */
  readonly mayBeUnder: (pool: string) => boolean;
  readonly #due: DueTimers<CaptureLine>;
  /** The longest wait before the line looks again without a hint. */
  readonly #pollMs: () => number;
  readonly #onEmpty: () => void;
  readonly #waiting: WaitingCapture[] = [];
  #attempting: WaitingCapture | null = null;
  #isServing = false;
  /** Something has changed since the round began. */
  #isAgain = false;

  constructor(target: CaptureTarget, due: DueTimers<CaptureLine>, pollMs: () => number, onEmpty: () => void) {
    this.#due = due;
    const names = new Set(target.kind === "names" ? target.names : []);
    this.wants =
      target.kind === "prefix" ? (name) => name.startsWith(target.prefix) : (name) => names.has(name);
    this.mayBeUnder = (pool) =>
      target.kind === "prefix"
        ? target.prefix.startsWith(pool) || pool.startsWith(target.prefix)
        : target.names.some((name) => name.startsWith(pool));
    this.#pollMs = pollMs;
    this.#onEmpty = onEmpty;
  }

  get length(): number {
    return this.#waiting.length;
  }

  add(waiting: WaitingCapture, firstInUs: number | null): void {
    this.#waiting.push(waiting);
    this.#serveIn(firstInUs, this.#pollMs());
  }

  /** Ends the wait. If its attempt is under way, waits for that attempt. */
  end(waiting: WaitingCapture, why: unknown): void {
    waiting.over ??= { why };
    if (waiting !== this.#attempting && this.#remove(waiting)) waiting.reject(waiting.inDoubt ?? why);
  }

  serve(): void {
    this.#isAgain = true;
    if (!this.#isServing) void this.#serve();
  }

  stop(why: Error): void {
    for (const waiting of [...this.#waiting]) this.end(waiting, why);
  }

  /** False: it was no longer there. */
  #remove(waiting: WaitingCapture): boolean {
    const at = this.#waiting.indexOf(waiting);
    if (at < 0) return false;
    this.#waiting.splice(at, 1);
    if (this.#waiting.length === 0) {
      this.#due.clear(this);
      this.#onEmpty();
    }
    return true;
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    this.#due.clear(this);
    let nextInUs: number | null = null;
    const beganMs = performance.now();
    while (this.#isAgain && this.#waiting.length > 0) {
      this.#isAgain = false;
      nextInUs = await this.#serveAll();
    }
    this.#isServing = false;
    if (this.#waiting.length === 0) return;
    this.#serveIn(nextInUs, Math.max(this.#pollMs(), restMs(beganMs)));
  }

  /** Serves each capture once, until nothing is left to take. Resolves with the time until there may be something. */
  async #serveAll(): Promise<number | null> {
    const beganMs = performance.now();
    const tried = new Set<WaitingCapture>();
    let hasLooked = false;
    for (;;) {
      const first = this.#waiting.find((waiting) => !tried.has(waiting));
      // No attempt saw everything, so the line looks again soon, unless nobody may take anything.
      if (!first) return hasLooked ? restMs(beganMs) * 1_000 : null;
      tried.add(first);
      const round = await this.#attempt(first);
      if (typeof round === "object") return round.nextInUs;
      hasLooked ||= round === "more";
    }
  }

  async #attempt(waiting: WaitingCapture): Promise<Round> {
    this.#attempting = waiting;
    let round: Round;
    try {
      const captured = await waiting.attempt();
      waiting.inDoubt = null;
      const isAnswer = captured.leases.length > 0 || captured.isRepeated === true;
      if (isAnswer && this.#remove(waiting)) waiting.resolve(captured);
      if (captured.isWithoutRoom) round = "nothing";
      else round = isAnswer || captured.isCutShort ? "more" : { nextInUs: captured.retryAfterUs };
    } catch (error) {
      round = this.#failed(waiting, error);
    }
    this.#attempting = null;
    // An attempt stops early when its wait ends, so its result proves nothing about the line.
    if (waiting.over) {
      this.end(waiting, waiting.over.why);
      return "more";
    }
    // Behind the others, if it still waits.
    const at = this.#waiting.indexOf(waiting);
    if (at >= 0) this.#waiting.push(...this.#waiting.splice(at, 1));
    return round;
  }

  #failed(waiting: WaitingCapture, error: unknown): Round {
    if (!(error instanceof Fault)) {
      if (this.#remove(waiting)) waiting.reject(error);
      return "more";
    }
    // The database is away or overloaded: the capture keeps waiting.
    if (error.outcomeUnknown && waiting.canAskAgain) waiting.inDoubt = error;
    return { nextInUs: bounds.UNAVAILABLE_RETRY_AFTER_MS * 1_000 };
  }

  #serveIn(nextInUs: number | null, pollMs: number): void {
    if (this.#isServing) return;
    const nextMs = nextInUs === null ? pollMs : Math.ceil(nextInUs / 1_000);
    this.#due.set(this, Math.max(bounds.CAPTURE_POLL_MS_MIN, Math.min(pollMs, nextMs)));
  }
}

/** How long to rest after work that began at `beganMs`. */
function restMs(beganMs: number): number {
  return Math.min((performance.now() - beganMs) * bounds.CAPTURE_REST_SHARE, bounds.CAPTURE_REST_MS_MAX);
}
