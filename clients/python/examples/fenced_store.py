"""Two ways to keep a writer out whose lock was lost while it was not looking: a process that slept, or was cut off.

Both are for PyMySQL, on a table with a key `k`, a `value` and, for the first, a `fence`: BIGINT UNSIGNED NOT NULL DEFAULT 0.
"""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CLIENT

# MySQL and MariaDB both know it so. Asked once in a transaction: a second time, while a release waits, is a deadlock.
_LEASE_HELD = """
  SELECT 1 FROM rowlock_lock l JOIN rowlock_claim c FORCE INDEX (rowlock_claim_queue) ON c.lock_id = l.id
  WHERE l.name = %s AND c.fencing_token = %s AND c.state = 2
    AND (c.deadline IS NULL OR c.deadline > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED))
  LOCK IN SHARE MODE"""


def connect_to(url: str) -> Connection:
    """Connect to mysql://user:password@host:port/database, for either of the two."""
    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname,
        port=parts.port or 3306,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=unquote(parts.path.lstrip("/")),
        autocommit=True,
        # A row that is written as it was counts as written.
        client_flag=CLIENT.FOUND_ROWS,
    )


def fenced_write(connection: Connection, table: str, key: str, value: str, token: int) -> bool:
    """Write the value unless somebody with a higher token has written before; return whether it was written.

    Needs nothing of Rowlock but `lock.token`, so it works on any database. A row that does not exist is not written.
    """
    with connection.cursor() as cursor:
        update = f"UPDATE {_quoted(table)} SET value = %s, fence = %s WHERE k = %s AND fence <= %s"  # noqa: S608
        return cursor.execute(update, (value, token, key, token)) > 0


def guarded_write(
    connection: Connection, lock_name: str, token: int, table: str, key: str, value: str
) -> bool:
    """Write the value in a transaction that has found the lease to be held, so that it cannot end before the transaction does.

    The connection is to the MySQL or MariaDB that Rowlock itself is on. Return whether it was written: not where the lease has
    ended, and not to a row that does not exist. Raises what the database says: after a deadlock (1213) the whole of it can be
    repeated.
    """
    with connection.cursor() as cursor:
        # So that no other lock is held up by this one.
        cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        connection.begin()
        try:
            # Short from here on: who would renew or end the lease waits for this transaction.
            is_held = cursor.execute(_LEASE_HELD, (lock_name, token)) > 0
            update = f"UPDATE {_quoted(table)} SET value = %s WHERE k = %s"  # noqa: S608
            is_written = is_held and cursor.execute(update, (value, key)) > 0
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        return is_written


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
