import os

import rowlock


def load(token: int) -> None:
    print(f"loads, with token {token}")


with rowlock.connect(os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051")) as client:
    answer = client.acquire("etl/load", wait=10)
    if isinstance(answer, rowlock.Lock):
        with answer as lock:
            load(lock.token)
    else:
        print(answer.message)
