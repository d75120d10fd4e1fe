// Pages of a check: each begins after the key with which the one before ends.

import { bigintOf, type Row } from "../rows/from-rows.ts";
import { CLAIM_KEY_LIST } from "../rows/placement.ts";
import { CHECK_PAGE } from "../storage-bounds.ts";
import { rowsOf, type Steps } from "./steps.ts";

export type PageKey = Readonly<Record<string, bigint>>;

/** The key with which the last row of a page ends, under the names of the first key; null: there is no further page. */
export function keyAfter(page: readonly Row[], first: PageKey): PageKey | null {
  const last = page.at(-1);
  if (!last || page.length < CHECK_PAGE) return null;
  const names = Object.keys(first);
  return Object.fromEntries(names.map((name, at) => [name, bigintOf(last.at(at - names.length))]));
}

/**
 * Passes each live claim that has a value in the first of these columns to `see`, wherever its row is: the columns, and the id of its
 * lock.
 */
export function* eachClaimWith(
  columns: readonly [string, ...string[]],
  name: string,
  see: (row: Row) => void,
): Steps<void> {
  const [listed] = columns;
  const holders = `SELECT ${columns.map((column) => `l.holder_${column}`).join(", ")}, l.id FROM rowlock_lock l
    WHERE l.id > :lockId AND l.holder_state <> 0 AND l.holder_${listed} IS NOT NULL ORDER BY l.id LIMIT ${CHECK_PAGE}`;
  const claims = `SELECT ${columns.map((column) => `c.${column}`).join(", ")}, ${CLAIM_KEY_LIST} FROM rowlock_claim c
    WHERE c.${listed} IS NOT NULL AND (${CLAIM_KEY_LIST}) > (:lockId, :place, :ticketNumber)
    ORDER BY ${CLAIM_KEY_LIST} LIMIT ${CHECK_PAGE}`;
  yield* eachRow(holders, { lockId: 0n }, name, see);
  yield* eachRow(claims, { lockId: 0n, place: 0n, ticketNumber: 0n }, name, see);
}

function* eachRow(sql: string, first: PageKey, name: string, see: (row: Row) => void): Steps<void> {
  for (let after: PageKey | null = first; after; ) {
    const page: readonly Row[] = yield* rowsOf(name, [sql, after]);
    page.forEach(see);
    after = keyAfter(page, first);
  }
}
