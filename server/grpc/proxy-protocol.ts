// The first bytes that a proxy sends on a connection to say for whom it is: the PROXY protocol of HAProxy, versions 1
// and 2. Reads bytes only; whose bytes may be believed is decided elsewhere.

export type ProxyHeader =
  /** More bytes have to come. */
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
