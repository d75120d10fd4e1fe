// Whether a call was cancelled. Makes an AbortController only when somebody asks for the signal: most calls end before
// that.

export class Cancellation {
  #why: Error | undefined;
  #controller: AbortController | undefined;

  get isCancelled(): boolean {
    return this.#why !== undefined;
  }

  /** Aborted with the error given to `cancel`. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#why) this.#controller.abort(this.#why);
    }
    return this.#controller.signal;
  }

  /** The first error counts. */
  cancel(why: Error): void {
    if (this.#why) return;
    this.#why = why;
    this.#controller?.abort(why);
  }
}
