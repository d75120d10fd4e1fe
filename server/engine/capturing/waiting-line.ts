// Captures that wait for the same locks, and are served one after the other. Whose attempt finds nothing, or fails, goes behind
// the others, so that nobody's empty attempt keeps them from theirs; what proves that there is nothing ends the round.

import {
  CAPTURE_POLL_MS_MIN,
  CAPTURE_REST_MS_MAX,
  CAPTURE_REST_SHARE,
  UNAVAILABLE_RETRY_AFTER_MS,
} from "../engine-bounds.ts";
import { Fault } from "../faults.ts";
import type { Captured, CaptureTarget } from "../lock-engine.ts";

export interface Waiting {
  /** Takes what there is for it. */
  readonly attempt: () => Promise<Captured>;
  /** It has a request id, under which it finds what an attempt may have taken. */
  readonly canAskAgain: boolean;
  readonly resolve: (captured: Captured) => void;
  readonly reject: (error: unknown) => void;
  /** Why it does not wait any longer; it is told so when its attempt under way is over. */
  over: { readonly why: unknown } | null;
  /** Why nobody knows what its last attempt has taken. */
  inDoubt: Fault | null;
}

/** What an attempt says of the line: "more", where there may be something for the next one; otherwise when there may be. */
type Round = "more" | { readonly nextInUs: number | null };

export class WaitingLine {
  readonly #prefix: string | null;
  readonly #names: ReadonlySet<string>;
  /** How long it waits at the most before it looks by itself. */
  readonly #pollMs: () => number;
  readonly #onEmpty: () => void;
  readonly #waiting: Waiting[] = [];
  /** The one whose attempt is under way. */
  #attempting: Waiting | null = null;
  #isServing = false;
  /** Something has changed since it was begun to serve. */
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

  /** Whether it may: of its record nothing is known here. */
  wants(name: string): boolean {
    return this.#prefix === null ? this.#names.has(name) : name.startsWith(this.#prefix);
  }

  add(waiting: Waiting, firstInUs: number | null): void {
    this.#waiting.push(waiting);
    this.#serveIn(firstInUs, this.#pollMs());
  }

  /** It does not wait any longer. An attempt under way is waited for. */
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

  /** False: it was not there any more. */
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

  /** Each once, until there is nothing left to take. Answers in how long there may be something. */
  async #serveAll(): Promise<number | null> {
    const beganMs = performance.now();
    const tried = new Set<Waiting>();
    for (;;) {
      const first = this.#waiting.find((waiting) => !tried.has(waiting));
      // Nobody has seen all that there is, so they go on soon.
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
    // What an attempt that was over did not find says nothing of the line.
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
    // The database is away, or has too much to do: it waits on.
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

/** After work that began then. */
function restMs(beganMs: number): number {
  return Math.min((performance.now() - beganMs) * CAPTURE_REST_SHARE, CAPTURE_REST_MS_MAX);
}
