"""Connects the engine's thread with an asyncio event loop: requests, callbacks, and the scope of a lock."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

from rowlock.engine.engine import Engine
from rowlock.engine.held_lease import HeldLease, LockState
from rowlock.engine.verbs import Verbs
from rowlock.errors import LockLost, RowlockError
from rowlock.options import CANCEL_ON_LOSS, ConnectionEvent, Headers, Settings

Value = TypeVar("Value")

MakeHeaders = Callable[[], Headers | Awaitable[Headers]]
"""Makes the headers of one connection, on the loop. It may be a coroutine function."""


MakeToken = Callable[[], "str | Awaitable[str]"]
"""Gives the token of one connection, on the loop. It may be a coroutine function."""


class Lost:
    """Set when the lock is or may be lost, before others can have it, and when it is released.

    It works like an asyncio.Event. `await lock.lost` waits until it is set, and returns the reason.
    """

    def __init__(self, lease: HeldLease, loop: asyncio.AbstractEventLoop) -> None:
        self._lease = lease
        self._event = asyncio.Event()
        _when_over(lease, loop, self._event.set)

    def is_set(self) -> bool:
        """Return whether it is set: whether the holder must not rely on the lock any more. Checks the clock."""
        self._lease.look()
        return self._lease.loss is not None

    async def wait(self) -> RowlockError:
        """Wait until it is set; return the reason: a LockLost, or a RowlockError with RELEASED."""
        while True:
            error = self.error
            if error:
                return error
            await self._event.wait()

    def __await__(self) -> Generator[Any, None, RowlockError]:
        return self.wait().__await__()

    @property
    def error(self) -> RowlockError | None:
        """Why it is set: a LockLost, or a RowlockError with RELEASED. None: it is not set."""
        self._lease.look()
        return self._lease.loss


class Scope:
    """The `async with` statement of a lock. If the lock is lost in it, the scope cancels its task, unless told not to."""

    def __init__(self, lease: HeldLease, loop: asyncio.AbstractEventLoop, cancel_on_loss: bool) -> None:
        self._lease = lease
        self._loop = loop
        self._cancel_on_loss = cancel_on_loss
        # The task in the scope, its number of pending cancellations on entry, and whether this scope has cancelled it.
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self._has_cancelled = False

    def enter(self) -> None:
        """Begin the scope."""
        task = asyncio.current_task()
        if self._cancel_on_loss and task is not None:
            self._task = task
            self._cancelling = _cancelling(task)
            _when_over(self._lease, self._loop, self._cancel_task)

    async def leave(self, error: BaseException | None) -> bool:
        """End the scope; return whether `error` is the cancellation by this scope, which the loss then replaces."""
        task, self._task = self._task, None
        if not self._has_cancelled or task is None:
            return False
        is_ours = _uncancel(task) <= self._cancelling and isinstance(error, asyncio.CancelledError)
        if error is None:
            await _swallow(task, self._cancelling)
        return is_ours

    def _cancel_task(self) -> None:
        """Runs on the loop; the task may have left the scope meanwhile."""
        if self._task is not None and isinstance(self._lease.loss, LockLost):
            self._has_cancelled = True
            self._task.cancel()


class Bridge:
    """The engine, as one event loop uses it. It belongs to the loop that uses it first."""

    own_option = CANCEL_ON_LOSS
    is_async = True

    def __init__(
        self,
        settings: Settings,
        headers: Headers | MakeHeaders,
        on_connection: Callable[[ConnectionEvent], object] | None,
    ) -> None:
        self._on_connection = on_connection
        self._loop: asyncio.AbstractEventLoop | None = None
        if settings.token:
            settings = replace(settings, token=settings.token.called_by(self._made))
        self.engine = Engine(
            settings, (lambda: self._made(headers)) if callable(headers) else headers, self._notify
        )
        self._verbs = Verbs(self.engine)

    def open(self) -> Engine:
        """Return the engine for a new request. Raises RuntimeError in another event loop."""
        self._running_loop()
        return self.engine

    @property
    def verbs(self) -> Verbs:
        """The calls with one answer. Raises RuntimeError in another event loop."""
        self._running_loop()
        return self._verbs

    def run(self, callback: Callable[[], object]) -> None:
        """Call a callback of the user on the loop; from any thread."""
        if self._loop:
            _call_soon(self._loop, callback)

    async def finished(self, future: Future[Value]) -> Value:
        """Wait for the future. If the waiting task is cancelled, the future continues."""
        return await asyncio.shield(asyncio.wrap_future(future))

    async def waited(self, future: Future[Value], own: bool | None = None) -> Value:
        """Wait for the outcome of a request. If the waiting task is cancelled, the engine gives the request up."""
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self.engine.give_up(future)
            raise

    def who(self) -> object:
        """Return who holds a lock that may be held once more: this task."""
        return asyncio.current_task()

    def lost_of(self, lease: HeldLease) -> Lost:
        """Make the event of a lock."""
        return Lost(lease, self._running_loop())

    def scope_of(self, lease: HeldLease, own: bool) -> Scope:
        """Make the scope of a lock."""
        return Scope(lease, self._running_loop(), own)

    async def close(self) -> None:
        """Close the engine, in bounded time."""
        await self.finished(self.engine.close())
        # The thread is about to end, so this blocks only briefly.
        self.engine.join()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        if self._loop is not loop:
            raise RuntimeError("This client belongs to another event loop; make one client per loop.")
        return loop

    def _notify(self, event: ConnectionEvent) -> None:
        call = self._on_connection
        if call:
            self.run(lambda: call(event))

    def _made(self, make: Callable[[], Value | Awaitable[Value]]) -> Value:
        """Return what a function of the user makes on the loop, for which this thread of its own waits."""

        async def made() -> Value:
            value = make()
            return await value if inspect.isawaitable(value) else value

        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(made(), self._loop).result()


def _call_soon(loop: asyncio.AbstractEventLoop, run: Callable[[], object]) -> None:
    """Call `run` on the loop, from any thread. Does nothing if the loop is closed."""
    try:
        loop.call_soon_threadsafe(run)
    except RuntimeError:
        if not loop.is_closed():
            raise


def _when_over(lease: HeldLease, loop: asyncio.AbstractEventLoop, run: Callable[[], object]) -> None:
    """Call `run` on the loop when the lease is lost or given back."""

    def changed(state: LockState) -> None:
        if state is LockState.LOST:
            _call_soon(loop, run)

    lease.listen(changed)


# Python 3.10 does not count the pending cancellations of a task.
if sys.version_info >= (3, 11):

    def _cancelling(task: asyncio.Task[Any]) -> int:
        return task.cancelling()

    def _uncancel(task: asyncio.Task[Any]) -> int:
        return task.uncancel()

else:

    def _cancelling(task: asyncio.Task[Any]) -> int:
        return 0

    def _uncancel(task: asyncio.Task[Any]) -> int:
        return 0


async def _swallow(task: asyncio.Task[Any], cancelling: int) -> None:
    """Absorb the scope's own cancellation if the scope ended before asyncio delivered it."""
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        if _cancelling(task) > cancelling:
            raise
