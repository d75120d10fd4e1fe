"""Deploys a service that uses a database.

One deployment of each service runs at a time, and none of any while its database is migrated.

Usage: deploy.py SERVICE DATABASE use|migrate
"""

import os
import sys

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WAIT = float(os.environ.get("WAIT_SECONDS", "600"))
WORK = float(os.environ.get("WORK_SECONDS", "60"))
service, database, how = sys.argv[1:]


def deploy(lock: rowlock.Lock) -> None:
    """Replace this with your own. Ends at once when the locks are lost."""
    if lock.lost.wait(WORK):
        lock.check()


wanted = rowlock.WantedLock(f"database/{database}", mode="exclusive" if how == "migrate" else "shared")
with rowlock.connect(ADDRESSES, owner=service) as client:
    answer = client.acquire(f"deploy/{service}", also=[wanted], ttl=TTL, wait=WAIT)
    if not isinstance(answer, rowlock.Lock):
        print(service, "gives up", flush=True)
        print(answer.message, file=sys.stderr)
        sys.exit(75)
    with answer as lock:
        print(service, "begins")
        deploy(lock)
        print(service, "ends")
