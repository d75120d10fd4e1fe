"""A held lock, as its user in asyncio sees it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rowlock.aio.loops import call_soon, finished
from rowlock.engine.engine import Engine
from rowlock.engine.held_lease import HeldLease, LockState
from rowlock.engine.held_leases import Released, already_released
from rowlock.engine.scope import is_harmless, loss_by, loss_of, note
from rowlock.engine.teller import Latest
from rowlock.errors import LockLost, RowlockError
from rowlock.modes import Mode
from rowlock.records import ReleaseOptions, last_words_of
from rowlock.views import HandedOver

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


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


class Lock:
    """A held lock, which the client renews until it is released; an `async with` statement releases it at its end.

    If the lock is lost inside that statement, the lock cancels the task in it, as asyncio.timeout does, and the
    statement raises LockLost. If another exception ends the statement, that exception goes on, with a note.
    """

    def __init__(
        self, engine: Engine, lease: HeldLease, loop: asyncio.AbstractEventLoop, cancel_on_loss: bool
    ) -> None:
        """For the client only."""
        self._engine = engine
        self._lease = lease
        self._loop = loop
        self._cancel_on_loss = cancel_on_loss
        self._released: Future[Released] | None = None
        # This lock's own scope has ended, and has reported a loss.
        self._is_scope_over = False
        # The task in the scope, its number of pending cancellations on entry, and whether this lock has cancelled it.
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self._has_cancelled = False
        self.lost = Lost(lease, loop)
        """Set when the work must stop."""

    def __repr__(self) -> str:
        return f"<rowlock.aio.Lock {self.name!r} token={self.token} {self._lease.state}>"

    @property
    def name(self) -> str:
        """The lock's name."""
        return self._lease.lock_name

    @property
    def token(self) -> int:
        """The fencing token, higher with each grant of a lock. Send it with every write to what the lock protects."""
        return self._lease.token

    @property
    def lease_id(self) -> str:
        """The id of the lease. It is a secret: anybody who knows it can renew and release the lease."""
        return self._lease.id

    @property
    def mode(self) -> Mode:
        """How the lock is held."""
        return self._lease.mode

    @property
    def permits(self) -> int:
        """The number of permits held."""
        return self._lease.permits

    @property
    def state(self) -> LockState:
        """How far the holder may rely on the lock now. Checks the clock."""
        return self._lease.state

    @property
    def remaining(self) -> float:
        """Seconds for which the holder may rely on the lock without a further renewal; math.inf: without end."""
        self._lease.look()
        return self._lease.remaining

    def check(self) -> None:
        """Raise LockLost if the lock is lost, and a RowlockError with RELEASED if it was released."""
        error = self.lost.error
        if error:
            raise error.with_traceback(None)

    def on_state(self, call: Callable[[LockState], object]) -> None:
        """Call `call` on the loop with each new state, but not when the lock is released."""
        lease = self._lease
        told = Latest(lambda run: call_soon(self._loop, run), call)

        def changed(state: LockState) -> None:
            if state is not LockState.LOST or isinstance(lease.loss, LockLost):
                told(state)

        lease.listen(changed)

    async def release(self, **options: Unpack[ReleaseOptions]) -> bool:
        """Release the lock, so that the server can grant it to the next waiter at once.

        Returns whether it was held until then; a second call returns the result of the first. The options of the
        first call set what the lock remembers: its `status`, a `cool_down`, and `attempts_left`.

        Raises a RowlockError if no server answers; a lease with a time to live then ends by itself. The release
        continues if the waiting task is cancelled.
        """
        return (await finished(self._release(**options))).by_this_call

    async def hand_over(self, ttl: float | None = None) -> HandedOver:
        """Renew the lease once more, with a new `ttl` in seconds if given, and stop renewing it.

        From then on it belongs to the process that has its lease id, and this lock counts as released.
        """
        await finished(self._engine.hand_over(self._lease, ttl))
        self._released = already_released()
        return HandedOver(self.lease_id, self.token)

    async def __aenter__(self) -> Self:
        task = asyncio.current_task()
        if self._cancel_on_loss and task is not None:
            self._task = task
            self._cancelling = _cancelling(task)
            _when_over(self._lease, self._loop, self._cancel_task)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_scope_over = True
        task, self._task = self._task, None
        is_ours = False
        if self._has_cancelled and task is not None:
            is_ours = _uncancel(task) <= self._cancelling and isinstance(error, asyncio.CancelledError)
            if error is None:
                await _swallow(task, self._cancelling)
        loss = await self._leave()()
        if loss and (error is None or is_ours):
            raise loss from error
        note(error, loss)

    def _cancel_task(self) -> None:
        """Runs on the loop; the task may have left the scope meanwhile."""
        if self._task is not None and isinstance(self._lease.loss, LockLost):
            self._has_cancelled = True
            self._task.cancel()

    def _leave(self) -> Callable[[], Awaitable[LockLost | None]]:
        """Start the release, and return a function that waits for it and returns the loss, if any."""
        loss = loss_of(self._lease)
        released = self._release() if self._released is None else None

        async def left() -> LockLost | None:
            if released is None:
                return loss
            try:
                return loss_by(self._lease, await finished(released)) or loss
            except RowlockError as failure:
                if not is_harmless(failure):
                    raise
                return loss

        return left

    def _release(self, **options: Unpack[ReleaseOptions]) -> Future[Released]:
        request = last_words_of(self.lease_id, **options)
        if self._released is None:
            self._released = self._engine.release(self._lease, request)
        return self._released


def _when_over(lease: HeldLease, loop: asyncio.AbstractEventLoop, run: Callable[[], object]) -> None:
    """Call `run` on the loop when the lease is lost or given back."""

    def changed(state: LockState) -> None:
        if state is LockState.LOST:
            call_soon(loop, run)

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
    """Absorb this lock's own cancellation if the scope ended before asyncio delivered it."""
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        if _cancelling(task) > cancelling:
            raise
