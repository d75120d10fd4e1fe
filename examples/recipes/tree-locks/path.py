"""Works on a path of a tree: as the reader of each folder above it, and as the writer of the path itself, all at once.

Usage: path.py JOB PATH
"""

import os
import sys
import time

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WAIT = float(os.environ.get("WAIT_SECONDS", "10"))
WORK = float(os.environ.get("WORK_SECONDS", "60"))
TREE = os.environ.get("TREE", "tree")
job, path = sys.argv[1:]


def work(lock: rowlock.Lock) -> None:
    """Replace this with your own. Checks now and then whether the lock is lost."""
    end = time.monotonic() + WORK
    while time.monotonic() < end:
        lock.check()
        time.sleep(0.1)


steps = path.split("/")
# At most seven: an eighth folder above has no lock.
above = ["/".join(steps[:depth]) for depth in range(1, len(steps))]
also = [rowlock.WantedLock(f"{TREE}/{folder}", mode="shared") for folder in above]

with (
    rowlock.connect(ADDRESSES, owner=job) as client,
    client.lock(f"{TREE}/{path}", mode="exclusive", also=also, ttl=TTL, wait=WAIT) as lock,
):
    print(job, "begins")
    work(lock)
    print(job, "ends")
