"""A job that stands in line: first come, first served, and as many at a time as the limit of the line says.

Usage: line.py LINE JOB
"""

import os
import sys

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WORK = float(os.environ.get("WORK_SECONDS", "60"))
line, job = sys.argv[1:]


def tell(place: rowlock.Place) -> None:
    """Say each new place."""
    print(job, "waits,", place.ahead, "before it", file=sys.stderr)


def work(lock: rowlock.Lock) -> None:
    """Replace this with your own. Checks now and then whether the place is lost."""
    lock.lost.wait(WORK)
    lock.check()


with rowlock.connect(ADDRESSES, owner=job) as client:
    with client.lock(f"line/{line}", ttl=TTL, on_position=tell) as lock:
        print(job, "begins with token", lock.token)
        work(lock)
        print(job, "ends")
