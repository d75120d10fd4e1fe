"""Two ways to refuse a write of a process that has lost its lock unnoticed, as it was suspended or cut off.

Both use PyMySQL, on a table with a key `k` and a `value`. The first one also needs a column `fence`: BIGINT UNSIGNED
NOT NULL DEFAULT 0.
"""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CLIENT

# The syntax works in MySQL and MariaDB. The first holder is in the row of the lock, further ones in rowlock_claim.
_LEASE_HELD = """
  SELECT 1 FROM rowlock_lock l LEFT JOIN rowlock_claim c ON c.lock_id = l.id AND c.place = 0
    AND c.ticket_number = (SELECT h.ticket_number FROM rowlock_claim h
      WHERE h.lock_id = l.id AND h.place = 0 AND h.fencing_token = %s)
  WHERE l.name = %s AND (c.state = 2 OR l.holder_state = 2 AND l.holder_fencing_token = %s)
    AND COALESCE(
      IF(c.state = 2, c.deadline, l.holder_deadline) > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED), TRUE)
  LOCK IN SHARE MODE"""


def connect_to(url: str) -> Connection:
    """Connect to mysql://user:password@host:port/database, for both functions below."""
    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname,
        port=parts.port or 3306,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=unquote(parts.path.lstrip("/")),
        autocommit=True,
        # Count rows that match instead of rows that change: writing the same value again counts as written.
        client_flag=CLIENT.FOUND_ROWS,
    )


def fenced_write(connection: Connection, table: str, key: str, value: str, token: int) -> bool:
    """Write the value unless a writer with a higher token was there before; return whether it was written.

    It needs only `lock.token`, so it works with any database. It is right where each row has one writer at a time; holders
    of several permits that write the same row need `guarded_write`. It does not create a row.
    """
    with connection.cursor() as cursor:
        update = f"UPDATE {_quoted(table)} SET value = %s, fence = %s WHERE k = %s AND fence <= %s"  # noqa: S608
        return cursor.execute(update, (value, token, key, token)) > 0


def guarded_write(
    connection: Connection, lock_name: str, token: int, table: str, key: str, value: str
) -> bool:
    """Write the value in a transaction that checks the lease, so that the lease cannot end before the transaction.

    The connection must be to the MySQL or MariaDB that Rowlock uses. Return whether the value was written: it is not if
    the lease has ended or the row does not exist. Raises the errors of the database; after a deadlock (1213), call it
    again.
    """
    with connection.cursor() as cursor:
        # So that the check does not delay other locks.
        cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        connection.begin()
        try:
            # Keep this short: calls that renew or end the lease wait for this transaction.
            is_held = cursor.execute(_LEASE_HELD, (token, lock_name, token)) > 0
            update = f"UPDATE {_quoted(table)} SET value = %s WHERE k = %s"  # noqa: S608
            is_written = is_held and cursor.execute(update, (value, key)) > 0
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        return is_written


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
