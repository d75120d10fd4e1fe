"""Asks a model one question after the other, as one of many processes that share its rate: python ask.py QUESTION..."""

import os
import sys
import urllib.error
import urllib.request

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
MODEL = os.environ.get("MODEL", "model/large")
MODEL_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:8080/")
REST = os.environ.get("REST_SECONDS", "10")
TTL = float(os.environ.get("TTL_SECONDS", "30"))


def ask(question: str) -> str | float:
    """Replace this with your own. Returns the answer, or for how many seconds the model wants no more questions."""
    request = urllib.request.Request(MODEL_URL, data=question.encode(), method="POST")
    try:
        with urllib.request.urlopen(request) as response:
            return response.read().decode()
    except urllib.error.HTTPError as error:
        if error.code != 429:
            raise
        return float(error.headers.get("Retry-After", REST))


with rowlock.connect(ADDRESSES) as client:
    for question in sys.argv[1:]:
        while True:
            # Waits in the queue: for room, for the rate, and for the end of a rest.
            with client.lock(MODEL, ttl=TTL) as lock:
                answer = ask(question)
                if isinstance(answer, str):
                    print(f"{question}: {answer}", flush=True)
                    break
                # The model's 429: until the rest is over, no process has a turn.
                lock.release(cool_down=answer)
