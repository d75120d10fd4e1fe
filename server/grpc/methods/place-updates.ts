// Paces the positions of one stream. Sends one only when the place has become a better one, not more often than the client
// wants, in turn with other streams, and one at a time: for a client that reads slowly only the latest place is kept.

import type { Place } from "../../core/command.ts";

interface PlaceUpdatesOptions {
  readonly intervalMs: number;
  /** Calls back when it is this stream's turn to tell its place. */
  readonly turn: (go: () => void) => void;
  /** Sends a position; `written` is to be called when the connection has taken it. */
  readonly send: (place: Place, nowUs: number, written: () => void) => void;
}

interface Offered {
  readonly place: Place;
  readonly nowUs: number;
  /** performance.now(), as a place may be held back for a while. */
  readonly offeredMs: number;
}

export class PlaceUpdates {
  readonly #options: PlaceUpdatesOptions;
  #latest: Offered | undefined;
  #sent: Place | undefined;
  #sentMs = Number.NEGATIVE_INFINITY;
  #isWriting = false;
  #awaitsTurn = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: PlaceUpdatesOptions) {
    this.#options = options;
  }

  /** The place as it was read, at `nowUs` by the database's clock. Nobody comes in ahead: one that is worse was read earlier. */
  offer(place: Place, nowUs: number): void {
    if (this.#latest && place.ahead > this.#latest.place.ahead) return;
    this.#latest = { place, nowUs, offeredMs: performance.now() };
    this.#pump();
  }

  /** Sends nothing from now on. Can be called twice. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #pump(): void {
    const latest = this.#latest;
    if (!latest || this.#stopped || this.#isWriting || this.#timer || this.#awaitsTurn) return;
    if (this.#sent && samePlace(this.#sent, latest.place)) return;
    const waitMs = this.#sentMs + this.#options.intervalMs - performance.now();
    if (waitMs > 0) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.#pump();
      }, waitMs);
    } else if (this.#sent) {
      this.#awaitsTurn = true;
      this.#options.turn(() => this.#sendInTurn());
      // The first place brings the ticket along, with which the client can come back: it waits for nobody.
    } else this.#send(latest);
  }

  /** What was offered last, unless nobody is to be told any more. */
  #sendInTurn(): void {
    this.#awaitsTurn = false;
    const latest = this.#latest;
    if (latest && !this.#stopped) this.#send(latest);
  }

  #send({ place, nowUs, offeredMs }: Offered): void {
    const sentMs = performance.now();
    this.#sent = place;
    this.#sentMs = sentMs;
    this.#isWriting = true;
    this.#options.send(place, nowUs + Math.round((sentMs - offeredMs) * 1_000), () => {
      this.#isWriting = false;
      this.#pump();
    });
  }
}

/** Who comes after it does not change a place. */
function samePlace(a: Place, b: Place): boolean {
  return a.ahead === b.ahead && a.permitsAhead === b.permitsAhead;
}
