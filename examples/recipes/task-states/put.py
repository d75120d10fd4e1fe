"""Puts tasks into a queue, with three attempts each. One that is there already, in whatever state, stays as it is.

Usage: put.py QUEUE TASK ...
"""

import os
import sys

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
queue, *tasks = sys.argv[1:]

with rowlock.connect(ADDRESSES) as client:
    for task in tasks:
        try:
            client.update_record(f"tasks/{queue}/{task}", status="new", attempts_left=3, if_version=0)
        except rowlock.RowlockError as error:
            if error.reason != rowlock.Reason.VERSION_MISMATCH:
                raise
            print(f"{queue}/{task} is there already", file=sys.stderr)
