// Who waits for row locks, and who does not. An impatient transaction fails at once where another one holds a row that it
// has to lock, so that it can go on without that row. MariaDB can be told not to wait at all (see Session.isPatient). MySQL
// knows NOWAIT for reads only, so there an impatient transaction reads what it is about to write, right before it does.

import type { Claim, ClaimKey } from "../../../core/claim.ts";
import { SERVER_MADE_PREFIX } from "../../../core/claim.ts";
import type { Lock } from "../../../core/lock.ts";
import { bytesOf } from "../../rows/values.ts";
import type { Changes } from "../../store.ts";
import type { Session } from "../connection/session.ts";
import { type SqlValue, Trip } from "../connection/trip.ts";
import { hasKey } from "../keys.ts";
import { bigintOf } from "../rows.ts";
import { rowsOf } from "./in-transaction.ts";

/** End a reading statement that locks rows. */
export const NOWAIT = "NOWAIT";
export const SHARED_NOWAIT = "/*!80000 FOR SHARE NOWAIT */ /*M!100304 LOCK IN SHARE MODE NOWAIT */";

// Those that others have locked are skipped, and not counted. With NOWAIT a range would fail at the row next to its own.
const GUARDS = `(SELECT COUNT(*) FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id IN (?) FOR UPDATE SKIP LOCKED)`;
const CLAIMS = "SELECT COUNT(*) FROM rowlock_claim FORCE INDEX (PRIMARY) WHERE";
// Of a claim that another transaction is adding with the same request id.
const REQUEST = `(SELECT COUNT(*) FROM rowlock_claim FORCE INDEX (rowlock_claim_request)
  WHERE request_id = ? FOR UPDATE NOWAIT)`;

const UNLOCKED = "SELECT lock_id, ticket_number FROM rowlock_claim FORCE INDEX (PRIMARY) WHERE";

/**
 * On MySQL, adds the statements that lock all that the changes will write. The guard rows, if they are not locked yet. They
 * answer no rows, which would cost this server more than the locks cost the database; where one is missing, the result is
 * below zero, where there are no unsigned numbers (error 1690).
 */
export function addRowLocks(trip: Trip, session: Session, changes: Changes, guards: readonly Lock[]): void {
  if (session.setsPatience) return;
  const counts: string[] = [];
  const values: SqlValue[] = [];
  if (guards.length > 0) {
    counts.push(GUARDS);
    values.push(guards.map(({ id }) => id));
  }
  if (changes.changed.length > 0) {
    const key = hasKey(changes.changed);
    counts.push(`(${CLAIMS} ${key.sql} FOR UPDATE SKIP LOCKED)`);
    values.push(...key.values);
  }
  const rows = guards.length + changes.changed.length;
  if (rows > 0) trip.add(`DO ${counts.join(" + ")} - CAST(? AS UNSIGNED)`, ...values, rows);
  const requests = changes.added.filter(isCallersOwn);
  if (requests.length === 0) return;
  trip.add(
    `DO ${requests.map(() => REQUEST).join(", ")}`,
    ...requests.map(({ requestId }) => bytesOf(requestId)),
  );
}

/** Locks those of the claims in a state that nobody else has locked. Begins the transaction. */
export async function lockUnlocked(
  session: Session,
  name: string,
  state: number,
  keys: readonly ClaimKey[],
): Promise<ClaimKey[]> {
  const trip = new Trip(name);
  const key = hasKey(keys);
  trip.add("START TRANSACTION");
  const lockedAt = trip.add(
    `${UNLOCKED} state = ? AND ${key.sql} FOR UPDATE SKIP LOCKED`,
    state,
    ...key.values,
  );
  return rowsOf((await session.run(trip))[lockedAt]).map(([lockId, ticketNumber]) => ({
    lockId: bigintOf(lockId),
    ticketNumber: bigintOf(ticketNumber),
  }));
}

/** Request ids that the server makes are never made twice. */
function isCallersOwn({ requestId }: Claim): boolean {
  return !requestId.startsWith(SERVER_MADE_PREFIX);
}
