"""The callback thread, which calls the user's callbacks, so that a callback that blocks delays no renewal."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")
Run = Callable[[Callable[[], object]], object]
"""Runs a function where the user's code may run."""

_log = logging.getLogger("rowlock")


class Callbacks:
    """Starts its thread with the first callback."""

    def __init__(self, name: str = "rowlock-callbacks") -> None:
        self._name = name
        self._tasks: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self, run: Callable[[], object]) -> None:
        """Run a callback soon, in order; from any thread."""
        self._tasks.put(run)
        if self._thread is None:
            self._start()

    def close(self, within: float) -> None:
        """Run the remaining callbacks, and end the thread; wait for that at most `within` seconds."""
        thread = self._thread
        if thread is None:
            return
        self._tasks.put(None)
        if thread is not threading.current_thread():
            thread.join(within)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            run = self._tasks.get()
            if run is None:
                return
            try:
                run()
            # SystemExit, too: it would end this thread silently, and no later callback would run.
            except BaseException:
                _log.exception("A callback raised an exception")


class Latest(Generic[Value]):
    """Passes the newest value to a callback, and drops values that are outdated before it can run.

    At most one value is pending.
    """

    def __init__(self, run: Run, call: Callable[[Value], object]) -> None:
        self._run = run
        self._call = call
        self._mutex = threading.RLock()
        self._values: list[Value] = []

    def __call__(self, value: Value) -> None:
        """Pass on a value."""
        with self._mutex:
            is_first = not self._values
            self._values = [value]
        if is_first:
            self._run(self._pass_on)

    def _pass_on(self) -> None:
        with self._mutex:
            values, self._values = self._values, []
        for value in values:
            self._call(value)
