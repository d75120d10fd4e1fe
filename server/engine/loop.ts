// One contract for every background loop: started once, stopped any number of times, awaited on shutdown. A run that
// fails is reported, and the loop goes on at a slower pace until a run succeeds. Runs never overlap.

/** The longest rest: how much later than the database itself background work resumes. */
export const BACKOFF_MS_MAX = 2_000;
const BACKOFF_MS = 125;

export interface LoopOptions {
  readonly name: string;
  /** From the end of one run to the start of the next. */
  readonly intervalMs: number;
  /** Share of the interval by which it varies, so that replicas do not run in step; unset: it does not vary. */
  readonly jitter?: number;
  /** Longest rest after failures; if unset, that of `Backoff`. */
  readonly restMsMax?: number;
  /** How long to rest after a run of this duration that succeeded; unset: no longer than the interval. */
  readonly restMsAfter?: (runMs: number) => number;
  readonly run: () => Promise<void>;
  readonly onFailure: (loop: string, error: unknown) => void;
}

export class Loop {
  readonly #options: LoopOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = true;
  /** The rest after the last run that succeeded. The duration of a failed run says nothing about the next one. */
  #restMs = 0;
  readonly #backoff: Backoff;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.restMsMax);
  }

  start(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    // A run that began before the last stop schedules the next one itself.
    if (!this.#running) this.#schedule();
  }

  /** Resolves when the present run, if any, has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(): void {
    const { intervalMs, jitter = 0 } = this.#options;
    const waitMs = Math.max(intervalMs, this.#restMs, this.#backoff.restMs);
    this.#timer = setTimeout(() => this.#start(), waitMs * (1 + jitter * (Math.random() * 2 - 1)));
  }

  #start(): void {
    this.#running = this.#runOnce().finally(() => {
      this.#running = undefined;
      if (!this.#stopped) this.#schedule();
    });
  }

  async #runOnce(): Promise<void> {
    const { name, run, restMsAfter, onFailure } = this.#options;
    const beganMs = performance.now();
    try {
      await run();
      this.#restMs = restMsAfter?.(performance.now() - beganMs) ?? 0;
      this.#backoff.succeeded();
    } catch (error) {
      this.#backoff.failed();
      onFailure(name, error);
    }
  }
}

/**
 * How long background work rests after a failure: longer with each failure, up to a bound, and not at all after a
 * success. A database that can do nothing is then asked tens of times a minute instead of thousands.
 */
export class Backoff {
  readonly #longestMs: number;
  #failures = 0;

  constructor(longestMs = BACKOFF_MS_MAX) {
    this.#longestMs = longestMs;
  }

  succeeded(): void {
    this.#failures = 0;
  }

  failed(): void {
    this.#failures += 1;
  }

  /** 0: work goes on at its pace. */
  get restMs(): number {
    return this.#failures === 0 ? 0 : Math.min(BACKOFF_MS * 2 ** this.#failures, this.#longestMs);
  }
}
