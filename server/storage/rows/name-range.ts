// Prefixes of names as ranges of bytes, so that an index finds them on every database.

import { OWN_NAMES_PREFIX } from "../../core/own-names.ts";

/** No name of valid UTF-8 begins with this byte, so it stands above all of them. */
const ABOVE_ALL_NAMES = Buffer.from([0xff]);

export interface NameRange {
  readonly from: Buffer;
  readonly below: Buffer;
}

/** All names but those of the servers' own, which begin with a NUL. */
const CALLERS_NAMES: NameRange = {
  from: Buffer.of(OWN_NAMES_PREFIX.charCodeAt(0) + 1),
  below: ABOVE_ALL_NAMES,
};

/** The names that begin with `prefix` and come after `afterName`. Without either, those of the servers' own are left out. */
export function rangeAfter(prefix: string, afterName: string | null): NameRange {
  const { from, below } = prefix === "" ? CALLERS_NAMES : prefixRange(prefix);
  if (afterName === null) return { from, below };
  // The first string of bytes after the name. One lower bound in place of two: SQLite would look for one of them only, and
  // walk from there to the other.
  const next = Buffer.concat([Buffer.from(afterName, "utf8"), Buffer.of(0)]);
  return { from: Buffer.compare(next, from) > 0 ? next : from, below };
}

/** All names that begin with `prefix` are at or above `from` and below `below`, in byte order. */
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
