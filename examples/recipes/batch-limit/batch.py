"""One execution of a batch job: waits until the job's limit has room for it, and works while it holds a permit."""

import os
import sys

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WORK = float(os.environ.get("WORK_SECONDS", "60"))
job, execution = sys.argv[1:]


def work(lock: rowlock.Lock) -> None:
    """Replace this with your own. Checks now and then whether the permit is lost."""
    lock.lost.wait(WORK)
    lock.check()


with rowlock.connect(ADDRESSES, owner=f"execution {execution}") as client:
    with client.lock(f"batch/{job}", ttl=TTL) as lock:
        print(execution, "begins")
        work(lock)
        print(execution, "ends")
