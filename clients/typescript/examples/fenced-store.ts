// Two ways to keep a writer out whose lock was lost while it was not looking: a process that slept, or was cut off. Both are
// for mysql2, on a table with a key `k`, a `value` and, for the first of them, a `fence`: BIGINT UNSIGNED NOT NULL DEFAULT 0.

import type { Connection, ResultSetHeader, RowDataPacket } from "mysql2/promise";

/**
 * Writes the value unless somebody with a higher token has written before. Needs nothing of Rowlock but `lock.token`, so it
 * works on any database. Whether it was written: a row that does not exist is not.
 */
export async function fencedWrite(
  connection: Connection,
  table: string,
  key: string,
  value: string,
  token: bigint,
): Promise<boolean> {
  // By `query`, which writes a bigint out: `execute` would compare it as a DOUBLE, which has 53 bits.
  const [{ affectedRows }] = await connection.query<ResultSetHeader>(
    "UPDATE ?? SET value = ?, fence = ? WHERE k = ? AND fence <= ?",
    [table, value, token, key, token],
  );
  return affectedRows > 0;
}

/**
 * Writes the value in a transaction that has found the lease to be held, so that it cannot end before the transaction does.
 * The connection is to the MySQL or MariaDB that Rowlock itself is on. Whether it was written: not where the lease has ended,
 * and not to a row that does not exist. Throws what the database throws: after a deadlock (1213) the whole of it can be repeated.
 */
export async function guardedWrite(
  connection: Connection,
  lockName: string,
  token: bigint,
  table: string,
  key: string,
  value: string,
): Promise<boolean> {
  // So that no other lock is held up by this one.
  await connection.query("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
  await connection.beginTransaction();
  try {
    // Short from here on: who would renew or end the lease waits for this transaction.
    const [leases] = await connection.query<RowDataPacket[]>(LEASE_HELD, [lockName, token]);
    let isWritten = false;
    if (leases.length > 0) {
      const update = "UPDATE ?? SET value = ? WHERE k = ?";
      const [{ affectedRows }] = await connection.query<ResultSetHeader>(update, [table, value, key]);
      isWritten = affectedRows > 0;
    }
    await connection.commit();
    return isWritten;
  } catch (error) {
    await connection.rollback().catch(() => connection.destroy());
    throw error;
  }
}

/** MySQL and MariaDB both know it so. Asked once in a transaction: a second time, while a release waits, is a deadlock. */
const LEASE_HELD = `
  SELECT 1 FROM rowlock_lock l JOIN rowlock_claim c FORCE INDEX (rowlock_claim_queue) ON c.lock_id = l.id
  WHERE l.name = ? AND c.fencing_token = ? AND c.state = 2
    AND (c.deadline IS NULL OR c.deadline > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED))
  LOCK IN SHARE MODE`;
