import os

import rowlock

with rowlock.connect(os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051")) as client:
    with client.lock("etl/load") as lock:
        print(f"my turn, with fencing token {lock.token}")
