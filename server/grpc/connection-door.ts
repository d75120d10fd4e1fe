// Which connections a listener takes, and when: reads for whom a trusted proxy opens each (by HAProxy's PROXY protocol,
// versions 1 and 2), bounds those of one address, and lets an address whose connections come to nothing open only a few a
// second. Looks at nothing of what clients send.

import { type BlockList, isIP, type Socket } from "node:net";
import { type AddressBounds, Allowance, ByAddress, networkOf } from "../core/allowance.ts";
import { type BoundUse, mostUsed } from "../core/bound-use.ts";
import { RecentMap } from "../core/recent-map.ts";
import * as bounds from "./grpc-bounds.ts";
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
    const emit = listener.emit.bind(listener) as (...args: unknown[]) => boolean;
    listener.emit = ((...args: unknown[]) => {
      const [event, socket] = args as [string, Socket & { readonly _parent?: Socket }];
      // A TLS socket asks the connection below it for the address, past what a proxy has said.
      if (event === "secureConnection" && socket._parent) {
        const { remoteAddress = "", remotePort = 0 } = socket._parent;
        named(socket, { address: remoteAddress, port: remotePort });
      }
      if (event !== "connection") return emit(...args);
      this.#arrived(socket, () => void emit(...args));
      return true;
    }) as typeof listener.emit;
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

  #arrived(socket: Socket, begin: () => void) {
    const { remoteAddress = "" } = socket;
    const family = isIP(remoteAddress) === 6 ? "ipv6" : "ipv4";
    if (!this.#options.proxies?.check(remoteAddress, family)) return this.#take(socket, begin);
    readProxyHeader(socket, (source) => {
      if (source) {
        named(socket, source);
        return this.#take(socket, begin);
      }
      // A proxy's own connections, such as its health checks, are not bounded.
      this.#remember(socket, () => {});
      begin();
    });
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

/** Reads the header, and calls `then` with the rest of what has come still to be read. Closes what has none. */
function readProxyHeader(socket: Socket, then: (source: Source | null) => void): void {
  let bytes: Buffer = Buffer.alloc(0);
  const close = () => void socket.destroy();
  const timer = setTimeout(close, bounds.HANDSHAKE_MS).unref();
  const read = () => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read())
      bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length === 0) return;
    const header = proxyHeaderOf(bytes);
    if (header.kind === "more") return;
    over();
    if (header.kind === "wrong") return close();
    if (bytes.length > header.bytes) socket.unshift(bytes.subarray(header.bytes));
    then(header.source);
  };
  const over = () => {
    clearTimeout(timer);
    socket.off("readable", read).off("error", close).off("end", close).off("close", over);
  };
  socket.on("readable", read).on("error", close).on("end", close).on("close", over);
}

/** From now on, the address of the socket is that of the client, for everybody who asks. */
function named(socket: Socket, { address, port }: Source): void {
  Object.defineProperty(socket, "remoteAddress", { value: address, configurable: true });
  Object.defineProperty(socket, "remotePort", { value: port, configurable: true });
}

export type ProxyHeader =
  | { readonly kind: "more" }
  /** The connection does not begin with such a header. */
  | { readonly kind: "wrong" }
  /** `source`: null if the proxy speaks for itself, as in a health check. `bytes`: the length of the header. */
  | { readonly kind: "header"; readonly bytes: number; readonly source: Source | null };

export interface Source {
  readonly address: string;
  readonly port: number;
}

const V1 = Buffer.from("PROXY ");
const V1_BYTES_MAX = 107;
const V2 = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]);
const V2_HEAD_BYTES = 16;
/** Addresses and the proxy's own extensions: more than any proxy sends. */
const V2_BODY_BYTES_MAX = 4_096;
const IPV4_IN_IPV6 = Buffer.from("00000000000000000000ffff", "hex");
const WRONG = { kind: "wrong" } as const;
const MORE = { kind: "more" } as const;

export function proxyHeaderOf(bytes: Buffer): ProxyHeader {
  if (begins(bytes, V2)) return bytes.length < V2_HEAD_BYTES ? MORE : version2(bytes);
  if (begins(bytes, V1)) return version1(bytes);
  return WRONG;
}

/** Whether the bytes are the beginning of what begins with `mark`, as far as there are any. */
function begins(bytes: Buffer, mark: Buffer): boolean {
  const length = Math.min(bytes.length, mark.length);
  return bytes.subarray(0, length).equals(mark.subarray(0, length));
}

function version1(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, V1_BYTES_MAX).indexOf("\r\n");
  if (end < 0) return bytes.length < V1_BYTES_MAX ? MORE : WRONG;
  const length = end + 2;
  const [, family, address, , port, , ...more] = bytes.toString("latin1", 0, end).split(" ");
  if (family === "UNKNOWN") return { kind: "header", bytes: length, source: null };
  const isWrong = !/^TCP[46]$/.test(family ?? "") || more.length > 0 || !/^\d{1,5}$/.test(port ?? "");
  if (isWrong || !/^[\da-f.:]{2,45}$/i.test(address ?? "")) return WRONG;
  return { kind: "header", bytes: length, source: { address: address as string, port: Number(port) } };
}

function version2(bytes: Buffer): ProxyHeader {
  const [versionAndCommand, family] = [bytes.readUInt8(12), bytes.readUInt8(13)];
  const body = bytes.readUInt16BE(14);
  if (versionAndCommand >> 4 !== 2 || body > V2_BODY_BYTES_MAX) return WRONG;
  const length = V2_HEAD_BYTES + body;
  if (bytes.length < length) return MORE;
  const command = versionAndCommand & 0xf;
  if (command > 1) return WRONG;
  return { kind: "header", bytes: length, source: command === 1 ? sourceOf(bytes, family, body) : null };
}

function sourceOf(bytes: Buffer, family: number, body: number): Source | null {
  const at = V2_HEAD_BYTES;
  if (family === 0x11 && body >= 12)
    return { address: ipv4(bytes.subarray(at, at + 4)), port: bytes.readUInt16BE(at + 8) };
  if (family !== 0x21 || body < 36) return null;
  const address = bytes.subarray(at, at + 16);
  return {
    address: isIpv4(address) ? ipv4(address.subarray(12)) : ipv6(address),
    port: bytes.readUInt16BE(at + 32),
  };
}

/** A proxy that listens for both families writes an IPv4 address so. */
function isIpv4(address: Buffer): boolean {
  return address.subarray(0, IPV4_IN_IPV6.length).equals(IPV4_IN_IPV6);
}

function ipv4(bytes: Buffer): string {
  return [...bytes].join(".");
}

function ipv6(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16)).join(":");
}
