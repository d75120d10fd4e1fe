// Which connections a listener takes, and when: asks for whom a trusted proxy opens each, bounds those of one address, and lets an
// address whose connections come to nothing open only a few a second. Looks at nothing of what clients send.

import type { BlockList, Socket } from "node:net";
import { type AddressBounds, Allowance, ByAddress, networkOf } from "../core/allowance.ts";
import { type BoundUse, mostUsed } from "../core/bound-use.ts";
import { RecentMap } from "../core/recent-map.ts";
import * as bounds from "./grpc-bounds.ts";
import { eachConnection, namedByProxy } from "./proxy-header.ts";
import type { HowItGoesOn } from "./reading-turns.ts";
import { peerOf } from "./standing.ts";
import type { Listener } from "./transport-limits.ts";

export interface ConnectionDoorOptions {
  readonly bounds: AddressBounds;
  /** Whose connections begin with a header of the PROXY protocol; unset: nobody's. */
  readonly proxies?: BlockList | undefined;
  readonly closed: (peer: string) => boolean;
  readonly nowMs?: () => number;
}

interface Wasting {
  readonly wasted: Allowance;
  spacedUntilMs: number;
  nextMs: number;
}

/** The handle of a socket, which alone stops reading once HTTP/2 has taken it over. Node keeps it privately. */
interface Handled {
  readonly _handle?: {
    readonly readStop?: () => void;
    readonly readStart?: () => void;
    readonly writeQueueSize?: number;
  } | null;
}

export class ConnectionDoor {
  readonly #options: ConnectionDoorOptions;
  readonly #nowMs: () => number;
  readonly #counted: ByAddress;
  readonly #wasting = new RecentMap<string, Wasting>(bounds.SPACED_ADDRESSES_MAX);
  readonly #byPeer = new Map<string, Socket>();

  constructor(options: ConnectionDoorOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#counted = new ByAddress(options.bounds);
  }

  get count(): number {
    return this.#byPeer.size;
  }

  get bound(): BoundUse {
    return mostUsed("connections_of_address", this.#counted.open(), this.#options.bounds.openMax);
  }

  /** Stands between the listener and its connections. Call it once for each listener, before it listens. */
  guard(listener: Listener): void {
    eachConnection(listener, (socket, begin) => {
      namedByProxy(socket, this.#options.proxies, (isOfProxy) => {
        if (!isOfProxy) return this.#take(socket, begin);
        // A proxy's own connections, such as its health checks, are not bounded.
        this.#remember(socket, () => {});
        begin();
      });
    });
  }

  stopReading(peer: string | undefined): void {
    this.#handleOf(peer)?.readStop?.();
  }

  goOnReading(peer: string | undefined): HowItGoesOn {
    const handle = this.#handleOf(peer);
    if (!handle) return "gone";
    // HTTP/2 stops reading by itself from a client that reads nothing. Whatever it reads beyond that has no bound.
    if (handle.writeQueueSize) return "waits";
    handle.readStart?.();
    return "reads";
  }

  #handleOf(peer: string | undefined): Handled["_handle"] {
    return peer === undefined ? undefined : (this.#byPeer.get(peer) as Handled | undefined)?._handle;
  }

  #take(socket: Socket, begin: () => void): void {
    const { remoteAddress: address } = socket;
    if (this.#counted.enter(address, this.#nowMs()) !== null) return void socket.destroy();
    this.#remember(socket, (wasGood) => {
      this.#counted.leave(address);
      if (!wasGood) this.#wasted(address);
    });
    this.#begin(socket, address, begin);
  }

  #remember(socket: Socket, closed: (wasGood: boolean) => void): void {
    const peer = peerOf(socket);
    this.#byPeer.set(peer, socket);
    socket.once("close", () => {
      if (this.#byPeer.get(peer) === socket) this.#byPeer.delete(peer);
      closed(this.#options.closed(peer));
    });
  }

  #begin(socket: Socket, address: string | undefined, begin: () => void) {
    const nowMs = this.#nowMs();
    const wasting = this.#wasting.get(networkOf(address));
    if (!wasting || nowMs >= wasting.spacedUntilMs) return begin();
    const atMs = Math.max(nowMs, wasting.nextMs);
    if (atMs - nowMs > bounds.HANDSHAKE_MS) return void socket.destroy();
    wasting.nextMs = atMs + bounds.SPACED_MS;
    const ignore = () => {};
    socket.on("error", ignore);
    // HTTP/2 would take all that has come meanwhile at once, thousands of calls, before it could be cut off.
    (socket as Handled)._handle?.readStop?.();
    setTimeout(() => {
      socket.off("error", ignore);
      if (socket.destroyed) return;
      begin();
      (socket as Handled)._handle?.readStart?.();
    }, atMs - nowMs).unref();
  }

  #wasted(address: string | undefined): void {
    const from = networkOf(address);
    const nowMs = this.#nowMs();
    const wasting = this.#wasting.get(from) ?? { wasted: new Allowance(), spacedUntilMs: 0, nextMs: 0 };
    this.#wasting.set(from, wasting);
    if (wasting.wasted.take(1, bounds.WASTED_CONNECTIONS, nowMs) === 0)
      wasting.spacedUntilMs = nowMs + bounds.SPACED_FOR_MS;
  }
}
