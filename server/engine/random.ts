// All randomness of the engine but pauses: secrets of claims, and marks and revision steps that no other transaction
// repeats.

import { randomBytes, randomFillSync } from "node:crypto";
import { RANDOM_NUMBER_BYTES, randomNumberOf } from "../core/rows.ts";
import { REVISION_STEP_MAX } from "./engine-bounds.ts";

const SECRET_BYTES = 16;
const POOL_BYTES = 4_096;

/**
 * Returns a function that makes a new secret on each call: 128 random bits as 22 characters of base64url. Random bytes
 * are drawn in advance, because drawing 16 bytes costs as much as drawing 4,096.
 */
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

/** A random mark, never 0. */
export function newMark(): bigint {
  return randomNumberOf(randomBytes(RANDOM_NUMBER_BYTES)) | 1n;
}

/**
 * The step by which a transaction raises the revisions of all its guard rows; one step for all, so that one statement
 * does it. The step is random, so that an unchanged revision proves an unchanged row: rows that were set back and
 * written again get other revisions, even after the same number of transactions.
 */
export function newRevisionStep(): bigint {
  return BigInt(1 + Math.floor(Math.random() * REVISION_STEP_MAX));
}
