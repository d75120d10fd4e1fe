// Locks and claims by their numbers, and inspectable trips, for tests without a database of what is cached and written.

import type { Claim } from "../../../../server/core/claim.ts";
import type { Lock } from "../../../../server/core/lock.ts";
import { Trip } from "../../../../server/storage/mysql/connection/connection.ts";
import { type SqlValue, withValues } from "../../../../server/storage/mysql/connection/sql-text.ts";
import { bytesOf, type Value } from "../../../../server/storage/rows/values.ts";
import { CLAIM, FREE_LOCK } from "../../../support/claims.ts";
import { lockValues } from "../../../support/row-values.ts";

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

/** A row of LOCK_LIST. */
export function guardRow(lock: Lock): Value[] {
  return [lock.id, bytesOf(lock.name), ...lockValues(lock), lock.firstHolder];
}

/** Consecutive ticket numbers. */
export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

export interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** A trip, and the statements added to it. */
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

/**
 * The statement as the database reads it, on one line: with its values, bytes as the text that they are, without hints and
 * without what only one kind of database reads. Throws if the numbers of values and placeholders differ.
 */
export function textOf({ sql, values }: Statement): string {
  return withValues(sql, values)
    .replace(/\/\*.*?\*\/|FORCE INDEX \(\w+\)/g, " ")
    .replace(/X'([0-9a-f]*)'/g, (_, hex: string) => `'${Buffer.from(hex, "hex")}'`)
    .replace(/\s+/g, " ")
    .replace(/ (?=[,)])|(?<=\() /g, "")
    .replace(/'[^']*'|,(?! )/g, (part) => (part === "," ? ", " : part))
    .trim();
}
