// Captures that wait for the same locks, served one after the other. A capture whose attempt finds nothing or fails
// goes behind the others, so that an empty attempt does not keep the others from theirs. An attempt that proves that
// there is nothing to take ends the round.

import {
  CAPTURE_POLL_MS_MIN,
  CAPTURE_REST_MS_MAX,
  CAPTURE_REST_SHARE,
  UNAVAILABLE_RETRY_AFTER_MS,
} from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
import type { Captured, CaptureTarget } from "../lock-engine.ts";

export interface Waiting {
  /** Takes what is there for this capture. */
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

/** What an attempt shows about the line: "more": the next capture may find something; otherwise: when one may. */
type Round = "more" | { readonly nextInUs: number | null };

export class WaitingLine {
  readonly #prefix: string | null;
  readonly #names: ReadonlySet<string>;
  /** The longest wait before the line looks again without a hint. */
  readonly #pollMs: () => number;
  readonly #onEmpty: () => void;
  readonly #waiting: Waiting[] = [];
  /** The capture whose attempt is under way. */
  #attempting: Waiting | null = null;
  #isServing = false;
  /** Something has changed since the round began. */
  #isAgain = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(target: CaptureTarget, pollMs: () => number, onEmpty: () => void) {
    this.#prefix = target.kind === "prefix" ? target.prefix : null;
    this.#names = new Set(target.kind === "names" ? target.names : []);
    this.#pollMs = pollMs;
    this.#onEmpty = onEmpty;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Whether the line may want the lock; its record is not known here. */
  wants(name: string): boolean {
    return this.#prefix === null ? this.#names.has(name) : name.startsWith(this.#prefix);
  }

  add(waiting: Waiting, firstInUs: number | null): void {
    this.#waiting.push(waiting);
    this.#serveIn(firstInUs, this.#pollMs());
  }

  /** Ends the wait. If its attempt is under way, waits for that attempt. */
  end(waiting: Waiting, why: unknown): void {
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
  #remove(waiting: Waiting): boolean {
    const at = this.#waiting.indexOf(waiting);
    if (at < 0) return false;
    this.#waiting.splice(at, 1);
    if (this.#waiting.length === 0) {
      clearTimeout(this.#timer);
      this.#timerAtMs = Number.POSITIVE_INFINITY;
      this.#onEmpty();
    }
    return true;
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
    this.#serveIn(nextInUs, Math.max(this.#pollMs(), restMs(beganMs)));
  }

  /** Serves each capture once, until nothing is left to take. Resolves with the time until there may be something. */
  async #serveAll(): Promise<number | null> {
    const beganMs = performance.now();
    const tried = new Set<Waiting>();
    for (;;) {
      const first = this.#waiting.find((waiting) => !tried.has(waiting));
      // No attempt saw everything, so the line looks again soon.
      if (!first) return restMs(beganMs) * 1_000;
      tried.add(first);
      const round = await this.#attempt(first);
      if (round !== "more") return round.nextInUs;
    }
  }

  async #attempt(waiting: Waiting): Promise<Round> {
    this.#attempting = waiting;
    let round: Round;
    try {
      const captured = await waiting.attempt();
      waiting.inDoubt = null;
      const isAnswer = captured.leases.length > 0 || captured.isRepeated === true;
      if (isAnswer && this.#remove(waiting)) waiting.resolve(captured);
      round = isAnswer || captured.isCutShort ? "more" : { nextInUs: captured.retryAfterUs };
    } catch (error) {
      round = this.#failed(waiting, error);
    }
    this.#attempting = null;
    // An attempt stops early when its wait ends, so its result proves nothing about the line.
    if (waiting.over) {
      this.end(waiting, waiting.over.why);
      return "more";
    }
    this.#goBehind(waiting);
    return round;
  }

  #failed(waiting: Waiting, error: unknown): Round {
    if (!(error instanceof Fault)) {
      if (this.#remove(waiting)) waiting.reject(error);
      return "more";
    }
    // The database is away or overloaded: the capture keeps waiting.
    if (error.outcomeUnknown && waiting.canAskAgain) waiting.inDoubt = error;
    return { nextInUs: UNAVAILABLE_RETRY_AFTER_MS * 1_000 };
  }

  #goBehind(waiting: Waiting): void {
    const at = this.#waiting.indexOf(waiting);
    if (at < 0) return;
    this.#waiting.splice(at, 1);
    this.#waiting.push(waiting);
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

/** How long to rest after work that began at `beganMs`. */
function restMs(beganMs: number): number {
  return Math.min((performance.now() - beganMs) * CAPTURE_REST_SHARE, CAPTURE_REST_MS_MAX);
}
