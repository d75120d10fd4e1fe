import os

import rowlock


def load(token: int) -> None:
    print(f"loads, with token {token}")


with rowlock.connect(os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051")) as client:
    try:
        with client.lock("etl/load", ttl=30, wait=10) as lock:
            load(lock.token)
    except rowlock.LockTimeout as error:
        print(error)
