// Makes all streams of the server take turns in sending their places: a batch, then a pause. Otherwise a crowd that
// moves up would hold up the calls that make it move. Knows neither streams nor places.

import { PLACES_AT_ONCE, PLACES_PAUSE_MS } from "../grpc-bounds.ts";

export class PlaceTurns {
  #queue: (() => void)[] = [];
  #left = PLACES_AT_ONCE;
  #pause: NodeJS.Timeout | undefined;

  /** Calls `go` now or later, in the order of the calls to `take`. */
  take(go: () => void): void {
    this.#pause ??= setTimeout(() => this.#renew(), PLACES_PAUSE_MS);
    if (this.#left === 0) this.#queue.push(go);
    else {
      this.#left -= 1;
      go();
    }
  }

  #renew(): void {
    const next = this.#queue.splice(0, PLACES_AT_ONCE);
    this.#left = PLACES_AT_ONCE - next.length;
    this.#pause = next.length > 0 ? setTimeout(() => this.#renew(), PLACES_PAUSE_MS) : undefined;
    for (const go of next) go();
  }
}
