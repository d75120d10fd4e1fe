"""A job that needs several resources at once, each to read or to write.

It takes them in the order of their names, as all jobs do, so that no two of them wait for each other.

Usage: resources.py JOB RESOURCE:read|RESOURCE:write ...
"""

import contextlib
import os
import sys
import time

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WORK = float(os.environ.get("WORK_SECONDS", "60"))
job, *resources = sys.argv[1:]


def work(locks: list[rowlock.Lock]) -> None:
    """Replace this with your own. Checks now and then whether one of the resources is lost."""
    end = time.monotonic() + WORK
    while time.monotonic() < end:
        for lock in locks:
            lock.check()
        time.sleep(0.1)


with rowlock.connect(ADDRESSES, owner=job) as client, contextlib.ExitStack() as held:
    locks = []
    for resource in sorted(resources):
        name, _, how = resource.partition(":")
        mode: rowlock.Mode = "shared" if how == "read" else "exclusive"
        locks.append(held.enter_context(client.lock(f"resource/{name}", mode=mode, ttl=TTL)))
    print(job, "begins")
    work(locks)
    print(job, "ends")
