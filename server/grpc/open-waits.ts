// The calls that wait for a lock, and what ends each of them early: its client goes away, or the server begins to stop,
// in which case all of them are told. Owns no claim and answers nobody.

import { ClientGone, shuttingDown } from "./call-error.ts";
import type { AnyCall } from "./handler.ts";

export class OpenWaits {
  readonly #stops = new Set<(why: Error) => void>();
  #draining = false;

  /**
   * Calls `stop` at most once, with the error to end with; at once if there is a cause already. Returns what must be
   * called when the wait is over.
   */
  enter(call: AnyCall, stop: (why: Error) => void): () => void {
    const gone = () => stop(new ClientGone());
    call.once("cancelled", gone);
    this.#stops.add(stop);
    if (call.cancelled) gone();
    else if (this.#draining) stop(shuttingDown());
    return () => {
      call.off("cancelled", gone);
      this.#stops.delete(stop);
    };
  }

  /** Ends all waits, and every later one at its beginning. Can be called twice. */
  drain(): void {
    this.#draining = true;
    for (const stop of this.#stops) stop(shuttingDown());
  }
}
