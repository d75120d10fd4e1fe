// Locks and claims by their numbers, and trips that can be looked into, for tests of what is known and written without a
// database.

import type { Claim } from "../../../../server/core/claim.ts";
import type { Lock } from "../../../../server/core/lock.ts";
import { type SqlValue, Trip } from "../../../../server/storage/mysql/connection/trip.ts";
import { CLAIM } from "../../../support/claims.ts";

export const LOCK: Lock = {
  id: 1n,
  name: "etl/a",
  limit: null,
  limitVersion: 0n,
  limitReason: "",
  nextTicket: 1n,
  lastToken: 0n,
  heldPermits: 0,
  sharedHolders: 0,
  exclusiveHolders: 0,
  holders: 0,
  waiting: 0,
  waitingPermits: 0,
  changeMark: 0n,
  recordFloor: 0n,
  record: null,
  revision: 1n,
};

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

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** A trip, and the statements that are added to it. */
export function openTrip(): { trip: Trip; statements: Statement[] } {
  const statements: Statement[] = [];
  const trip = new Trip("test");
  const add = trip.add.bind(trip);
  trip.add = (sql, ...values) => {
    statements.push({ sql, values });
    return add(sql, ...values);
  };
  return { trip, statements };
}
