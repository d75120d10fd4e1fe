// The memory of open calls: bounds the streams with their headers of all connections together, and those whose requests
// have not arrived more tightly, because nobody was identified for them. If these are too many, the connection with the
// most loses its oldest one. So an honest client finds room beside any number of others. Reads no call and ends none.

import type { BoundUse } from "../core/bound-use.ts";
import { CROWDED_STREAMS_SHARE, HEADER_TIMES, OWN_STREAMS_SHARE, STREAM_BYTES } from "./grpc-bounds.ts";

/** Bytes of all open streams, and of those whose requests have not arrived, at most; unset: any number. */
export interface StreamCapacity {
  readonly streamBytes: number;
  readonly pendingStreamBytes: number;
}

export interface OpenStream {
  readonly line: Line;
  readonly bytes: number;
  readonly evict: () => void;
  isPending: boolean;
}

interface Line {
  readonly pending: Set<OpenStream>;
  pendingBytes: number;
  bytes: number;
}

export class OpenStreams {
  readonly #bytesMax: number;
  readonly #pendingBytesMax: number;
  readonly #lines = new Map<object, Line>();
  #bytes = 0;
  #pendingBytes = 0;

  constructor({ streamBytes, pendingStreamBytes }: Partial<StreamCapacity>) {
    this.#bytesMax = streamBytes ?? Number.POSITIVE_INFINITY;
    this.#pendingBytesMax = pendingStreamBytes ?? Number.POSITIVE_INFINITY;
  }

  get bounds(): readonly BoundUse[] {
    return [
      { bound: "stream_bytes", kind: "room", used: this.#bytes, max: this.#bytesMax },
      {
        bound: "unfinished_stream_bytes",
        kind: "room",
        used: this.#pendingBytes,
        max: this.#pendingBytesMax,
      },
    ];
  }

  /** Counts a stream until it has left; null: there is no room. `isUrgent`: it keeps a lease or gives one back. */
  enter(connection: object, headerBytes: number, isUrgent: boolean, evict: () => void): OpenStream | null {
    const bytes = STREAM_BYTES + HEADER_TIMES * headerBytes;
    const own = this.#lines.get(connection)?.bytes ?? 0;
    if (!this.#hasRoom(own, bytes, isUrgent)) return null;
    // Before it enters: its caller must not see it end before it has begun.
    while (this.#pendingBytes + bytes > this.#pendingBytesMax && this.#evictOne()) {}
    const line = this.#lines.get(connection) ?? { pending: new Set(), pendingBytes: 0, bytes: 0 };
    this.#lines.set(connection, line);
    const stream = { line, bytes, evict, isPending: true };
    line.bytes += bytes;
    this.#bytes += bytes;
    line.pending.add(stream);
    line.pendingBytes += bytes;
    this.#pendingBytes += bytes;
    return stream;
  }

  arrived(stream: OpenStream): void {
    if (!stream.isPending) return;
    stream.isPending = false;
    const { line, bytes } = stream;
    line.pending.delete(stream);
    line.pendingBytes -= bytes;
    this.#pendingBytes -= bytes;
  }

  left(connection: object, stream: OpenStream): void {
    this.arrived(stream);
    const { line, bytes } = stream;
    line.bytes -= bytes;
    this.#bytes -= bytes;
    if (line.bytes === 0) this.#lines.delete(connection);
  }

  /** One connection must not take all, and the last part is kept for renewals and releases. */
  #hasRoom(own: number, bytes: number, isUrgent: boolean): boolean {
    const room = this.#bytesMax;
    const all = this.#bytes + bytes;
    if (all > room) return false;
    if (isUrgent || all <= room * CROWDED_STREAMS_SHARE) return true;
    return own + bytes <= room * OWN_STREAMS_SHARE;
  }

  #evictOne(): boolean {
    let most: Line | undefined;
    for (const line of this.#lines.values()) if (line.pendingBytes > (most?.pendingBytes ?? 0)) most = line;
    const [oldest] = most?.pending ?? [];
    if (!oldest) return false;
    this.arrived(oldest);
    oldest.evict();
    return true;
  }
}

/** What decoded headers take, as HTTP/2 counts it. `raw`: names and values by turns. */
export function headerBytes(raw: readonly string[]): number {
  let bytes = 16 * raw.length;
  for (const text of raw) bytes += text.length;
  return bytes;
}
