"""Fires each run of a schedule once, also those that were missed while nothing ran; on as many servers as you like:
python schedule.py"""

import os
import time
import traceback
from datetime import datetime, timezone

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
JOB = os.environ.get("JOB", "runs")
EVERY = int(os.environ.get("EVERY_SECONDS", "3600"))
LOOK_BACK = int(os.environ.get("LOOK_BACK_SECONDS", "86400"))
RETRY = float(os.environ.get("RETRY_SECONDS", "60"))
TTL = float(os.environ.get("TTL_SECONDS", "30"))
WORK = float(os.environ.get("WORK_SECONDS", "1"))


def fire(run: rowlock.Lock) -> None:
    """Replace this with your own. The name of `run` is such as "runs/2026-01-01T07:00:00Z"."""
    print(f"{run.name} begins, with token {run.token}", flush=True)
    if run.lost.wait(WORK):
        run.check()
    print(f"{run.name} ends", flush=True)


def due() -> tuple[list[str], float]:
    """The runs whose time has come within the last day, at whole multiples of the interval; and how long it is to the next."""
    now = time.time()
    next_run = int(now) // EVERY * EVERY + EVERY
    times = range(next_run - EVERY, int(now) - LOOK_BACK, -EVERY)
    names = [datetime.fromtimestamp(at, timezone.utc).strftime(f"{JOB}/%Y-%m-%dT%H:%M:%SZ") for at in times]
    return names, next_run - now


with rowlock.connect(ADDRESSES) as client:
    while True:
        names, to_next = due()
        captured = client.capture(
            names=names, if_status=["", "failed"], status_if_lost="failed", wait=to_next, ttl=TTL
        )
        # None: all are done, or others are at them, and the time of the next one has come.
        for run in captured:
            try:
                fire(run)
                run.release(status="done")
            except Exception:
                traceback.print_exc()
                run.release(status="failed", cool_down=RETRY)
