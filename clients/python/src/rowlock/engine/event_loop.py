"""The thread on which all of a client's state lives: it runs what other threads hand to it, and timers.

Nothing that runs there may block, and no code of the user does, so that renewals are in time whatever the program is doing.
"""

from __future__ import annotations

import heapq
import itertools
import logging
import queue
import threading
from collections.abc import Callable

from rowlock.clock import Clock

Task = Callable[[], object]

# The clock is looked at so often while there are timers: one that slept with its machine must notice it.
_LOOK_EVERY = 1.0

_log = logging.getLogger("rowlock")


class Timer:
    """What is to be run later, unless it is cancelled."""

    __slots__ = ("at", "is_cancelled", "run")

    def __init__(self, at: float, run: Task) -> None:
        self.at = at
        self.run = run
        self.is_cancelled = False

    def cancel(self) -> None:
        """Can be called at any time, on the thread."""
        self.is_cancelled = True


class EventLoop:
    """Begins with the first task, and ends with `stop`."""

    def __init__(self, name: str, now: Clock, crashed: Callable[[Exception], None]) -> None:
        """`crashed` is told of an error that nobody has foreseen; the loop goes on."""
        self._now = now
        self._crashed = crashed
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._starting = threading.Lock()
        self._is_started = False
        # It can be put into by a signal handler, also while it is being put into.
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._ends_of_turn: list[Task] = []
        self._is_stopped = False
        self._is_ended = False

    def post(self, task: Task) -> None:
        """Run it soon, in order; from any thread. After the end it is run at once, to find that it is too late."""
        self._tasks.put(task)
        if not self._is_started:
            self._start()
        elif self._is_ended:
            self._drain()

    def call_later(self, seconds: float, run: Task) -> Timer:
        """Run it after so many seconds; on the thread."""
        timer = Timer(self._now() + seconds, run)
        heapq.heappush(self._timers, (timer.at, next(self._order), timer))
        return timer

    def at_end_of_turn(self, run: Task) -> None:
        """Run it when all that is there to be done was done; on the thread."""
        self._ends_of_turn.append(run)

    def stop(self) -> None:
        """End it with this turn; on the thread."""
        self._is_stopped = True

    def join(self, timeout: float) -> None:
        """Wait for its end, unless called on the thread itself."""
        if self._is_started and threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def _start(self) -> None:
        with self._starting:
            if self._is_started:
                return
            self._thread.start()
            self._is_started = True

    def _run(self) -> None:
        while not self._is_stopped:
            self._wait()
            # What these add comes after the timers, which are not to wait for it.
            for _ in range(self._tasks.qsize()):
                self._do(self._tasks.get())
            self._run_timers()
            ends, self._ends_of_turn = self._ends_of_turn, []
            for run in ends:
                self._do(run)
        self._is_ended = True
        self._drain()

    def _drain(self) -> None:
        while True:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                return
            self._do(task)

    def _wait(self) -> None:
        timeout = None
        if self._timers:
            timeout = min(_LOOK_EVERY, max(0.0, self._timers[0][0] - self._now()))
        try:
            task = self._tasks.get(timeout=timeout)
        except queue.Empty:
            return
        self._do(task)

    def _run_timers(self) -> None:
        now = self._now()
        while self._timers and (self._timers[0][0] <= now or self._timers[0][2].is_cancelled):
            _, _, timer = heapq.heappop(self._timers)
            if not timer.is_cancelled:
                timer.is_cancelled = True
                self._do(timer.run)

    def _do(self, task: Task) -> None:
        try:
            task()
        except Exception as error:
            _log.exception("A bug in the client of Rowlock")
            self._crashed(error)
