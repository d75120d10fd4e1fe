// The calls that wait for a lock, and what ends them early: a client goes away, or the server begins to stop. Counts the
// waits of each connection, so that they leave room in it for Renew and Release, and those of the whole server, so that they
// fit into its memory. Owns no claim and answers nobody.

import type { AnyCall } from "../handler.ts";
import {
  ClientGone,
  serverIsFull,
  shuttingDown,
  tooManySessionWaits,
  tooManyWaits,
} from "../messages/call-error.ts";
import type { ServerRoom } from "../server-room.ts";

/** From this share of all waits on, who has more than the second share of them gets no more: one client does not take all. */
const CROWDED_SHARE = 3 / 4;
const OWN_SHARE = 1 / 16;

export class OpenWaits {
  readonly #stops = new Set<(why: Error) => void>();
  readonly #perConnectionMax: number;
  readonly #room: ServerRoom;
  /** By the client's address and port; what is not there has none. */
  readonly #onConnection = new Map<string, number>();
  #draining = false;

  constructor(perConnectionMax: number, room: ServerRoom) {
    this.#perConnectionMax = perConnectionMax;
    this.#room = room;
  }

  /** Those of the whole server. */
  get count(): number {
    return this.#stops.size;
  }

  /** Connections that have any. */
  get connections(): number {
    return this.#onConnection.size;
  }

  /**
   * Calls `stop` at most once, with the error to end with; at once if there is a cause already. Returns what must be
   * called when the wait is over. Throws where the connection has as many waits as it may have.
   */
  enter(call: AnyCall, stop: (why: Error) => void): () => void {
    const connection = call.getPeer();
    const others = this.#onConnection.get(connection) ?? 0;
    if (others >= this.#perConnectionMax) throw tooManyWaits(this.#perConnectionMax);
    this.#checkRoom(others);
    this.#onConnection.set(connection, others + 1);
    const leave = this.#watch(call, stop);
    return () => {
      if (leave()) this.#left(connection);
    };
  }

  /** Returns what ends the watch, and says whether it had not ended before. */
  #watch(call: AnyCall, stop: (why: Error) => void): () => boolean {
    const gone = () => stop(new ClientGone());
    call.once("cancelled", gone);
    this.#stops.add(stop);
    if (call.cancelled) gone();
    else if (this.#draining) stop(shuttingDown());
    return () => {
      call.off("cancelled", gone);
      return this.#stops.delete(stop);
    };
  }

  /** The same for the waits of one session, which are counted by themselves. */
  ofSession(waitsMax: number): Pick<OpenWaits, "enter"> {
    let open = 0;
    return {
      enter: (call, stop) => {
        if (open >= waitsMax) throw tooManySessionWaits(waitsMax);
        this.#checkRoom(open);
        const leave = this.#watch(call, stop);
        open += 1;
        return () => {
          if (leave()) open -= 1;
        };
      },
    };
  }

  /** `own`: waits that who asks for another one has already. */
  #checkRoom(own: number): void {
    const { waits, isShort } = this.#room;
    const open = this.#stops.size;
    const isGreedy = open >= waits * CROWDED_SHARE && own >= waits * OWN_SHARE;
    if (isShort() || open >= waits || isGreedy) throw serverIsFull("server_waits", "waits");
  }

  /** Ends all waits, and every later one at its beginning. Can be called twice. */
  drain(): void {
    this.#draining = true;
    for (const stop of this.#stops) stop(shuttingDown());
  }

  #left(connection: string): void {
    const others = (this.#onConnection.get(connection) ?? 0) - 1;
    if (others > 0) this.#onConnection.set(connection, others);
    else this.#onConnection.delete(connection);
  }
}
