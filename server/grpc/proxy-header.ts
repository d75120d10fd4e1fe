// For whom a trusted proxy opens a connection: HAProxy's PROXY protocol, versions 1 and 2
// (https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt). From then on, the socket has the address of the client, for everybody
// who asks.

import { type BlockList, isIP, type Socket } from "node:net";
import * as bounds from "./grpc-bounds.ts";

interface Listens {
  emit(event: string, ...args: never[]): boolean;
}

/** Stands between a listener and its connections: they begin when `arrived` says so. Call it before the listener listens. */
export function eachConnection(
  listener: Listens,
  arrived: (socket: Socket, begin: () => void) => void,
): void {
  const emit = listener.emit.bind(listener) as (...args: unknown[]) => boolean;
  listener.emit = ((...args: unknown[]) => {
    const [event, socket] = args as [string, Socket & { readonly _parent?: Socket }];
    // A TLS socket asks the connection below it for the address, past what a proxy has said.
    if (event === "secureConnection" && socket._parent) {
      const { remoteAddress = "", remotePort = 0 } = socket._parent;
      named(socket, { address: remoteAddress, port: remotePort });
    }
    if (event !== "connection") return emit(...args);
    arrived(socket, () => void emit(...args));
    return true;
  }) as typeof listener.emit;
}

/**
 * Calls `then` when the socket has the address of the client; `isOfProxy`: the proxy has opened it for itself, such as for a health
 * check. Closes connections of `proxies` that do not say for whom they are.
 */
export function namedByProxy(
  socket: Socket,
  proxies: BlockList | undefined,
  then: (isOfProxy: boolean) => void,
): void {
  const { remoteAddress = "" } = socket;
  const family = isIP(remoteAddress) === 6 ? "ipv6" : "ipv4";
  if (!proxies?.check(remoteAddress, family)) {
    then(false);
    return;
  }
  readProxyHeader(socket, (source) => {
    if (source) named(socket, source);
    then(source === null);
  });
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

function named(socket: Socket, { address, port }: Source): void {
  Object.defineProperty(socket, "remoteAddress", { value: address, configurable: true });
  Object.defineProperty(socket, "remotePort", { value: port, configurable: true });
}

type ProxyHeader =
  | { readonly kind: "more" }
  /** The connection does not begin with such a header. */
  | { readonly kind: "wrong" }
  /** `source`: null if the proxy speaks for itself, as in a health check. `bytes`: the length of the header. */
  | { readonly kind: "header"; readonly bytes: number; readonly source: Source | null };

interface Source {
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
