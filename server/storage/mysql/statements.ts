// What the statements of MySQL share: the clocks, the read of records, and the conditions that select claims by their
// keys, in the form that the optimizers turn into look-ups by primary key.

import { type Claim, type ClaimKey, type ClaimRef, HELD_PLACE, placeOf } from "../../core/claim.ts";
import { HAS_HOLDER, RECORD_LIST } from "../rows/columns.ts";
import { placesOf, waitingPlaceIn } from "../rows/placement.ts";
import { requestKeyOf } from "../rows/values.ts";
import type { SqlValue } from "./connection/sql-text.ts";

/** Value: the ids of locks that have records. */
export const RECORDS = `SELECT ${RECORD_LIST} FROM rowlock_record FORCE INDEX (PRIMARY) WHERE lock_id IN (?)`;

/** The database's clock in microseconds, at the start of the statement that contains it. */
export const NOW_US = "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)";

/** The process's monotonic clock in microseconds. Readings of the database's clock are compared with it. */
export function monotonicUs(): number {
  return performance.now() * 1_000;
}

export interface ClaimLists {
  readonly holder: string;
  readonly claim: string;
  readonly history: string;
}

export type Branch = readonly [sql: string, ...values: SqlValue[]];

const HISTORY = "rowlock_history h FORCE INDEX (rowlock_history_claim)";

/**
 * Selects claims by key: a branch for each table, that of the guard rows first. They must be branches of one statement,
 * unless the guard rows are locked: otherwise a claim that moves is seen in no table or in two.
 */
export function claimsByKey(lists: ClaimLists, keys: readonly ClaimKey[]): Branch[] {
  if (keys.length === 0) return [];
  const numbers = keys.map(({ lockId, ticketNumber }) => [lockId, ticketNumber]);
  const { sql, values } = isOneOf(BY_NUMBER, numbers);
  const placed = keys.flatMap(({ lockId, ticketNumber }) =>
    placesOf(ticketNumber).map((place): PlacedKey => [lockId, place, ticketNumber]),
  );
  const claims = isOneOf(BY_PLACE, placed);
  const inGuardRows = `l.id IN (?) AND ${sql.replace("lock_id", "l.id").replace("ticket_number", "l.holder_ticket_number")}`;
  const holder = `(SELECT ${lists.holder} FROM rowlock_lock l FORCE INDEX (PRIMARY) WHERE ${HAS_HOLDER} AND ${inGuardRows})`;
  const claim = `(SELECT ${lists.claim} FROM rowlock_claim c FORCE INDEX (PRIMARY) WHERE ${claims.sql})`;
  return [
    [holder, keys.map(({ lockId }) => lockId), ...values],
    [claim, ...claims.values],
    [`(SELECT ${lists.history} FROM ${HISTORY} WHERE ${sql})`, ...values],
  ];
}

/** Selects the claims at the keys of clients' request ids, as `claimsByKey` does. They may have other request ids. */
export function claimsByRequest(lists: ClaimLists, requestIds: readonly string[]): Branch[] {
  if (requestIds.length === 0) return [];
  const keys = requestIds.map(requestKeyOf);
  const from = "FROM rowlock_request r FORCE INDEX (PRIMARY)";
  const claimAt = (
    place: string,
  ) => `(SELECT ${lists.claim} ${from} STRAIGHT_JOIN rowlock_claim c FORCE INDEX (PRIMARY)
          ON c.lock_id = r.lock_id AND c.place = ${place} AND c.ticket_number = r.ticket_number WHERE r.request_key IN (?))`;
  const branches = [
    `(SELECT ${lists.holder} ${from} STRAIGHT_JOIN rowlock_lock l FORCE INDEX (PRIMARY) ON l.id = r.lock_id
        WHERE r.request_key IN (?) AND ${HAS_HOLDER} AND l.holder_ticket_number = r.ticket_number)`,
    claimAt(String(HELD_PLACE)),
    claimAt(waitingPlaceIn("r.ticket_number")),
    `(SELECT ${lists.history} ${from} STRAIGHT_JOIN ${HISTORY}
        ON h.lock_id = r.lock_id AND h.ticket_number = r.ticket_number WHERE r.request_key IN (?))`,
  ];
  return branches.map((sql): Branch => [sql, keys]);
}

export type KeyCondition = { readonly sql: string; readonly values: readonly SqlValue[] };

// A list of keys is read much faster than AND and OR. But for a list with a single key, MariaDB reads the whole table, and
// an UPDATE locks all of it.

const BY_NUMBER = { one: "(lock_id = ? AND ticket_number = ?)", more: "(lock_id, ticket_number) IN (?)" };
const BY_PLACE = {
  one: "(lock_id = ? AND place = ? AND ticket_number = ?)",
  more: "(lock_id, place, ticket_number) IN (?)",
};

type PlacedKey = readonly [lockId: bigint, place: bigint, ticketNumber: bigint];

/** Matches the rows with these keys, at least one. */
function isOneOf({ one, more }: typeof BY_PLACE, keys: readonly (readonly bigint[])[]): KeyCondition {
  const [first] = keys;
  return first && keys.length === 1 ? { sql: one, values: first } : { sql: more, values: [keys] };
}

interface ClaimsRead {
  claim(key: ClaimKey): Pick<Claim, "state" | "ticketNumber" | "levels"> | undefined;
}

/** The key of a claim's row in rowlock_claim, before the decision that has changed the claim. */
export function keyBefore(before: ClaimsRead, { lockId, ticketNumber }: ClaimKey): PlacedKey {
  const read = before.claim({ lockId, ticketNumber });
  if (!read) throw new Error(`Claim ${ticketNumber} of lock ${lockId} was decided about but never read.`);
  return [lockId, placeOf(read), ticketNumber];
}

/** Matches the rows of rowlock_claim that these claims had before they were decided about. */
export function hasKey(claims: readonly ClaimKey[], before: ClaimsRead): KeyCondition {
  return isOneOf(
    BY_PLACE,
    claims.map((claim) => keyBefore(before, claim)),
  );
}

/** Matches exactly these claims, and not others that have received the same ticket numbers. */
export function hasSecret(claims: readonly ClaimRef[], before: ClaimsRead): KeyCondition {
  return withSecret(hasKey(claims, before), claims);
}

/** Matches the rows of claims with these numbers, at least one. Of those, waiters have the state 1, at either place. */
export function waitsAt(keys: readonly ClaimKey[]): KeyCondition {
  const keysOf = ({ lockId, ticketNumber }: ClaimKey) =>
    placesOf(ticketNumber).map((place): PlacedKey => [lockId, place, ticketNumber]);
  return isOneOf(BY_PLACE, keys.flatMap(keysOf));
}

/** The same, and not others that have received the same ticket numbers. */
export function waitsWithSecret(claims: readonly ClaimRef[]): KeyCondition {
  return withSecret(waitsAt(claims), claims);
}

/** Secrets are random, so it is enough that the row has one of them. */
function withSecret({ sql, values }: KeyCondition, claims: readonly ClaimRef[]): KeyCondition {
  return { sql: `${sql} AND secret IN (?)`, values: [...values, claims.map(({ secret }) => secret)] };
}

/** Clauses that end a SELECT which locks rows. */
export const NOWAIT = "NOWAIT";
export const SHARED_NOWAIT = "/*!80000 FOR SHARE NOWAIT */ /*M!100304 LOCK IN SHARE MODE NOWAIT */";
