// Paces the positions of one stream. Sends one only if the place has become a better one, no more often than the client
// asks for, in turn with other streams, and one at a time: for a client that reads slowly, only the latest place is
// kept.

import type { Place } from "../../core/command.ts";
import { PLACES_AT_ONCE, PLACES_PAUSE_MS } from "../grpc-bounds.ts";

interface PlaceUpdatesOptions {
  readonly intervalMs: number;
  /** Calls `go` when it is this stream's turn to send its place. */
  readonly turn: (go: () => void) => void;
  /** Sends a position, and must call `written` when the connection has taken it. */
  readonly send: (place: Place, nowUs: number, written: () => void) => void;
}

interface Offered {
  readonly place: Place;
  readonly nowUs: number;
  /** By performance.now(): a place may be held back for a while. */
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

  /**
   * Takes the place as read at `nowUs` by the database's clock. Nobody joins ahead of a waiter, so a worse place was
   * read earlier and is ignored.
   */
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
      // The first place carries the ticket with which the client can come back, so it waits for no turn.
    } else this.#send(latest);
  }

  /** Sends the place that was offered last, unless stopped. */
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

/** Waiters behind a place do not change it. */
function samePlace(a: Place, b: Place): boolean {
  return a.ahead === b.ahead && a.permitsAhead === b.permitsAhead;
}

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
