// Divides the rows of a statement so that the database server takes it: claims with many labels make long statements.

import { partsOf } from "../../../core/bounds.ts";
import { ROW_BYTES_BESIDE, ROW_BYTES_MAX, STATEMENT_BYTES_BESIDE } from "../../storage-bounds.ts";
import type { SqlValue } from "../connection/sql-text.ts";

/** Parts of at most `countMax` items, whose statements have about `bytesMax` bytes at most; one item at least in each. */
export function withinBytes<Item>(
  items: readonly Item[],
  countMax: number,
  bytesMax: number,
  bytesOf: (item: Item) => number,
): (readonly Item[])[] {
  // Nearly always so, and then nothing is measured.
  if (items.length * ROW_BYTES_MAX + STATEMENT_BYTES_BESIDE <= bytesMax) return partsOf(items, countMax);
  const parts: Item[][] = [];
  let left = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    const part = parts.at(-1);
    if (part && part.length < countMax && bytes <= left) part.push(item);
    else {
      parts.push([item]);
      left = bytesMax - STATEMENT_BYTES_BESIDE;
    }
    left -= bytes;
  }
  return parts;
}

/** About how long a row of these values is as text, if all bytes are written in hexadecimal digits. */
export function bytesOfValues(values: readonly SqlValue[]): number {
  let bytes = ROW_BYTES_BESIDE;
  for (const value of values) {
    if (Buffer.isBuffer(value)) bytes += 2 * value.length;
    else if (typeof value === "string") bytes += 2 * Buffer.byteLength(value);
  }
  return bytes;
}
