// Locks and claims by their numbers, and inspectable trips, for tests without a database of what is cached and written.

import type { Claim } from "../../../../server/core/claim.ts";
import type { Lock } from "../../../../server/core/lock.ts";
import { Trip } from "../../../../server/storage/mysql/connection/connection.ts";
import type { SqlValue } from "../../../../server/storage/mysql/connection/sql-text.ts";
import { requestKeyOf } from "../../../../server/storage/rows/request-key.ts";
import {
  bytesOf,
  END_REASON_CODES,
  holderValues,
  lockValues,
  type Value,
} from "../../../../server/storage/rows/values.ts";
import { CLAIM, FREE_LOCK } from "../../../support/claims.ts";

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

/** As a store reads it: a live claim has no values for how it ended. */
export function asRead(claim: Claim): Claim {
  return claim.state === "ended"
    ? claim
    : { ...claim, endedAtUs: null, endReason: null, endNote: "", endedBy: "" };
}

/** A row of CLAIM_LIST, HOLDER_LIST or HISTORY_LIST. */
export function claimRow(claim: Claim): Value[] {
  const { state, endedAtUs, endReason, endNote, endedBy } = claim;
  const end = endReason && END_REASON_CODES[endReason];
  return [
    claim.lockId,
    ...holderValues(claim),
    ...(state === "ended" ? [endedAtUs, end, bytesOf(endNote), bytesOf(endedBy)] : [null, null, null, null]),
  ];
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
 * The statement as the database reads it, on one line: with its values, without hints and without what only one kind of
 * database reads. Throws if the numbers of values and placeholders differ.
 */
export function textOf({ sql, values }: Statement): string {
  const left = [...values];
  const filled = sql.replace(/\?/g, () => {
    if (left.length === 0) throw new Error(`There are too few values for ${sql}`);
    return literalOf(left.shift() as SqlValue);
  });
  if (left.length > 0) throw new Error(`There are ${left.length} values too many for ${sql}`);
  return filled
    .replace(/\/\*.*?\*\/|FORCE INDEX \(\w+\)/g, " ")
    .replace(/\s+/g, " ")
    .replace(/ (?=[,)])|(?<=\() /g, "")
    .trim();
}

/** Whether these are the bytes of a key, and no text. */
function isKey(value: Buffer): boolean {
  return value.length === 16 && value.some((byte) => byte > 0x7f);
}

/** The key of a request id as such a statement has it. */
export function keyOf(requestId: string): string {
  return literalOf(requestKeyOf(requestId));
}

function literalOf(value: SqlValue): string {
  if (Buffer.isBuffer(value)) return isKey(value) ? `x'${value.toString("hex")}'` : `'${value}'`;
  if (!Array.isArray(value)) return String(value);
  return value.map((each) => (Array.isArray(each) ? `(${literalOf(each)})` : literalOf(each))).join(", ");
}
