// Two ways to keep a writer out whose lock was lost while it was not looking: a process that slept, or was cut off. Both are
// for MySQL and MariaDB, on a table with a key `k`, a `value` and, for the first of them, a `fence`: BIGINT UNSIGNED NOT NULL
// DEFAULT 0.

package rowlock.examples;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** A store whose writes are fenced. */
public final class FencedStore {
  /** MySQL and MariaDB both know it so. Asked once in a transaction: a second time, while a release waits, is a deadlock. */
  private static final String LEASE_HELD =
      """
      SELECT 1 FROM rowlock_lock l JOIN rowlock_claim c FORCE INDEX (rowlock_claim_queue) ON c.lock_id = l.id
      WHERE l.name = ? AND c.fencing_token = ? AND c.state = 2
        AND (c.deadline IS NULL OR c.deadline > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED))
      LOCK IN SHARE MODE""";

  private FencedStore() {}

  /**
   * Writes the value unless somebody with a higher token has written before. Needs nothing of Rowlock but {@code lock.token()},
   * so it works on any database.
   *
   * @param connection to it
   * @param table of the store
   * @param key of the row
   * @param value to be written
   * @param token of the lock
   * @return whether it was written: a row that does not exist is not
   * @throws SQLException what the database throws
   */
  public static boolean fencedWrite(
      Connection connection, String table, String key, String value, long token)
      throws SQLException {
    String sql = "UPDATE " + quoted(table) + " SET value = ?, fence = ? WHERE k = ? AND fence <= ?";
    try (PreparedStatement update = connection.prepareStatement(sql)) {
      update.setString(1, value);
      update.setLong(2, token);
      update.setString(3, key);
      update.setLong(4, token);
      return update.executeUpdate() > 0;
    }
  }

  /**
   * Writes the value in a transaction that has found the lease to be held, so that it cannot end before the transaction does.
   * The connection is to the MySQL or MariaDB that Rowlock itself is on.
   *
   * @param connection to it
   * @param lockName of the lock
   * @param token of the lock
   * @param table of the store
   * @param key of the row
   * @param value to be written
   * @return whether it was written: not where the lease has ended, and not to a row that does not exist
   * @throws SQLException what the database throws: after a deadlock (1213) the whole of it can be repeated
   */
  public static boolean guardedWrite(
      Connection connection, String lockName, long token, String table, String key, String value)
      throws SQLException {
    // So that no other lock is held up by this one.
    connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    connection.setAutoCommit(false);
    try {
      // Short from here on: who would renew or end the lease waits for this transaction.
      boolean isWritten =
          isLeaseHeld(connection, lockName, token) && write(connection, table, key, value);
      connection.commit();
      return isWritten;
    } catch (SQLException error) {
      connection.rollback();
      throw error;
    } finally {
      connection.setAutoCommit(true);
    }
  }

  private static boolean isLeaseHeld(Connection connection, String lockName, long token)
      throws SQLException {
    try (PreparedStatement select = connection.prepareStatement(LEASE_HELD)) {
      select.setString(1, lockName);
      select.setLong(2, token);
      try (ResultSet found = select.executeQuery()) {
        return found.next();
      }
    }
  }

  private static boolean write(Connection connection, String table, String key, String value)
      throws SQLException {
    String sql = "UPDATE " + quoted(table) + " SET value = ? WHERE k = ?";
    try (PreparedStatement update = connection.prepareStatement(sql)) {
      update.setString(1, value);
      update.setString(2, key);
      return update.executeUpdate() > 0;
    }
  }

  private static String quoted(String table) {
    return "`" + table.replace("`", "``") + "`";
  }
}
