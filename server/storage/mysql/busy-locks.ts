// Reads all locks with holders or waiters, for gauges: as of one moment, so that no claim moves along the index during
// the read, and in pages, so that no statement takes longer when more locks are busy.

import { partsOf } from "../../core/bounds.ts";
import type { ClaimKey } from "../../core/claim.ts";
import { busyLockColumnsBy } from "../rows/columns.ts";
import { bigintOf, busyLockFromRow, claimKeyFromRow } from "../rows/from-rows.ts";
import { STATE_CODES } from "../rows/values.ts";
import { BUSY_CLAIMS_PAGE, BUSY_LOCKS_PAGE, CENSUS_MS_MAX } from "../storage-bounds.ts";
import type { BusyLock, Store } from "../store.ts";
import { type Connection, query, type Row, type SqlValue } from "./connection/connection.ts";
import type { MysqlPool } from "./connection/pool.ts";
import { onSnapshot } from "./transaction/in-transaction.ts";

const CLAIMS = "SELECT lock_id, ticket_number, deadline FROM rowlock_claim FORCE INDEX (rowlock_claim_due)";
const ENDLESS = `${CLAIMS} WHERE state = ? AND deadline IS NULL AND lock_id >= ? AND (lock_id > ? OR ticket_number > ?)
  ORDER BY lock_id, ticket_number LIMIT ${BUSY_CLAIMS_PAGE}`;
const ENDING = `${CLAIMS} WHERE state = ? AND deadline >= ?
    AND (deadline > ? OR lock_id > ? OR (lock_id = ? AND ticket_number > ?))
  ORDER BY deadline, lock_id, ticket_number LIMIT ${BUSY_CLAIMS_PAGE}`;
const LOCKS = `SELECT ${busyLockColumnsBy("FORCE INDEX (rowlock_claim_queue)", "TRUE")}
  FROM rowlock_lock l WHERE l.id IN (?)`;

type ClaimPage = (after: Row | undefined) => [sql: string, ...values: SqlValue[]];

export function busyLocks(pool: MysqlPool): Pick<Store, "busyLocks"> {
  return {
    busyLocks: (see) =>
      pool.use((connection) => onSnapshot(connection, () => seeAll(connection, see)), CENSUS_MS_MAX),
  };
}

async function seeAll(connection: Connection, see: (locks: readonly BusyLock[]) => void): Promise<void> {
  const seen = new Set<string>();
  for (const state of [STATE_CODES.held, STATE_CODES.waiting]) {
    for (const page of [endless(state), ending(state)]) {
      for (let rows = await query(connection, "busy_locks", ...page(undefined)); rows.length > 0; ) {
        const ids = [...new Set(rows.map(([id]) => String(id)))].filter((id) => !seen.has(id));
        for (const id of ids) seen.add(id);
        for (const part of partsOf(ids, BUSY_LOCKS_PAGE))
          see((await query(connection, "busy_locks", LOCKS, part.map(bigintOf))).map(busyLockFromRow));
        rows =
          rows.length < BUSY_CLAIMS_PAGE ? [] : await query(connection, "busy_locks", ...page(rows.at(-1)));
      }
    }
  }
}

/** Pages of claims without a deadline, which a comparison with a deadline would leave out. */
function endless(state: number): ClaimPage {
  return (after) => {
    const { lockId, ticketNumber } = keyOf(after);
    return [ENDLESS, state, lockId, lockId, ticketNumber];
  };
}

function ending(state: number): ClaimPage {
  return (after) => {
    const { lockId, ticketNumber } = keyOf(after);
    const deadline = after ? bigintOf(after[2]) : 0n;
    return [ENDING, state, deadline, deadline, lockId, lockId, ticketNumber];
  };
}

function keyOf(after: Row | undefined): ClaimKey {
  return after ? claimKeyFromRow(after) : { lockId: 0n, ticketNumber: 0n };
}
