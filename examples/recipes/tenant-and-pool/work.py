"""Does jobs of one tenant, one after the other, as one of many workers: python work.py TENANT JOB..."""

import os
import sys
import time

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
API = os.environ.get("API", "openai")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
tenant, *jobs = sys.argv[1:]


def work(job: str) -> None:
    """Replace this with your own."""
    time.sleep(float(os.environ.get("WORK_SECONDS", "1")))


with rowlock.connect(ADDRESSES) as client:
    for job in jobs:
        # Waits until nobody else does this job, then for room in the tenant's pool, and then in that of all tenants.
        with client.lock(f"{API}/{tenant}/{job}", ttl=TTL):
            work(job)
            print(f"{tenant}/{job}: done", flush=True)
