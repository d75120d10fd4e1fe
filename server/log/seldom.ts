// Lets the same thing be told once in an interval, and not a thousand times a second.

export class Seldom {
  readonly #intervalMs: number;
  /** What is not told for now, and how often it has happened since it was told. */
  readonly #muted = new Map<string, { readonly untilMs: number; suppressed: number }>();

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** `what` has happened: how often it did so untold before, if it is to be told now; otherwise null. */
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
