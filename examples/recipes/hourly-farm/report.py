"""Runs on each of 25 identical servers, one of which makes the report of the hour: python report.py"""

import os
import socket
import traceback

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
JOB = os.environ.get("JOB", "hourly/report")
SERVER = os.environ.get("SERVER", socket.gethostname())
EVERY = float(os.environ.get("EVERY_SECONDS", "3600"))
RETRY = float(os.environ.get("RETRY_SECONDS", "60"))
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WORK = float(os.environ.get("WORK_SECONDS", "5"))


def report(lock: rowlock.Lock) -> None:
    """Replace this with your own. Ends when the lock is lost, before another server begins."""
    print(f"{SERVER} begins, with token {lock.token}", flush=True)
    if lock.lost.wait(WORK):
        lock.check()
    print(f"{SERVER} ends", flush=True)


with rowlock.connect(ADDRESSES, owner=SERVER) as client:
    while True:
        # Waits in the queue, until it is first in it and the hour is over; or until whoever runs the job has died.
        lock = client.lock(JOB, min_interval=EVERY, ttl=TTL)
        try:
            report(lock)
            lock.release()
        except Exception:
            traceback.print_exc()
            # It was not made: the next server tries soon, and not in an hour.
            lock.release(cool_down=RETRY)
