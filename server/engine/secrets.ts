// Makes the secrets of claims: 128 random bits as 22 characters of base64url. Random bytes are drawn in advance,
// because drawing 16 bytes costs as much as drawing 4,096.

import { randomFillSync } from "node:crypto";

const SECRET_BYTES = 16;
const POOL_BYTES = 4_096;

/** Returns a function that makes a new secret on each call. */
export function secretMaker(): () => string {
  const pool = Buffer.alloc(POOL_BYTES);
  let used = POOL_BYTES;
  return () => {
    if (used === POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    used += SECRET_BYTES;
    return pool.toString("base64url", used - SECRET_BYTES, used);
  };
}
