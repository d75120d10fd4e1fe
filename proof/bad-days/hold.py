"""Takes a lock, and holds it until it is lost or somebody writes to standard input. See players.ts."""

import json
import os
import sys
import threading

import rowlock


def say(*words: str) -> None:
    print(json.dumps(words), flush=True)


ca = os.environ["CA"]
client = rowlock.connect(
    os.environ["ROWLOCK_ADDR"],
    give_up_after=float(os.environ["GIVE_UP_SECONDS"]),
    tls=True if ca == "system" else rowlock.TlsOptions(ca=ca) if ca else False,
)
leave = threading.Event()
threading.Thread(target=lambda: sys.stdin.readline() and leave.set(), daemon=True).start()
say("begins")
try:
    with client.lock(os.environ["LOCK"], ttl=5, on_position=lambda _: say("waiting")) as lock:
        say("held")
        while not leave.is_set() and not lock.lost.wait(0.05):
            pass
        if not leave.is_set():
            say("signalled")
    say("left")
except rowlock.RowlockError as error:
    say("failed", f"rowlock.{type(error).__name__}, reason {error.reason}", str(error))
sys.stdout.flush()
os._exit(0)
