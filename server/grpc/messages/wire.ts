// The parts of protobuf messages, one after the other, as bytes: for the generated hot-codec.ts, and for the messages of a
// session. Knows only what usual messages consist of: at anything else it gives up, and protobuf-es reads the same bytes
// from the start, or writes the same values, with its rules and its errors.

const NONE = Buffer.alloc(0);
/** What a tag and a number, or a tag and a length, take at most. */
const VARINT_BYTES = 2 + 10;
/** Longer text is written by Node: its length takes more than one byte, and a call costs less than the loop. */
const SHORT_TEXT = 127;
/** Bytes that a UTF-16 code unit takes in UTF-8, at most. */
const UNIT_BYTES_MAX = 3;
const INT64_MAX = 2n ** 63n - 1n;
const UINT64_MAX = 2n ** 64n - 1n;

/**
 * Writes parts into a buffer that grows, as protobuf-es would write them. If it gives up, the caller takes back what was
 * written. Never reuses the bytes that it has handed out.
 */
export class Writer {
  #bytes: Buffer = NONE;
  #at = 0;
  #gaveUp = false;
  readonly #firstBytes: number;

  /** `firstBytes`: what most messages fit into. */
  constructor(firstBytes: number) {
    this.#firstBytes = firstBytes;
  }

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

function sizeOf(value: number): number {
  let size = 1;
  for (let rest = value; rest > 127; rest >>>= 7) size += 1;
  return size;
}

/** Behind the end of all messages: the server receives none of this size. */
const GONE = 2 ** 30;
/** What stands for bytes that are no UTF-8, or for itself. */
const REPLACED = "\ufffd";
/** Seven bits a byte: longer varints could be beyond what a number holds exactly. */
const VARINT_MAX = 2 ** 49;
const UINT32_MAX = 2 ** 32 - 1;
const INT32_MAX = 2 ** 31 - 1;

/**
 * Reads parts. To give up, it moves behind every end. So nobody has to check each value: all loops stop, and the caller
 * drops what was read.
 */
export class Reader {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  giveUp(): void {
    this.at = GONE;
  }

  /** A tag of one byte, or the first byte of a longer one. Only before an end. */
  tag(): number {
    return this.#bytes[this.at++] as number;
  }

  /** Reads the length of a part, and returns where the part ends. Gives up if such a part came `before`. */
  end(before?: unknown): number {
    if (before !== undefined) this.giveUp();
    const length = this.#varint();
    const end = this.at + length;
    if (end <= this.#bytes.length) return end;
    this.giveUp();
    return GONE;
  }

  /** Gives up unless a part has been read exactly to its end. */
  close(end: number): void {
    if (this.at !== end) this.giveUp();
  }

  text(): string {
    const end = this.end();
    const text = this.#bytes.toString("utf8", this.at, end);
    this.at = end;
    if (text.includes(REPLACED)) this.giveUp();
    return text;
  }

  bool(): boolean {
    return this.#varint() !== 0;
  }

  /** Also for an enum. */
  int32(): number {
    return this.#atMost(INT32_MAX);
  }

  uint32(): number {
    return this.#atMost(UINT32_MAX);
  }

  int64(): bigint {
    return BigInt(this.#varint());
  }

  uint64(): bigint {
    return BigInt(this.#varint());
  }

  entry(map: Record<string, string>): void {
    const end = this.end();
    let key = "";
    let value = "";
    while (this.at < end) {
      const tag = this.tag();
      if (tag === 10) key = this.text();
      else if (tag === 18) value = this.text();
      else this.giveUp();
    }
    this.close(end);
    // Would set the prototype.
    if (key === "__proto__") this.giveUp();
    else map[key] = value;
  }

  #atMost(max: number): number {
    const value = this.#varint();
    if (value > max) this.giveUp();
    return value;
  }

  #varint(): number {
    const bytes = this.#bytes;
    let value = 0;
    let scale = 1;
    while (this.at < bytes.length && scale < VARINT_MAX) {
      const byte = bytes[this.at++] as number;
      if (byte < 128) return value + byte * scale;
      value += (byte - 128) * scale;
      scale *= 128;
    }
    this.giveUp();
    return 0;
  }
}
