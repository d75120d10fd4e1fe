"""Reports a problem at most once an hour, however many machines notice it.

The lock is never released: it ends by itself.

Usage: alert.py TROUBLE
"""

import os
import sys

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
EVERY = float(os.environ.get("EVERY_SECONDS", "3600"))
(trouble,) = sys.argv[1:]

with rowlock.connect(ADDRESSES) as client:
    lock = client.try_lock(f"alert/{trouble}", ttl=EVERY)
    if lock:
        # From now on nobody renews it, and nobody releases it.
        lock.hand_over()
        print(trouble, "was reported")  # Replace this with your mail.
