// Prefixes of names as ranges of bytes, which an index finds on every database.

import { OWN_NAMES_PREFIX } from "../../core/own-names.ts";

/** No valid UTF-8 begins with this byte, so it sorts after all names. */
const ABOVE_ALL_NAMES = Buffer.from([0xff]);

export interface NameRange {
  readonly from: Buffer;
  readonly below: Buffer;
}

/** All names except the servers' own, which begin with a NUL. */
const CALLERS_NAMES: NameRange = {
  from: Buffer.of(OWN_NAMES_PREFIX.charCodeAt(0) + 1),
  below: ABOVE_ALL_NAMES,
};

/** The names that begin with `prefix` and come after `afterName`. An empty prefix leaves out the servers' own names. */
export function rangeAfter(prefix: string, afterName: string | null): NameRange {
  const { from, below } = prefix === "" ? CALLERS_NAMES : prefixRange(prefix);
  if (afterName === null) return { from, below };
  // The first byte string after the name. A single lower bound, because SQLite would seek to one of two bounds and scan
  // from there to the other.
  const next = Buffer.concat([Buffer.from(afterName, "utf8"), Buffer.of(0)]);
  return { from: Buffer.compare(next, from) > 0 ? next : from, below };
}

/** The byte range of the names that begin with `prefix`. */
export function prefixRange(prefix: string): NameRange {
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
