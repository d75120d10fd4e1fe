"""Approves a transaction once, however often somebody clicks: python approve.py 100"""

import os
import sys

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WORK = float(os.environ.get("WORK_SECONDS", "1"))


def pay(transaction: str, lock: rowlock.Lock) -> None:
    """Replace this with your own. Raises only if certainly nothing was paid: a later click may then try again."""
    print(f"pays {transaction}, with token {lock.token}")
    if lock.lost.wait(WORK):
        lock.check()
    print(f"paid {transaction}")


transaction = sys.argv[1]
with rowlock.connect(ADDRESSES) as client:
    answer = client.acquire(f"approve/{transaction}", wait=0, if_status="", status_if_lost="unclear", ttl=TTL)
    if isinstance(answer, rowlock.Lock):
        with answer as lock:
            pay(transaction, lock)
            print("approved" if lock.release(status="approved") else "unclear")
    elif answer.reason == "STATUS_MISMATCH":
        print(f"already {answer.status}")
    else:
        print("in progress" if answer.reason == "BUSY" else answer.message)
