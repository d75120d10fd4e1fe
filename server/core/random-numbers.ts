// Random numbers for columns of the database. The caller supplies the bytes, because the core has no randomness.

/** Random bytes in one number. */
export const RANDOM_NUMBER_BYTES = 8;

/** A number of 63 bits, the most that a BIGINT holds on every database. */
export function randomNumberOf(bytes: Uint8Array): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset, RANDOM_NUMBER_BYTES).getBigUint64(0) >> 1n;
}
