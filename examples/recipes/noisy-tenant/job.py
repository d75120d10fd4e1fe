"""A job of a tenant that needs one of a few GPUs.

Tenants get them in turn, however many jobs each of them starts.

Usage: job.py TENANT JOB
"""

import os
import sys

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WAIT = float(os.environ.get("WAIT_SECONDS", "3600"))
WORK = float(os.environ.get("WORK_SECONDS", "60"))
tenant, job = sys.argv[1:]


def render(lock: rowlock.Lock) -> None:
    """Replace this with your own. Ends at once when the lock is lost."""
    if lock.lost.wait(WORK):
        lock.check()


with rowlock.connect(ADDRESSES, owner=job, labels={"tenant": tenant}) as client:
    with client.lock("gpu", ttl=TTL, wait=WAIT) as lock:
        print(job, "begins", flush=True)
        render(lock)
        print(job, "ends", flush=True)
