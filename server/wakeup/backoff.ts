// How long background work rests after a failure: longer with each failure, up to a bound, and not at all after a
// success. A database that can do nothing is then asked tens of times a minute instead of thousands.

/** The longest rest: how much later than the database itself background work resumes. */
export const BACKOFF_MS_MAX = 2_000;
const BACKOFF_MS = 125;

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
