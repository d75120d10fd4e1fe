// Locks and claims by their numbers, for tests without a database of what is kept and where.

import type { Claim } from "../../../server/core/claim.ts";
import type { Lock } from "../../../server/core/lock.ts";
import { CLAIM, FREE_LOCK } from "../../support/claims.ts";

export const LOCK: Lock = { ...FREE_LOCK, name: "etl/a", revision: 1n };

export function held(ticketNumber: number, more: Partial<Claim> = {}): Claim {
  const requestId = `request ${more.lockId ?? CLAIM.lockId}.${ticketNumber}`;
  return { ...CLAIM, ticketNumber: BigInt(ticketNumber), requestId, ...more };
}

export function waiting(ticketNumber: number, more: Partial<Claim> = {}): Claim {
  return held(ticketNumber, { state: "waiting", fencingToken: 0n, grantedAtUs: null, ...more });
}

export function ended(ticketNumber: number, more: Partial<Claim> = {}): Claim {
  return held(ticketNumber, { state: "ended", ...more });
}

/** Consecutive ticket numbers. */
export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}
