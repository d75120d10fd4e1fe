// Formats and parses ticket ids and lease ids. Both are the same string, because a claim keeps its id when it is
// granted. The id carries the lock and the ticket number, which find the row by primary key, and the secret that
// proves the right to act on the claim.

import { CLAIM_ID_CHARS_MAX } from "./bounds.ts";
import type { ClaimRef } from "./claim.ts";

// Numbers start at 1 and have no leading zeros, so that each claim has one spelling.
const FORM = /^([1-9a-z][0-9a-z]{0,12})\.([1-9a-z][0-9a-z]{0,12})\.([A-Za-z0-9_-]{22})$/;
/** A Number holds this many base-36 digits without loss, and is parsed several times as fast as a bigint. */
const SAFE_DIGITS = 10;
const BIGINT_MAX = 2n ** 63n - 1n;

/** `lock.ticket.secret`, the numbers in base 36. */
export function formatClaimId(ref: ClaimRef): string {
  return `${ref.lockId.toString(36)}.${ref.ticketNumber.toString(36)}.${ref.secret}`;
}

/** The parts of an id; null if the text cannot be one. Does not say whether the claim exists. */
export function parseClaimId(id: string): ClaimRef | null {
  if (id.length > CLAIM_ID_CHARS_MAX) return null;
  const parts = FORM.exec(id);
  if (!parts) return null;
  const lockId = parseBase36(parts[1] as string);
  const ticketNumber = parseBase36(parts[2] as string);
  if (lockId > BIGINT_MAX || ticketNumber > BIGINT_MAX) return null;
  return { lockId, ticketNumber, secret: parts[3] as string };
}

function parseBase36(digits: string): bigint {
  if (digits.length <= SAFE_DIGITS) return BigInt(Number.parseInt(digits, 36));
  let value = 0n;
  for (const digit of digits) value = value * 36n + BigInt(Number.parseInt(digit, 36));
  return value;
}
