// Random values: secrets of claims, which nobody can guess, and marks of changes, which do not repeat. Marks of principals stand
// for them in the request ids under which claims are kept: a principal may be as long as a request id.

import { createHash, randomBytes, randomFillSync } from "node:crypto";
import { RecentMap } from "../core/recent-map.ts";
import { RANDOM_NUMBER_BYTES, randomNumberOf } from "../core/rows.ts";
import { PRINCIPALS_REMEMBERED_MAX } from "./engine-bounds.ts";

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

const MARK_BYTES = 16;

const marks = new RecentMap<string, string>(PRINCIPALS_REMEMBERED_MAX);

/** 22 characters of base64url; empty for nobody. */
export function markOf(principal = ""): string {
  if (principal === "") return "";
  const known = marks.get(principal);
  if (known !== undefined) return known;
  const mark = createHash("sha256").update(principal).digest().subarray(0, MARK_BYTES).toString("base64url");
  marks.set(principal, mark);
  return mark;
}
