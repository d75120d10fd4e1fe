"""The work loop of the client for threads: captures locks, and runs a handler for each, on threads of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rowlock.cancellation import Cancellation
from rowlock.captured import Captured
from rowlock.errors import RowlockError
from rowlock.lock import Lock
from rowlock.work_options import Work, failed, is_stop, pause_after

# Seconds between looks whether it was stopped, while it pauses after a failure.
_LOOK_EVERY = 0.1


def run_work(capture: Callable[..., Captured], handler: Callable[[Lock], object], work: Work) -> None:
    """Work until it is stopped, and then wait for the handlers that run."""
    ended: queue.SimpleQueue[None] = queue.SimpleQueue()
    running = failures = 0

    def run(lock: Lock) -> None:
        try:
            _run(lock, handler, work)
        finally:
            ended.put(None)

    # Its end waits for the handlers.
    with ThreadPoolExecutor(work.concurrency, "rowlock-work") as pool:
        while True:
            while running == work.concurrency or not ended.empty():
                ended.get()
                running -= 1
            if work.cancel.is_cancelled:
                return
            try:
                asked: dict[str, Any] = {**work.capture, "count": work.count(running)}
                locks = capture(cancel=work.cancel, **asked)
                failures = 0
            except RowlockError as error:
                if is_stop(error):
                    return
                failures += 1
                _pause(pause_after(error, failures), work.cancel)
                continue
            for lock in locks:
                running += 1
                pool.submit(run, lock)


def _run(lock: Lock, handler: Callable[[Lock], object], work: Work) -> None:
    work.begin(lock._lease)
    try:
        with lock:
            try:
                handler(lock)
            # SystemExit, too: it would end only this thread, and the lock would keep its status.
            except BaseException as error:
                failed(lock.name, error)
                lock.release(**work.when_failed)
            else:
                lock.release(**work.when_done)
        work.released(lock.name)
    except RowlockError as error:
        work.unreleased(lock.name, error)


def _pause(seconds: float, cancel: Cancellation) -> None:
    for _ in range(max(1, round(seconds / _LOOK_EVERY))):
        if cancel.is_cancelled:
            return
        threading.Event().wait(_LOOK_EVERY)
