"""A worker of one queue: takes up to three tasks at a time, does them, and says how each has gone.

Ends when there has been nothing to do for a while.

Usage: worker.py QUEUE
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WORK = float(os.environ.get("WORK_SECONDS", "60"))
RETRY = float(os.environ.get("RETRY_SECONDS", "60"))
IDLE = float(os.environ.get("IDLE_SECONDS", "600"))
(queue,) = sys.argv[1:]
prefix = f"tasks/{queue}/"


def work(task: str, lock: rowlock.Lock) -> None:
    """Replace this with your own. Checks now and then whether the task is lost."""
    lock.lost.wait(WORK)
    lock.check()
    if task == os.environ.get("FAIL"):
        raise RuntimeError(f"{task} cannot be done")


def take(lock: rowlock.Lock) -> None:
    """One task, from its beginning to its end."""
    task = lock.name.removeprefix(prefix)
    print(f"{queue}/{task} begins\n", end="")
    try:
        work(task, lock)
    except Exception as error:
        print(f"{queue}/{task} fails\n", end="")
        print(error, file=sys.stderr)
        lock.release(status="failed", cool_down=RETRY)
        return
    print(f"{queue}/{task} ends\n", end="")
    # False: it was lost in the last moment, and somebody does it again.
    lock.release(status="done")


with rowlock.connect(ADDRESSES) as client, ThreadPoolExecutor(3) as threads:
    while tasks := client.capture(
        prefix=prefix, count=3, if_status=["new", "failed"], status_if_lost="failed", ttl=TTL, wait=IDLE
    ):
        list(threads.map(take, tasks))
