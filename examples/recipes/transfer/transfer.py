"""Moves money between two accounts: it takes both locks at once, and each account refuses a writer whose token is too old.

Usage: transfer.py FROM TO AMOUNT
"""

import os
import sqlite3
import sys
import time

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WAIT = float(os.environ.get("WAIT_SECONDS", "10"))
# Any database will do: the UPDATE is the same in MySQL.
ACCOUNTS = os.environ.get("ACCOUNTS", "accounts.db")
CHANGE = "UPDATE account SET balance = balance + ?, fence = ? WHERE name = ? AND fence <= ?"
source, to, amount = sys.argv[1], sys.argv[2], int(sys.argv[3])


def check() -> None:
    """Replace this with your own: what a transfer asks before it writes."""
    time.sleep(float(os.environ.get("WORK_SECONDS", "0")))


def move(database: sqlite3.Connection, lock: rowlock.Lock) -> None:
    """One transaction, which an exception rolls back."""
    with database:
        for account, by in ((source, -amount), (to, amount)):
            token = lock.token_of(f"account/{account}")
            if database.execute(CHANGE, (by, token, account, token)).rowcount != 1:
                sys.exit("nothing was moved: a token is too old, or there is no such account")


database = sqlite3.connect(ACCOUNTS, timeout=10)
with (
    rowlock.connect(ADDRESSES) as client,
    client.lock(f"account/{source}", also=[f"account/{to}"], ttl=TTL, wait=WAIT) as lock,
):
    print("begins with tokens", " and ".join(map(str, lock.tokens.values())))
    check()
    move(database, lock)
    print(f"moved {amount} from {source} to {to}")
