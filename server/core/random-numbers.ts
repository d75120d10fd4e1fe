// Random numbers for columns of the database. The random bytes are the caller's, as the core makes none of its own.

/** How many random bytes a number is made of. */
export const RANDOM_NUMBER_BYTES = 8;

/** A number of 63 bits, the most that a BIGINT of every database holds. */
export function randomNumberOf(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, RANDOM_NUMBER_BYTES).getBigUint64(0) >> 1n;
}
