// The frame of a transaction: after any error the whole of it is rolled back, and a connection on which that fails is
// destroyed, so that no transaction stays open behind a pool.

import type { Row, Session } from "../connection/session.ts";
import { Trip } from "../connection/trip.ts";

/** Runs `work`, whose first trip begins the transaction and whose last one commits it. */
export async function inTransaction<Answer>(session: Session, work: () => Promise<Answer>): Promise<Answer> {
  session.inTransaction = true;
  try {
    const answer = await work();
    session.inTransaction = false;
    return answer;
  } catch (error) {
    await rollBack(session);
    throw error;
  }
}

/** Runs `work` on one consistent snapshot. Takes no locks and writes nothing. */
export function onSnapshot<Answer>(session: Session, work: () => Promise<Answer>): Promise<Answer> {
  return inTransaction(session, async () => {
    const begin = new Trip("begin_snapshot");
    begin.add("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    begin.add("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
    await session.run(begin);
    const answer = await work();
    const end = new Trip("end_snapshot");
    end.add("COMMIT");
    await session.run(end);
    return answer;
  });
}

/** The rows that a statement of a trip has answered. */
export function rowsOf(result: unknown): readonly Row[] {
  return result as readonly Row[];
}

/** How many rows a statement of a trip has written. */
export function writtenBy(result: unknown): number {
  return (result as { readonly affectedRows: number }).affectedRows;
}

/** After any error. Never throws. */
export async function rollBack(session: Session): Promise<void> {
  if (!session.alive) return;
  const trip = new Trip("rollback");
  trip.add("ROLLBACK");
  try {
    await session.run(trip);
    session.inTransaction = false;
  } catch (error) {
    // The caller hears why the transaction failed; the server rolls back when the connection is gone.
    session.destroy(error);
  }
}
