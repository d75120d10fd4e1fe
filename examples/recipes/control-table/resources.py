"""A job that needs several resources, each to read or to write. It gets all of them at once, and holds none while it waits.

Usage: resources.py JOB RESOURCE:read|RESOURCE:write ...
"""

import os
import sys
import time

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WORK = float(os.environ.get("WORK_SECONDS", "60"))
job, *resources = sys.argv[1:]


def work(lock: rowlock.Lock) -> None:
    """Replace this with your own. Checks now and then whether the resources are lost."""
    end = time.monotonic() + WORK
    while time.monotonic() < end:
        lock.check()
        time.sleep(0.1)


def wanted(resource: str) -> rowlock.WantedLock:
    name, _, how = resource.partition(":")
    return rowlock.WantedLock(f"resource/{name}", mode="shared" if how == "read" else "exclusive")


first, *also = map(wanted, resources)
with (
    rowlock.connect(ADDRESSES, owner=job) as client,
    client.lock(first.name, mode=first.mode, also=also, ttl=TTL) as lock,
):
    print(job, "begins")
    work(lock)
    print(job, "ends")
