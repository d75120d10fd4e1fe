// Reads that see everything that the cluster had committed before they began. A node of Galera applies what other
// nodes commit a little late, so its own rows may be older than what a client has seen elsewhere.

import type { Connection, Trip } from "./connection/connection.ts";
import type { SqlValue } from "./connection/sql-text.ts";

const CATCH_UP = "SET SESSION wsrep_sync_wait = 1";
const NO_MORE = "SET SESSION wsrep_sync_wait = DEFAULT";

/** Adds such a read to a trip, which `runCaughtUp` then runs. Returns the index of its result. */
export function addCaughtUp(
  { mayLag }: Connection,
  trip: Trip,
  sql: string,
  ...values: readonly SqlValue[]
): number {
  if (!mayLag) return trip.add(sql, ...values);
  trip.add(CATCH_UP);
  const at = trip.add(sql, ...values);
  trip.add(NO_MORE);
  return at;
}

export async function runCaughtUp(connection: Connection, trip: Trip): Promise<readonly unknown[]> {
  try {
    return await connection.run(trip);
  } catch (error) {
    // After a failure the connection may keep wsrep_sync_wait = 1, and a later decision on it must not wait for the
    // node to catch up.
    if (connection.mayLag) connection.destroy(error);
    throw error;
  }
}
