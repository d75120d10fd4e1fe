// Reads all locks with holders or waiters, and all claims beside their first holders, for gauges; and the times of all live
// claims. As of one moment, so that no lock moves along the index during the read, and in pages, so that no statement
// takes longer when more locks are busy. The index of `next_deadline` has every busy lock, and those that were released
// lately.

import {
  BUSY_LOCK_LIST,
  CLAIM_TIMES_LIST,
  FURTHER_CLAIM_LIST,
  HAS_HOLDER,
  HOLDER_TIMES_LIST,
} from "../rows/columns.ts";
import { bigintOf, busyLockFromRow, claimTimesFromRow, furtherClaimFromRow } from "../rows/from-rows.ts";
import { AFTER_CLAIM, afterClaimValues, CLAIM_KEY_LIST } from "../rows/places.ts";
import { BUSY_LOCKS_PAGE, CENSUS_MS_MAX } from "../storage-bounds.ts";
import type { Store } from "../store.ts";
import { type Connection, query, type Row } from "./connection/connection.ts";
import { onSnapshot } from "./connection/in-transaction.ts";
import type { MysqlPool } from "./connection/pool.ts";

const PAGE = `SELECT l.next_deadline, l.id FROM rowlock_lock l FORCE INDEX (rowlock_lock_due)
  WHERE l.next_deadline >= ? AND (l.next_deadline > ? OR l.id > ?)
  ORDER BY l.next_deadline, l.id LIMIT ${BUSY_LOCKS_PAGE}`;
const OF_BUSY = "FROM rowlock_lock l FORCE INDEX (PRIMARY) WHERE l.id IN (?)";
const LOCKS = `SELECT ${BUSY_LOCK_LIST} ${OF_BUSY} AND (l.holders > 0 OR l.waiting > 0)`;
const HOLDER_TIMES = `SELECT ${HOLDER_TIMES_LIST} ${OF_BUSY} AND ${HAS_HOLDER}`;

const CLAIMS = claimsPage(FURTHER_CLAIM_LIST);
const CLAIM_TIMES = claimsPage(CLAIM_TIMES_LIST);

function claimsPage(list: string): string {
  return `SELECT ${list} FROM rowlock_claim c FORCE INDEX (PRIMARY)
  WHERE ${AFTER_CLAIM}
  ORDER BY ${CLAIM_KEY_LIST} LIMIT ${BUSY_LOCKS_PAGE}`;
}

type See = (page: readonly Row[]) => void;

export function busyLocks(pool: MysqlPool): Pick<Store, "busyLocks" | "furtherClaims" | "claimTimes"> {
  const onOneSnapshot = (read: (connection: Connection) => Promise<void>) =>
    pool.use((connection) => onSnapshot(connection, () => read(connection)), CENSUS_MS_MAX);
  return {
    busyLocks: (see) =>
      onOneSnapshot((connection) =>
        eachBusyPage(connection, "busy_locks", LOCKS, (page) => see(page.map(busyLockFromRow))),
      ),
    furtherClaims: (see) =>
      onOneSnapshot((connection) =>
        eachClaimPage(connection, "further_claims", CLAIMS, (page) => see(page.map(furtherClaimFromRow))),
      ),
    claimTimes: (see) =>
      onOneSnapshot(async (connection) => {
        const seePage: See = (page) => see(page.map(claimTimesFromRow));
        await eachBusyPage(connection, "claim_times", HOLDER_TIMES, seePage);
        await eachClaimPage(connection, "claim_times", CLAIM_TIMES, seePage);
      }),
  };
}

async function eachClaimPage(connection: Connection, name: string, sql: string, see: See): Promise<void> {
  for (let after: readonly bigint[] = []; ; ) {
    const page = await query(connection, name, sql, ...afterClaimValues(after));
    see(page);
    const last = page.at(-1);
    if (!last || page.length < BUSY_LOCKS_PAGE) return;
    after = last.slice(-3).map(bigintOf);
  }
}

async function eachBusyPage(connection: Connection, name: string, sql: string, see: See): Promise<void> {
  for (let deadline = 0n, after = 0n; ; ) {
    const page = await query(connection, name, PAGE, deadline, deadline, after);
    const ids = page.map(([, id]) => bigintOf(id));
    if (ids.length > 0) see(await query(connection, name, sql, ids));
    const last = page.at(-1);
    if (!last || page.length < BUSY_LOCKS_PAGE) return;
    deadline = bigintOf(last[0]);
    after = bigintOf(last[1]);
  }
}
