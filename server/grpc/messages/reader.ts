// Reads the parts of a protobuf message for the generated hot-codec.ts. Knows only what usual messages consist of: at
// anything else it gives up, and protobuf-es reads the same bytes from the start, with its rules and its errors. To give
// up, it moves behind every end. So nobody has to check each value: all loops stop, and the caller drops what was read.

/** Behind the end of all messages: the server receives none of this size. */
const GONE = 2 ** 30;
/** What stands for bytes that are no UTF-8, or for itself. */
const REPLACED = "\ufffd";
/** Seven bits a byte: longer varints could be beyond what a number holds exactly. */
const VARINT_MAX = 2 ** 49;
const UINT32_MAX = 2 ** 32 - 1;
const INT32_MAX = 2 ** 31 - 1;

export class Reader {
  readonly #bytes: Buffer;
  /** Of the next byte. */
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

  /** Reads the length of a part, and returns where the part ends. */
  end(): number {
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

  /** Adds an entry of a map from text to text. */
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
