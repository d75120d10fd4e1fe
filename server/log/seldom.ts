// Limits how often the same thing is logged: once in an interval instead of a thousand times a second.

export class Seldom {
  readonly #intervalMs: number;
  /** What was logged less than an interval ago, and how often it has happened since. */
  readonly #muted = new Map<string, { readonly untilMs: number; suppressed: number }>();

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /**
   * Call it when `what` has happened. Returns how often that was suppressed before, if it is to be logged now;
   * otherwise null.
   */
  suppressed(what: string): number | null {
    const nowMs = performance.now();
    const muted = this.#muted.get(what);
    if (muted && nowMs < muted.untilMs) {
      muted.suppressed += 1;
      return null;
    }
    this.#muted.set(what, { untilMs: nowMs + this.#intervalMs, suppressed: 0 });
    return muted?.suppressed ?? 0;
  }
}
