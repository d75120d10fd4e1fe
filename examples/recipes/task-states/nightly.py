"""A job that is left out once it has failed, until somebody has looked at it; and that never runs twice at once.

Usage: nightly.py JOB
"""

import os
import sys

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WORK = float(os.environ.get("WORK_SECONDS", "60"))
(job,) = sys.argv[1:]


def work(lock: rowlock.Lock) -> None:
    """Replace this with your own. Checks now and then whether the lock is lost."""
    lock.lost.wait(WORK)
    lock.check()
    if job == os.environ.get("FAIL"):
        raise RuntimeError(f"{job} cannot be done")


with rowlock.connect(ADDRESSES) as client:
    lock = client.acquire(f"job/{job}", wait=0, ttl=TTL, if_status=["", "done"], status_if_lost="failed")
    if isinstance(lock, rowlock.Refusal):
        print(job, "is left out")
        sys.exit(75)
    print(job, "begins")
    try:
        work(lock)
    except BaseException:  # Ctrl-C is one, too.
        print(job, "fails")
        lock.release(status="failed")
        raise
    print(job, "ends")
    if not lock.release(status="done"):
        raise RuntimeError("The lock was lost in the last moment.")
