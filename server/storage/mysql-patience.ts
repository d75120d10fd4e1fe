// Who waits for row locks, and who does not. An impatient transaction fails at once where another one holds a row that it
// has to lock, so that it can go on without that row. MariaDB can be told not to wait at all (see Session.isPatient). MySQL
// knows NOWAIT for reads only, so there an impatient transaction reads what it is about to write, right before it does.

import type { Claim, ClaimKey } from "../core/claim.ts";
import { SERVER_MADE_PREFIX } from "../core/claim.ts";
import { hasKey } from "./mysql-keys.ts";
import { bigintOf } from "./mysql-rows.ts";
import type { Session } from "./mysql-session.ts";
import { rowsOf } from "./mysql-transaction.ts";
import { Trip } from "./mysql-trip.ts";
import { bytesOf } from "./row-values.ts";
import type { Changes } from "./store.ts";

/** End a reading statement that locks rows. */
export const NOWAIT = "NOWAIT";
export const SHARED_NOWAIT = "/*!80000 FOR SHARE NOWAIT */ /*M!100304 LOCK IN SHARE MODE NOWAIT */";

const GUARDS = "SELECT COUNT(*) FROM rowlock_lock FORCE INDEX (PRIMARY) WHERE id IN (?) FOR UPDATE NOWAIT";
const CLAIMS = "SELECT COUNT(*) FROM rowlock_claim FORCE INDEX (PRIMARY) WHERE";
// Of a claim that another transaction is adding with the same request id.
const REQUESTS = `SELECT COUNT(*) FROM rowlock_claim FORCE INDEX (rowlock_claim_request)
  WHERE request_id IN (?) FOR UPDATE NOWAIT`;

const UNLOCKED = "SELECT lock_id, ticket_number FROM rowlock_claim FORCE INDEX (PRIMARY) WHERE";

/** On MySQL, adds the statements that lock all that the changes will write. The guard rows, if they are not locked yet. */
export function addRowLocks(trip: Trip, session: Session, changes: Changes, guards: readonly bigint[]): void {
  if (session.setsPatience) return;
  if (guards.length > 0) trip.add(GUARDS, guards);
  if (changes.changed.length > 0) {
    const key = hasKey(changes.changed);
    trip.add(`${CLAIMS} ${key.sql} FOR UPDATE NOWAIT`, ...key.values);
  }
  const requests = changes.added.filter(isCallersOwn).map(({ requestId }) => bytesOf(requestId));
  if (requests.length > 0) trip.add(REQUESTS, requests);
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
