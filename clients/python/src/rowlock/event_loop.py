"""The engine's thread, which owns all state of a client: it runs the tasks that other threads post, and timers.

No task may block, and no code of the user runs there, so that renewals are in time whatever the program does.
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

# The longest sleep in seconds while there are timers, so that the loop notices a suspended machine soon.
_LOOK_EVERY = 1.0

_log = logging.getLogger("rowlock")


class Timer:
    """A task that runs later, unless it is cancelled."""

    __slots__ = ("at", "is_cancelled", "run")

    def __init__(self, at: float, run: Task) -> None:
        self.at = at
        self.run = run
        self.is_cancelled = False

    def cancel(self) -> None:
        """Cancel the timer; on the loop's thread. It has no effect after the timer has run."""
        self.is_cancelled = True
        # The loop keeps the timer until its time comes, but not what the task refers to.
        self.run = _nothing


def _nothing() -> None:
    pass


class EventLoop:
    """Starts its thread with the first task, and ends it with `stop`."""

    def __init__(self, name: str, now: Clock, crashed: Callable[[Exception], None]) -> None:
        """`crashed` receives an exception that a task raises, which is a bug; the loop goes on."""
        self._now = now
        self._crashed = crashed
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._starting = threading.Lock()
        self._is_started = False
        # SimpleQueue.put is reentrant, so a signal handler may post even while it interrupts a post.
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._ends_of_turn: list[Task] = []
        self._is_stopped = False
        self._is_ended = False

    @property
    def is_untouched(self) -> bool:
        """Whether the thread does not run and nobody is about to start it."""
        return not self._is_started and not self._starting.locked()

    def post(self, task: Task) -> None:
        """Run a task soon, in order; from any thread. After the end of the loop it runs at once, on this thread."""
        self._tasks.put(task)
        if not self._is_started:
            self._start()
        elif self._is_ended:
            self._drain()

    def call_later(self, seconds: float, run: Task) -> Timer:
        """Run a task after so many seconds; on the loop's thread."""
        timer = Timer(self._now() + seconds, run)
        heapq.heappush(self._timers, (timer.at, next(self._order), timer))
        return timer

    def at_end_of_turn(self, run: Task) -> None:
        """Run a task after the tasks and timers of this turn; on the loop's thread."""
        self._ends_of_turn.append(run)

    def stop(self) -> None:
        """End the loop after this turn; on the loop's thread."""
        self._is_stopped = True

    def join(self, timeout: float) -> None:
        """Wait for the end of the loop, at most `timeout` seconds; return at once on the loop's own thread."""
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
            # Only the tasks that are there now: the timers do not wait for tasks that these add.
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
            _log.exception("Bug in the Rowlock client: a task raised")
            self._crashed(error)
