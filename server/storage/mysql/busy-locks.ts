// Reads all locks with holders or waiters, and all claims beside their first holders, for gauges: as of one moment, so that no lock moves along the index during the
// read, and in pages, so that no statement takes longer when more locks are busy. The index of `next_deadline` has every
// busy lock, and those that were released lately.

import { BUSY_LOCK_LIST, FURTHER_CLAIM_LIST } from "../rows/columns.ts";
import { bigintOf, busyLockFromRow, furtherClaimFromRow } from "../rows/from-rows.ts";
import { BUSY_LOCKS_PAGE, CENSUS_MS_MAX } from "../storage-bounds.ts";
import type { BusyLock, FurtherClaim, Store } from "../store.ts";
import { type Connection, query } from "./connection/connection.ts";
import { onSnapshot } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";

const PAGE = `SELECT l.next_deadline, l.id FROM rowlock_lock l FORCE INDEX (rowlock_lock_due)
  WHERE l.next_deadline >= ? AND (l.next_deadline > ? OR l.id > ?)
  ORDER BY l.next_deadline, l.id LIMIT ${BUSY_LOCKS_PAGE}`;
const LOCKS = `SELECT ${BUSY_LOCK_LIST} FROM rowlock_lock l FORCE INDEX (PRIMARY)
  WHERE l.id IN (?) AND (l.holders > 0 OR l.waiting > 0)`;

const CLAIMS = `SELECT ${FURTHER_CLAIM_LIST} FROM rowlock_claim c FORCE INDEX (PRIMARY)
  WHERE c.lock_id >= ? AND (c.lock_id > ? OR c.ticket_number > ?)
  ORDER BY c.lock_id, c.ticket_number LIMIT ${BUSY_LOCKS_PAGE}`;

export function busyLocks(pool: MysqlPool): Pick<Store, "busyLocks" | "furtherClaims"> {
  return {
    furtherClaims: (see) =>
      pool.use((connection) => onSnapshot(connection, () => seeClaims(connection, see)), CENSUS_MS_MAX),
    busyLocks: (see) =>
      pool.use((connection) => onSnapshot(connection, () => seeAll(connection, see)), CENSUS_MS_MAX),
  };
}

async function seeClaims(
  connection: Connection,
  see: (claims: readonly FurtherClaim[]) => void,
): Promise<void> {
  for (let lockId = 0n, after = 0n; ; ) {
    const page = await query(connection, "further_claims", CLAIMS, lockId, lockId, after);
    see(page.map(furtherClaimFromRow));
    const last = page.at(-1);
    if (!last || page.length < BUSY_LOCKS_PAGE) return;
    lockId = bigintOf(last[0]);
    after = bigintOf(last[1]);
  }
}

async function seeAll(connection: Connection, see: (locks: readonly BusyLock[]) => void): Promise<void> {
  for (let deadline = 0n, after = 0n; ; ) {
    const page = await query(connection, "busy_locks", PAGE, deadline, deadline, after);
    const ids = page.map(([, id]) => bigintOf(id));
    if (ids.length > 0) see((await query(connection, "busy_locks", LOCKS, ids)).map(busyLockFromRow));
    const last = page.at(-1);
    if (!last || page.length < BUSY_LOCKS_PAGE) return;
    deadline = bigintOf(last[0]);
    after = bigintOf(last[1]);
  }
}
