// Which connections a listener takes, and when: reads for whom a trusted proxy opens each, bounds those of one address,
// and lets an address whose connections come to nothing open only a few a second. Looks at nothing of what clients send.

import { type BlockList, isIP, type Socket } from "node:net";
import { type AddressBounds, Allowance, ByAddress, networkOf } from "../core/allowance.ts";
import { type BoundUse, mostUsed } from "../core/bound-use.ts";
import { RecentMap } from "../core/recent-map.ts";
import {
  HANDSHAKE_MS,
  SPACED_ADDRESSES_MAX,
  SPACED_FOR_MS,
  SPACED_MS,
  WASTED_CONNECTIONS,
} from "./grpc-bounds.ts";
import { proxyHeaderOf, type Source } from "./proxy-protocol.ts";
import type { HowItGoesOn } from "./reading-turns.ts";
import { peerOf } from "./standing.ts";
import type { Listener } from "./transport-limits.ts";

export interface ConnectionDoorOptions {
  readonly bounds: AddressBounds;
  /** Whose connections begin with a header of the PROXY protocol; unset: nobody's. */
  readonly proxies?: BlockList | undefined;
  /** How long that header may take. */
  readonly headerMs?: number;
  /** A connection is closed. Returns whether it was good for something. */
  readonly closed: (peer: string) => boolean;
  readonly nowMs?: () => number;
}

/** What is known of an address that opens connections for nothing. */
interface Wasting {
  readonly wasted: Allowance;
  /** Its connections wait for their turn until then. */
  spacedUntilMs: number;
  /** When the next one may begin. */
  nextMs: number;
}

/** The handle of a socket, which alone stops reading once HTTP/2 has taken it over. Node keeps it privately. */
interface Handled {
  readonly _handle?: {
    readonly readStop?: () => void;
    readonly readStart?: () => void;
    /** Bytes that the client has not taken. */
    readonly writeQueueSize?: number;
  } | null;
}

export class ConnectionDoor {
  readonly #options: ConnectionDoorOptions;
  readonly #nowMs: () => number;
  readonly #counted: ByAddress;
  readonly #wasting = new RecentMap<string, Wasting>(SPACED_ADDRESSES_MAX);
  readonly #byPeer = new Map<string, Socket>();

  constructor(options: ConnectionDoorOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#counted = new ByAddress(options.bounds);
  }

  /** Open connections. */
  get count(): number {
    return this.#byPeer.size;
  }

  get bound(): BoundUse {
    return mostUsed("connections_of_address", this.#counted.open(), this.#options.bounds.openMax);
  }

  /** Stands between the listener and its connections. Call it once for each listener, before it listens. */
  guard(listener: Listener): void {
    const emit = listener.emit.bind(listener) as (...args: unknown[]) => boolean;
    listener.emit = ((...args: unknown[]) => {
      const [event, socket] = args as [string, Socket & { readonly _parent?: Socket }];
      // A TLS socket asks the connection below it for the address, past what a proxy has said.
      if (event === "secureConnection" && socket._parent) named(socket, sourceOf(socket._parent));
      if (event !== "connection") return emit(...args);
      this.#arrived(socket, () => void emit(...args));
      return true;
    }) as typeof listener.emit;
  }

  /** Reads no more of the connection until `goOnReading`. */
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

  #arrived(socket: Socket, begin: () => void): void {
    const { proxies } = this.#options;
    const { remoteAddress = "" } = socket;
    const isOfProxy = proxies?.check(remoteAddress, isIP(remoteAddress) === 6 ? "ipv6" : "ipv4");
    if (!isOfProxy) {
      this.#take(socket, begin);
      return;
    }
    readProxyHeader(socket, this.#options.headerMs ?? HANDSHAKE_MS, (source) => {
      if (source) named(socket, source);
      if (source) this.#take(socket, begin);
      else this.#takeOfProxy(socket, begin);
    });
  }

  #take(socket: Socket, begin: () => void): void {
    const { remoteAddress: address } = socket;
    if (this.#counted.enter(address, this.#nowMs()) !== null) {
      socket.destroy();
      return;
    }
    this.#remember(socket, (wasGood) => {
      this.#counted.leave(address);
      if (!wasGood) this.#wasted(address);
    });
    this.#begin(socket, address, begin);
  }

  /** A proxy's own connections, such as its health checks, are not bounded. */
  #takeOfProxy(socket: Socket, begin: () => void): void {
    this.#remember(socket, () => {});
    begin();
  }

  #remember(socket: Socket, closed: (wasGood: boolean) => void): void {
    const peer = peerOf(socket);
    this.#byPeer.set(peer, socket);
    socket.once("close", () => {
      if (this.#byPeer.get(peer) === socket) this.#byPeer.delete(peer);
      closed(this.#options.closed(peer));
    });
  }

  #begin(socket: Socket, address: string | undefined, begin: () => void): void {
    const nowMs = this.#nowMs();
    const wasting = this.#wasting.get(networkOf(address));
    if (!wasting || nowMs >= wasting.spacedUntilMs) {
      begin();
      return;
    }
    const atMs = Math.max(nowMs, wasting.nextMs);
    if (atMs - nowMs > HANDSHAKE_MS) {
      socket.destroy();
      return;
    }
    wasting.nextMs = atMs + SPACED_MS;
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
    if (wasting.wasted.take(1, WASTED_CONNECTIONS, nowMs) === 0)
      wasting.spacedUntilMs = nowMs + SPACED_FOR_MS;
  }
}

/** Reads the header, and calls `then` with the rest of what has come still to be read. Closes what has none. */
function readProxyHeader(socket: Socket, withinMs: number, then: (source: Source | null) => void): void {
  let bytes: Buffer = Buffer.alloc(0);
  const close = () => socket.destroy();
  const timer = setTimeout(close, withinMs).unref();
  const read = () => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read())
      bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length === 0) return;
    const header = proxyHeaderOf(bytes);
    if (header.kind === "more") return;
    over();
    if (header.kind === "wrong") {
      socket.destroy();
      return;
    }
    if (bytes.length > header.bytes) socket.unshift(bytes.subarray(header.bytes));
    then(header.source);
  };
  const over = () => {
    clearTimeout(timer);
    socket.off("readable", read).off("error", close).off("end", close).off("close", over);
  };
  socket.on("readable", read).on("error", close).on("end", close).on("close", over);
}

function sourceOf({ remoteAddress = "", remotePort = 0 }: Socket): Source {
  return { address: remoteAddress, port: remotePort };
}

/** From now on, the address of the socket is that of the client, for everybody who asks. */
function named(socket: Socket, { address, port }: Source): void {
  Object.defineProperty(socket, "remoteAddress", { value: address, configurable: true });
  Object.defineProperty(socket, "remotePort", { value: port, configurable: true });
}
