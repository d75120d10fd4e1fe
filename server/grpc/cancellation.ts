// Whether a call was cancelled. Makes the signal only for who asks for it: most calls end before anybody does, and an
// AbortController costs as much as the check of a request.

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
