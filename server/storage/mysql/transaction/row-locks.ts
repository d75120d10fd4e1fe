// Which transactions wait for row locks. An impatient transaction fails at once if another one holds a row that it must
// lock, so that it can continue without that row. On MariaDB a connection can be set never to wait (see
// Connection.isPatient). MySQL has NOWAIT for reads only, so there an impatient transaction locks the rows that it is
// about to write by reading them directly before.

import type { Claim } from "../../../core/claim.ts";
import type { Lock } from "../../../core/lock.ts";
import type { Before } from "../../cached-locks.ts";
import type { Moves } from "../../rows/placement.ts";
import { requestKeyOf } from "../../rows/values.ts";
import type { Connection, Trip } from "../connection/connection.ts";
import type { SqlValue } from "../connection/sql-text.ts";
import { hasKey, keyBefore } from "../statements.ts";
import type { RecordWrites } from "./write.ts";

// Up to this many rows are locked one by one, and a row that another transaction holds is an error. More rows are
// locked faster by a list with SKIP LOCKED: rows that others hold are missing from the count. NOWAIT does not work for
// a list, because a range also fails at the row next to it.
const ROWS_ONE_BY_ONE_MAX = 4;
const GUARD = "(SELECT 1 FROM rowlock_lock WHERE id = ? FOR UPDATE NOWAIT)";
const CLAIM =
  "(SELECT 1 FROM rowlock_claim WHERE lock_id = ? AND place = ? AND ticket_number = ? FOR UPDATE NOWAIT)";
const RECORD = "(SELECT 1 FROM rowlock_record WHERE lock_id = ? FOR UPDATE NOWAIT)";
const GUARDS = `(SELECT COUNT(*) FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id IN (?) FOR UPDATE SKIP LOCKED)`;
const RECORDS = `(SELECT COUNT(*) FROM rowlock_record FORCE INDEX (PRIMARY)
  WHERE lock_id IN (?) FOR UPDATE SKIP LOCKED)`;
const CLAIMS = "SELECT COUNT(*) FROM rowlock_claim FORCE INDEX (PRIMARY) WHERE";
// Detects claims with the same request ids that another transaction is adding. As far as is known, no such claims
// exist, and look-ups of missing keys touch no neighbouring rows, so NOWAIT works here.
const REQUESTS = `(SELECT COUNT(*) FROM rowlock_request FORCE INDEX (PRIMARY)
  WHERE request_key IN (?) FOR UPDATE NOWAIT)`;

/**
 * On MySQL, adds the statements that lock all rows which the changes will write, and the guard rows if they are not
 * locked yet. These statements return no rows, because reading those would cost this server more than the locks cost
 * the database.
 */
export function addRowLocks(
  trip: Trip,
  connection: Connection,
  moves: Moves,
  guards: readonly Lock[],
  recordChanges: RecordWrites | null,
  before: Before,
): void {
  if (connection.setsPatience) return;
  const records = recordChanges ? [...recordChanges.changed, ...recordChanges.removed] : [];
  const claims = [...moves.changed, ...moves.removed];
  const rows = guards.length + claims.length + records.length;
  const locks =
    rows > ROWS_ONE_BY_ONE_MAX
      ? lists(claims, guards, records, before)
      : rowByRow(claims, guards, records, before);
  const requests = moves.requests.map(({ requestId }) => requestKeyOf(requestId));
  if (requests.length > 0) locks.push([REQUESTS, requests]);
  if (locks.length === 0) return;
  trip.add(`DO ${locks.map(([sql]) => sql).join(", ")}`, ...locks.flatMap(([, ...values]) => values));
}

/** An expression that locks rows, with its values. */
type Locking = [sql: string, ...values: SqlValue[]];

function rowByRow(
  claims: readonly Claim[],
  guards: readonly Lock[],
  records: readonly Lock[],
  before: Before,
): Locking[] {
  return [
    ...guards.map(({ id }): Locking => [GUARD, id]),
    ...claims.map((claim): Locking => {
      const { lockId, place, ticketNumber } = keyBefore(before, claim);
      return [CLAIM, lockId, place, ticketNumber];
    }),
    ...records.map(({ id }): Locking => [RECORD, id]),
  ];
}

/** If a row is missing, the sum is negative, which an unsigned number cannot represent: error 1690. */
function lists(
  claims: readonly Claim[],
  guards: readonly Lock[],
  records: readonly Lock[],
  before: Before,
): Locking[] {
  const key = hasKey(claims, before);
  const counts: Locking[] = [];
  if (guards.length > 0) counts.push([GUARDS, guards.map(({ id }) => id)]);
  if (claims.length > 0) counts.push([`(${CLAIMS} ${key.sql} FOR UPDATE SKIP LOCKED)`, ...key.values]);
  if (records.length > 0) counts.push([RECORDS, records.map(({ id }) => id)]);
  const sum = `${counts.map(([sql]) => sql).join(" + ")} - CAST(? AS UNSIGNED)`;
  const rows = guards.length + claims.length + records.length;
  return [[sum, ...counts.flatMap(([, ...values]) => values), rows]];
}
