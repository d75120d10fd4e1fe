// The frame of a transaction. After any error it rolls the whole transaction back; if the rollback fails, it destroys
// the connection, so that no transaction stays open in the pool.

import { addCaughtUp, runCaughtUp } from "../caught-up.ts";
import { type Connection, type Row, Trip } from "./connection.ts";

/** Runs `work`, whose first trip must begin the transaction and whose last trip must commit it. */
export async function inTransaction<Answer>(
  connection: Connection,
  work: () => Promise<Answer>,
): Promise<Answer> {
  connection.inTransaction = true;
  try {
    const answer = await work();
    connection.inTransaction = false;
    return answer;
  } catch (error) {
    await rollBack(connection);
    throw error;
  }
}

const BEGIN = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

/**
 * Runs `work` on one consistent snapshot. Locks nothing and writes nothing. `isCaughtUp`: the snapshot has everything that
 * the cluster had committed before.
 */
export function onSnapshot<Answer>(
  connection: Connection,
  work: () => Promise<Answer>,
  isCaughtUp = false,
): Promise<Answer> {
  return inTransaction(connection, async () => {
    const begin = new Trip("begin_snapshot");
    begin.add("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    if (isCaughtUp) addCaughtUp(connection, begin, BEGIN);
    else begin.add(BEGIN);
    await (isCaughtUp ? runCaughtUp(connection, begin) : connection.run(begin));
    const answer = await work();
    const end = new Trip("end_snapshot");
    end.add("COMMIT");
    await connection.run(end);
    return answer;
  });
}

/** The rows that a statement of a trip returned. */
export function rowsOf(result: unknown): readonly Row[] {
  return result as readonly Row[];
}

/** How many rows a statement of a trip wrote. */
export function writtenBy(result: unknown): number {
  return (result as { readonly affectedRows: number }).affectedRows;
}

/** Rolls back after any error. Never throws. */
export async function rollBack(connection: Connection): Promise<void> {
  if (!connection.alive) return;
  const trip = new Trip("rollback");
  trip.add("ROLLBACK");
  try {
    await connection.run(trip);
    connection.inTransaction = false;
  } catch (error) {
    // The caller gets the error of the transaction; the server rolls back when the connection closes.
    connection.destroy(error);
  }
}
