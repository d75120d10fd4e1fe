// Writes the parts of protobuf messages, one after the other, into a buffer that grows: for the generated hot-codec.ts, and
// for the messages of a session. Writes what protobuf-es would write. At a value that it does not know how to write, it
// gives up, and the caller takes back what was written. Never reuses the bytes that it has handed out.

const NONE = Buffer.alloc(0);
/** What a tag and a number, or a tag and a length, take at most. */
const VARINT_BYTES = 2 + 10;
/** Longer text is written by Node: its length takes more than one byte, and a call costs less than the loop. */
const SHORT_TEXT = 127;
/** Bytes that a UTF-16 code unit takes in UTF-8, at most. */
const UNIT_BYTES_MAX = 3;
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;

export class Writer {
  #bytes: Buffer = NONE;
  #at = 0;
  #gaveUp = false;
  readonly #firstBytes: number;

  /** `firstBytes`: what most messages fit into. */
  constructor(firstBytes: number) {
    this.#firstBytes = firstBytes;
  }

  /** Bytes written. */
  get length(): number {
    return this.#at;
  }

  giveUp(): void {
    this.#gaveUp = true;
  }

  /** If it has given up, takes back what was written from there on. Returns whether it has not. */
  keep(from: number): boolean {
    if (!this.#gaveUp) return true;
    this.cut(from);
    this.#gaveUp = false;
    return false;
  }

  /** Takes back what was written from there on. */
  cut(from: number): void {
    this.#at = from;
  }

  /** Everything written. The writer must not be used afterwards. */
  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** Begins a part whose length is not known yet, and returns what `close` needs. */
  open(tag: number): number {
    this.#room(VARINT_BYTES);
    this.#varint(tag);
    // Most parts are shorter than 128 bytes.
    this.#at += 1;
    return this.#at;
  }

  /** Ends the part that `open` has begun. */
  close(from: number): void {
    const length = this.#at - from;
    if (length > 127) {
      const more = sizeOf(length) - 1;
      this.#room(more);
      this.#bytes.copyWithin(from + more, from, this.#at);
    }
    this.#at = from - 1;
    this.#varint(length);
    this.#at += length;
  }

  text(tag: number, text: string | undefined): void {
    if (text === undefined || text === "") return;
    const { length } = text;
    this.#room(VARINT_BYTES + UNIT_BYTES_MAX * length);
    this.#varint(tag);
    if (length <= SHORT_TEXT && this.#ascii(text, length)) return;
    this.#varint(Buffer.byteLength(text));
    this.#at += this.#bytes.write(text, this.#at, "utf8");
  }

  bool(tag: number, value: boolean | undefined): void {
    if (value) this.#number(tag, 1);
  }

  /** Also for an enum. Negative ones are no usual value. */
  int32(tag: number, value: number | undefined): void {
    if (value === undefined || value === 0) return;
    if ((value & 0x7fffffff) === value) this.#number(tag, value);
    else this.giveUp();
  }

  uint32(tag: number, value: number | undefined): void {
    if (value === undefined || value === 0) return;
    if (value >>> 0 === value) this.#number(tag, value);
    else this.giveUp();
  }

  /** Negative ones are no usual value. */
  int64(tag: number, value: bigint | undefined): void {
    if (value !== undefined && value > INT64_MAX) this.giveUp();
    else this.uint64(tag, value);
  }

  uint64(tag: number, value: bigint | undefined): void {
    if (value === undefined) return;
    const number = Number(value);
    if (number < 0 || value > UINT64_MAX) this.giveUp();
    else if (number > Number.MAX_SAFE_INTEGER) this.#large(tag, value);
    else if (number > 0) this.#number(tag, number);
  }

  #number(tag: number, value: number): void {
    this.#room(VARINT_BYTES);
    this.#varint(tag);
    this.#varint(value);
  }

  #large(tag: number, value: bigint): void {
    this.#room(VARINT_BYTES);
    this.#varint(tag);
    let rest = value;
    for (; rest > 127n; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 127n) | 128;
    this.#bytes[this.#at++] = Number(rest);
  }

  /** `value`: a safe integer. Bits are those of 32 bits, so they are of use only from the end. */
  #varint(value: number): void {
    let rest = value;
    while (rest > 127) {
      this.#bytes[this.#at++] = (rest & 127) | 128;
      rest = rest > 0x7fffffff ? Math.floor(rest / 128) : rest >>> 7;
    }
    this.#bytes[this.#at++] = rest;
  }

  /** Writes the length and the text, or nothing (false) if not all of it is ASCII. */
  #ascii(text: string, length: number): boolean {
    const bytes = this.#bytes;
    const from = this.#at + 1;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) return false;
      bytes[from + i] = code;
    }
    bytes[from - 1] = length;
    this.#at = from + length;
    return true;
  }

  #room(more: number): void {
    const needed = this.#at + more;
    if (needed > this.#bytes.length) this.#grow(needed);
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafe(Math.max(this.#firstBytes, 2 * this.#bytes.length, needed));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** Bytes of a varint. */
function sizeOf(value: number): number {
  let size = 1;
  for (let rest = value; rest > 127; rest >>>= 7) size += 1;
  return size;
}
