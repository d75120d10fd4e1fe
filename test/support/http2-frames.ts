// HTTP/2 frames made and read by hand, over a plain socket: a client that may break every rule, as attackers do.
// It knows nothing of what it sends, and enforces no bound of its own.

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const ACK = 1;
export const END_STREAM = 1;
export const END_HEADERS = 4;
export const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const FRAME_HEAD_BYTES = 9;
/** The largest frame that a peer must take if it has not asked for larger ones. */
export const FRAME_BYTES_MAX = 16_384;
const GRPC_HEAD_BYTES = 5;

export function frame(
  type: number,
  stream: number,
  payload: Uint8Array = Buffer.alloc(0),
  flags = 0,
): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** What every client sends first. `settings`: by their numbers in RFC 9113. */
export function hello(settings: Readonly<Record<number, number>> = {}): Buffer {
  return Buffer.concat([PREFACE, frame(FRAME.settings, 0, settingsOf(settings))]);
}

export function settingsOf(settings: Readonly<Record<number, number>>): Buffer {
  return Buffer.concat(
    Object.entries(settings).map(([id, value]) => {
      const entry = Buffer.alloc(6);
      entry.writeUInt16BE(Number(id));
      entry.writeUInt32BE(value, 2);
      return entry;
    }),
  );
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Headers as HPACK literals, without its tables and without Huffman codes. */
export function hpack(headers: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]));
}

/** The same, each to be remembered in HPACK's table, where the one that came last has the number 62. */
export function hpackRemembered(headers: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(headers.map(([name, value]) => remembered(name, value)));
}

/** The last so many headers of HPACK's table, in the order in which they came; a byte each. */
export function lastRemembered(count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, index) => 0x80 | (61 + count - index)));
}

/** One header that the server is to remember in HPACK's table. */
export function remembered(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0x40]), literal(name), literal(value)]);
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text);
  const head = [Math.min(bytes.length, 0x7f)];
  // The rest of a longer length, seven bits at a time, the lowest first.
  if (bytes.length >= 0x7f) {
    let rest = bytes.length - 0x7f;
    for (; rest >= 0x80; rest >>= 7) head.push((rest & 0x7f) | 0x80);
    head.push(rest);
  }
  return Buffer.concat([Buffer.from(head), bytes]);
}

export const callHeaders = (path: string): [string, string][] => [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", path],
  [":authority", "localhost"],
  ["content-type", "application/grpc"],
  ["te", "trailers"],
];

/** The HEADERS frame that begins a call of the LockService. */
export function callFrame(stream: number, method: string): Buffer {
  return frame(FRAME.headers, stream, hpack(callHeaders(`/rowlock.v1.LockService/${method}`)), END_HEADERS);
}

/** A gRPC message as it stands in DATA frames. `length`: what its head says. */
export function grpcMessage(
  message: Uint8Array,
  { length = message.length, isCompressed = false } = {},
): Buffer {
  const head = Buffer.alloc(GRPC_HEAD_BYTES);
  head.writeUInt8(isCompressed ? 1 : 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

/** Bytes in as few DATA frames as possible; the flags are those of the last one. */
export function dataFrames(stream: number, bytes: Uint8Array, flags = 0): Buffer {
  const frames: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += FRAME_BYTES_MAX) {
    const isLast = from + FRAME_BYTES_MAX >= bytes.length;
    frames.push(frame(FRAME.data, stream, bytes.subarray(from, from + FRAME_BYTES_MAX), isLast ? flags : 0));
  }
  return Buffer.concat(frames);
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Cuts complete frames out of what has arrived. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  *take(chunk: Buffer): Generator<Frame> {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= FRAME_HEAD_BYTES) {
      const end = at + FRAME_HEAD_BYTES + bytes.readUIntBE(at, 3);
      if (bytes.length < end) break;
      yield {
        type: bytes.readUInt8(at + 3),
        flags: bytes.readUInt8(at + 4),
        stream: bytes.readUInt32BE(at + 5),
        payload: bytes.subarray(at + FRAME_HEAD_BYTES, end),
      };
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }
}

export interface RawOptions {
  /** What it says first, before it reads anything. */
  readonly hello?: Uint8Array;
  /** Says nothing else by itself, not even the answers that HTTP/2 demands. */
  readonly isMute?: boolean;
  /** PEM texts; unset: plain text. */
  readonly tls?: RawTls | undefined;
}

export interface RawTls {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

/** A connection that sends what it is given, and passes on what the server says. Never throws when the server hangs up. */
export class RawConnection {
  readonly socket: Socket;
  /** Whether the server has said that it takes no more calls. */
  isGoingAway = false;
  onFrame: (frame: Frame) => void = () => {};
  /** Bytes of DATA that the server still takes. */
  #window = 65_535;
  #opened = () => {};

  constructor(address: string, { hello: first = hello(), isMute = false, tls }: RawOptions = {}) {
    const at = address.lastIndexOf(":");
    const where = { host: address.slice(0, at), port: Number(address.slice(at + 1)) };
    this.socket = tls
      ? connectTls({ ...where, ...tls, servername: "localhost", ALPNProtocols: ["h2"] })
      : connect(where);
    this.socket.write(first);
    const reader = new FrameReader();
    // A server may reset the connection when it hangs up on a client that is still sending.
    this.socket.on("error", () => {});
    this.socket.once("close", () => this.#opened());
    this.socket.on("data", (chunk: Buffer) => {
      for (const read of reader.take(chunk)) this.#take(read, isMute);
    });
  }

  get isOpen(): boolean {
    return !this.socket.destroyed && this.socket.writable;
  }

  /** Resolves when the socket has taken the bytes, or the server has hung up. */
  async send(bytes: Uint8Array): Promise<void> {
    if (!this.isOpen) return;
    if (this.socket.write(bytes)) return;
    const isOver = new AbortController();
    const options = { signal: isOver.signal };
    // Either may never come; the other one then ends the wait for it.
    await Promise.race([once(this.socket, "drain", options), once(this.socket, "close", options)]).catch(
      () => {},
    );
    isOver.abort();
  }

  /** Sends frames with so many bytes of DATA once the server takes them. */
  async sendData(frames: Uint8Array, dataBytes: number): Promise<void> {
    while (this.#window < dataBytes && this.isOpen) {
      await new Promise<void>((resolve) => {
        this.#opened = resolve;
      });
    }
    this.#window -= dataBytes;
    await this.send(frames);
  }

  close(): void {
    this.socket.destroy();
  }

  #take(read: Frame, isMute: boolean): void {
    const { type, stream, payload } = read;
    if (type === FRAME.windowUpdate && stream === 0) {
      this.#window += payload.readUInt32BE(0);
      this.#opened();
    }
    if (type === FRAME.goaway) this.isGoingAway = true;
    if (!isMute) this.#answer(read);
    this.onFrame(read);
  }

  #answer({ type, flags, payload }: Frame): void {
    if (type === FRAME.ping && !(flags & ACK)) this.socket.write(frame(FRAME.ping, 0, payload, ACK));
    if (type === FRAME.settings && !(flags & ACK))
      this.socket.write(frame(FRAME.settings, 0, Buffer.alloc(0), ACK));
  }
}
