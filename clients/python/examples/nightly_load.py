"""A job that many machines start at the same time, and one of them runs: `nightly_load.py 127.0.0.1:50051 orders`.

A task of Celery and a command of Django use the decorator in the same way: the README shows both.
"""

from __future__ import annotations

import sys

import rowlock

# It connects with the first call, so modules may make it, also before their process forks.
client = rowlock.connect(sys.argv[1])
rowlock.release_on_signal()


@client.locked("etl/{table}", wait=0, min_interval=3_600)
def load(table: str, *, lock: rowlock.Lock) -> None:
    """Load a table, unless it was loaded within the last hour."""
    print(f"loading {table} with token {lock.token}")  # noqa: T201
    lock.check()


try:
    load(sys.argv[2])
except rowlock.LockRefused as busy:
    print(f"nothing to do: {busy.reason}")  # noqa: T201
