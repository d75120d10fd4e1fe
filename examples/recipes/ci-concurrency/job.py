"""A CI job that deploys to an environment.

One job deploys at a time, the newest push waits, and those between are skipped.

Usage: job.py ENVIRONMENT PUSH
"""

import os
import sys

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WAIT = float(os.environ.get("WAIT_SECONDS", "3600"))
WORK = float(os.environ.get("WORK_SECONDS", "60"))
environment, push = sys.argv[1:]


def deploy(lock: rowlock.Lock) -> None:
    """Replace this with your own. Ends at once when the lock is lost."""
    if lock.lost.wait(WORK):
        lock.check()


with rowlock.connect(ADDRESSES, owner=push) as client:
    answer = client.acquire(f"ci/{environment}", ttl=TTL, wait=WAIT)
    if isinstance(answer, rowlock.Lock):
        with answer as lock:
            print(push, "begins", flush=True)
            deploy(lock)
            print(push, "ends", flush=True)
    elif answer.reason == "SUPERSEDED":
        print(push, "is skipped: a newer push is deployed instead", flush=True)
    else:
        print(push, "gives up", flush=True)
        print(answer.message, file=sys.stderr)
        sys.exit(75)
