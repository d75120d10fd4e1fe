// The frames of small writes, and of all transactions. After any error a transaction is rolled back as a whole; if the
// rollback fails, its connection is destroyed, so that no transaction stays open in the pool.

import { ROLLED_BACK, retry } from "../../retry.ts";
import { type Connection, query, runCaughtUp, Trip } from "./connection.ts";
import type { MysqlPool } from "./pool.ts";

/** Runs a small write, again after errors where the database rolled it back or may have committed it. */
export function repeatedly<Answer>(
  pool: MysqlPool,
  work: (connection: Connection) => Promise<Answer>,
): Promise<Answer> {
  return retry(ROLLED_BACK, () => pool.write(work));
}

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

/** Runs `work` on one consistent snapshot. `isCaughtUp`: it has everything that the cluster had committed before. */
export function onSnapshot<Answer>(
  connection: Connection,
  work: () => Promise<Answer>,
  isCaughtUp = false,
): Promise<Answer> {
  return inTransaction(connection, async () => {
    const begin = new Trip("begin_snapshot");
    begin.add("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    if (isCaughtUp) begin.addCaughtUp(connection, BEGIN);
    else begin.add(BEGIN);
    await runCaughtUp(connection, begin);
    const answer = await work();
    await query(connection, "end_snapshot", "COMMIT");
    return answer;
  });
}

/** Rolls back after any error. Never throws. */
export async function rollBack(connection: Connection): Promise<void> {
  if (!connection.alive) return;
  try {
    await query(connection, "rollback", "ROLLBACK");
    connection.inTransaction = false;
  } catch (error) {
    // The caller gets the error of the transaction; the server rolls back when the connection closes.
    connection.destroy(error);
  }
}
