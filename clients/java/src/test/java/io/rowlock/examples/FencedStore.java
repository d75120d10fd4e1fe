// Two ways to keep out a writer whose lock was lost without its notice, because the process slept or was cut off. Both
// are for MySQL and MariaDB, on a table with a key `k`, a `value` and, for fencedWrite, a column `fence`: BIGINT
// UNSIGNED NOT NULL DEFAULT 0.

package io.rowlock.examples;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

/** A store whose writes are fenced. */
public final class FencedStore {
  /** Works on MySQL and MariaDB. The first holder is in the row of the lock, further ones in rowlock_claim. */
  private static final String LEASE_HELD =
      """
      SELECT 1 FROM rowlock_lock l LEFT JOIN rowlock_claim c ON c.lock_id = l.id AND c.place = 0
        AND c.ticket_number = (SELECT h.ticket_number FROM rowlock_claim h
          WHERE h.lock_id = l.id AND h.place = 0 AND h.fencing_token = ?)
      WHERE l.name = ? AND (c.state = 2 OR l.holder_state = 2 AND l.holder_fencing_token = ?)
        AND COALESCE(
          IF(c.state = 2, c.deadline, l.holder_deadline) > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED), TRUE)
      LOCK IN SHARE MODE""";

  private FencedStore() {}

  /**
   * Writes the value unless somebody with a higher token has written before. It needs only {@code lock.token()}, so it
   * works on any database. It is right where each row has one writer at a time; holders of several permits that write the
   * same row need {@link #guardedWrite}.
   *
   * @param connection to the store's database
   * @param table of the store
   * @param key of the row
   * @param value to write
   * @param token of the lock
   * @return whether the value was written; false if the row does not exist
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
   * Writes the value in a transaction that finds the lease to be held, so that the lease cannot end before the
   * transaction does. The connection must be to the MySQL or MariaDB that Rowlock itself uses.
   *
   * @param connection to that database
   * @param lockName the name of the lock
   * @param token of the lock
   * @param table of the store
   * @param key of the row
   * @param value to write
   * @return whether the value was written; false if the lease has ended or the row does not exist
   * @throws SQLException what the database throws; after a deadlock (1213), repeat the whole call
   */
  public static boolean guardedWrite(
      Connection connection, String lockName, long token, String table, String key, String value)
      throws SQLException {
    // At this isolation level, the check holds up no other lock.
    connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    connection.setAutoCommit(false);
    try {
      // Keep the transaction short from here on: renewing or ending the lease waits for it.
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
      select.setLong(1, token);
      select.setString(2, lockName);
      select.setLong(3, token);
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
