// Two ways to refuse a write of a process that has lost its lock unnoticed, as it was suspended or cut off. Both use
// mysql2, on a table with a key `k` and a `value`. The first one also needs a column `fence`: BIGINT UNSIGNED NOT NULL
// DEFAULT 0.

import type { Connection, ResultSetHeader, RowDataPacket } from "mysql2/promise";

/**
 * Writes the value unless a writer with a higher token was there before; resolves with whether it was written. It needs
 * only `lock.token`, so it works with any database. It is right where each row has one writer at a time; holders of several
 * permits that write the same row need `guardedWrite`. It does not create a row.
 */
export async function fencedWrite(
  connection: Connection,
  table: string,
  key: string,
  value: string,
  token: bigint,
): Promise<boolean> {
  // `query` writes a bigint out in full; `execute` would compare it as a DOUBLE, which has 53 bits.
  const [{ affectedRows }] = await connection.query<ResultSetHeader>(
    "UPDATE ?? SET value = ?, fence = ? WHERE k = ? AND fence <= ?",
    [table, value, token, key, token],
  );
  return affectedRows > 0;
}

/**
 * Writes the value in a transaction that checks the lease, so that the lease cannot end before the transaction. The
 * connection must be to the MySQL or MariaDB that Rowlock uses. Resolves with whether the value was written: it is not
 * if the lease has ended or the row does not exist. Rejects with the errors of the database; after a deadlock (1213),
 * call it again.
 */
export async function guardedWrite(
  connection: Connection,
  lockName: string,
  token: bigint,
  table: string,
  key: string,
  value: string,
): Promise<boolean> {
  // So that the check does not delay other locks.
  await connection.query("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
  await connection.beginTransaction();
  try {
    // Keep this short: calls that renew or end the lease wait for this transaction.
    const [leases] = await connection.query<RowDataPacket[]>(LEASE_HELD, [token, lockName, token]);
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

/** Works in MySQL and MariaDB. The first holder is in the row of the lock, further ones in rowlock_claim. */
const LEASE_HELD = `
  SELECT 1 FROM rowlock_lock l LEFT JOIN rowlock_claim c ON c.lock_id = l.id AND c.place = 0
    AND c.ticket_number = (SELECT h.ticket_number FROM rowlock_claim h
      WHERE h.lock_id = l.id AND h.place = 0 AND h.fencing_token = ?)
  WHERE l.name = ? AND (c.state = 2 OR l.holder_state = 2 AND l.holder_fencing_token = ?)
    AND COALESCE(
      IF(c.state = 2, c.deadline, l.holder_deadline) > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED), TRUE)
  LOCK IN SHARE MODE`;
