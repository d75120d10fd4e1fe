// Prefixes of names as ranges of bytes, so that an index finds them on every database.

/** No name of valid UTF-8 begins with this byte, so it stands above all of them. */
const ABOVE_ALL_NAMES = Buffer.from([0xff]);

/** All names that begin with `prefix` are at or above `from` and below `below`, in byte order. */
export function prefixRange(prefix: string): { readonly from: Buffer; readonly below: Buffer } {
  const from = Buffer.from(prefix, "utf8");
  const below = Buffer.from(from);
  for (let last = below.length - 1; last >= 0; last--) {
    const byte = below[last] as number;
    if (byte < 0xff) {
      below[last] = byte + 1;
      return { from, below: below.subarray(0, last + 1) };
    }
  }
  return { from, below: ABOVE_ALL_NAMES };
}
