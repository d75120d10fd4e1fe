// The calls that wait for a lock, and what ends them early: their client goes away, or the server begins to stop. Bounds
// those of each connection, so that they leave room for Renew and Release, of each principal, so that none takes the room
// of the others, and of the whole server, so that they fit into its memory.

import type { Identity } from "../access/access.ts";
import { type BoundUse, mostUsed } from "../core/bound-use.ts";
import * as errors from "./messages/call-error.ts";
import type { StreamCapacity } from "./open-streams.ts";

/**
 * The server's room for the waits, sessions and connections of all clients together. Beyond it, the server refuses new
 * ones; existing ones go on, and leases are kept.
 */
export interface ServerCapacity extends Partial<StreamCapacity> {
  readonly waits: number;
  readonly principalWaits: number;
  readonly sessions: number;
  readonly connections: number;
  /** Whether memory is short: if so, the server takes nothing new. */
  readonly isShort: () => boolean;
}

/**
 * Once the server has CROWDED_SHARE of its waits, a client with OWN_SHARE of them gets no more: a few clients must not
 * take all. A client is a principal or, if nobody is asked who they are, a session or a connection.
 */
const CROWDED_SHARE = 3 / 4;
const OWN_SHARE = 1 / 16;

interface WaitingCall {
  readonly client: { readonly identity: Identity };
  whenGone(listener: Stop | null): void;
  getPeer(): string;
}

type Stop = (why: Error) => void;

export class OpenWaits {
  /** How to end each wait, whose it is, and its connection; null: it belongs to a session. */
  readonly #open = new Map<Stop, { readonly identity: Identity; readonly peer: string | null }>();
  readonly #perConnectionMax: number;
  readonly #capacity: ServerCapacity;
  /** By the client's address and port, and by principal; a missing entry means no waits. */
  readonly #onConnection = new Map<string, number>();
  readonly #ofPrincipal = new Map<string, number>();
  readonly #leaving = new Set<string>();
  #isDraining = false;

  constructor(perConnectionMax: number, capacity: ServerCapacity) {
    this.#perConnectionMax = perConnectionMax;
    this.#capacity = capacity;
  }

  get count(): number {
    return this.#open.size;
  }

  get bounds(): readonly BoundUse[] {
    return [
      mostUsed("waits_on_connection", this.#onConnection.values(), this.#perConnectionMax),
      mostUsed("principal_waits", this.#ofPrincipal.values(), this.#capacity.principalWaits),
    ];
  }

  get connections(): number {
    return this.#onConnection.size;
  }

  /**
   * Opens a wait. Calls `stop` with the error that ends it, at once if there already is one; the first error counts.
   * Returns a function to call when the wait is over. Throws OVERLOADED if the connection or the server is full.
   */
  enter(call: WaitingCall, stop: Stop): () => void {
    const connection = call.getPeer();
    const others = this.#onConnection.get(connection) ?? 0;
    if (others >= this.#perConnectionMax) throw errors.tooManyWaits(this.#perConnectionMax);
    this.#checkRoom(call, others);
    count(this.#onConnection, connection, 1);
    const leave = this.#watch(call, stop, connection);
    return () => {
      if (leave()) count(this.#onConnection, connection, -1);
    };
  }

  /** The same for one session, whose waits are counted separately. */
  ofSession(waitsMax: number): Pick<OpenWaits, "enter" | "count"> {
    let open = 0;
    return {
      get count() {
        return open;
      },
      enter: (call, stop) => {
        if (open >= waitsMax) throw errors.tooManySessionWaits(waitsMax);
        this.#checkRoom(call, open);
        const leave = this.#watch(call, stop, null);
        open += 1;
        return () => {
          if (leave()) open -= 1;
        };
      },
    };
  }

  /** Ends all open waits, and every later one as it begins. Can be called twice. */
  drain(): void {
    this.#isDraining = true;
    for (const stop of this.#open.keys()) stop(errors.shuttingDown());
  }

  /** `peer`: the wait's connection; null: it belongs to a session. */
  endEach(whyEnd: (of: { readonly identity: Identity; readonly peer: string | null }) => Error | null): void {
    for (const [stop, wait] of this.#open) {
      const why = whyEnd(wait);
      if (why) stop(why);
    }
  }

  /** Ends the waits of one connection, and every later one as it begins, until the connection has `gone`. */
  leave(connection: string): void {
    this.#leaving.add(connection);
    this.endEach(({ peer }) => (peer === connection ? errors.connectionTooOld() : null));
  }

  gone(connection: string): void {
    this.#leaving.delete(connection);
  }

  #checkRoom({ client }: WaitingCall, ofCarrier: number): void {
    const { waits, principalWaits, isShort } = this.#capacity;
    const open = this.#open.size;
    const { principal } = client.identity;
    const own = principal === "" ? ofCarrier : (this.#ofPrincipal.get(principal) ?? 0);
    const isGreedy = open >= waits * CROWDED_SHARE && own >= waits * OWN_SHARE;
    if (principal !== "" && (isGreedy || own >= principalWaits))
      throw errors.tooManyWaitsOfPrincipal(principalWaits);
    if (isShort() || open >= waits || isGreedy) throw errors.serverIsFull("waits");
  }

  /** Returns a function that ends the watch, and that returns false if the watch had already ended. */
  #watch(call: WaitingCall, stop: Stop, connection: string | null): () => boolean {
    const { identity } = call.client;
    this.#open.set(stop, { identity, peer: connection });
    const { principal } = identity;
    count(this.#ofPrincipal, principal, 1);
    call.whenGone(stop);
    if (this.#isDraining) stop(errors.shuttingDown());
    else if (connection !== null && this.#leaving.has(connection)) stop(errors.connectionTooOld());
    return () => {
      call.whenGone(null);
      const wasOpen = this.#open.delete(stop);
      if (wasOpen) count(this.#ofPrincipal, principal, -1);
      return wasOpen;
    };
  }
}

/** Nothing is kept of whoever has no waits, nor of callers without a name. */
function count(waits: Map<string, number>, whose: string, more: number): void {
  const left = (waits.get(whose) ?? 0) + more;
  if (left > 0 && whose !== "") waits.set(whose, left);
  else waits.delete(whose);
}
