"""A lock that is held, as its user in asyncio sees it."""

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
from rowlock.engine.held_leases import Released
from rowlock.engine.scope import is_harmless, loss_by, loss_of, note
from rowlock.engine.teller import Latest
from rowlock.errors import LockLost, RowlockError
from rowlock.modes import Mode
from rowlock.records import ReleaseOptions, last_words_of
from rowlock.views import HandedOver

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class Lost:
    """Set when the lock is or may be lost, before others can have it, and when it is released. Much like an asyncio.Event.

    `await lock.lost` waits for it, and returns why.
    """

    def __init__(self, lease: HeldLease, loop: asyncio.AbstractEventLoop) -> None:
        self._lease = lease
        self._event = asyncio.Event()
        _when_over(lease, loop, self._event.set)

    def is_set(self) -> bool:
        """Look at the clock, and return whether the lock can be counted on no more."""
        self._lease.look()
        return self._lease.loss is not None

    async def wait(self) -> RowlockError:
        """Wait until it is set; return why: a LockLost, or RELEASED."""
        while True:
            error = self.error
            if error:
                return error
            await self._event.wait()

    def __await__(self) -> Generator[Any, None, RowlockError]:
        return self.wait().__await__()

    @property
    def error(self) -> RowlockError | None:
        """Why it is set: a LockLost, or RELEASED."""
        self._lease.look()
        return self._lease.loss


class Lock:
    """A lock that is held, and renewed until it is released: at the end of its scope, in an `async with` statement.

    Where the lock is lost in its scope, the task in it is cancelled, as by asyncio.timeout, and the scope ends with a LockLost;
    unless another exception ends it.
    """

    def __init__(
        self, engine: Engine, lease: HeldLease, loop: asyncio.AbstractEventLoop, cancel_on_loss: bool
    ) -> None:
        """Made by a client."""
        self._engine = engine
        self._lease = lease
        self._loop = loop
        self._cancel_on_loss = cancel_on_loss
        self._released: Future[Released] | None = None
        # Its own scope has ended, and has said how.
        self._is_scope_over = False
        self._is_handed_over = False
        # The task in the scope, how often it was being cancelled when it came, and whether this lock has done so.
        self._task: asyncio.Task[Any] | None = None
        self._cancelling = 0
        self._has_cancelled = False
        self.lost = Lost(lease, loop)
        """Says when to stop."""

    def __repr__(self) -> str:
        return f"<rowlock.aio.Lock {self.name!r} token={self.token} {self._lease.state}>"

    @property
    def name(self) -> str:
        """Its name."""
        return self._lease.lock_name

    @property
    def token(self) -> int:
        """The fencing token: strictly rising for each lock. Send it with every write to what the lock protects."""
        return self._lease.token

    @property
    def lease_id(self) -> str:
        """Secret: whoever knows it can renew and release the lease."""
        return self._lease.id

    @property
    def mode(self) -> Mode:
        """How it is held."""
        return self._lease.mode

    @property
    def permits(self) -> int:
        """How many permits are held."""
        return self._lease.permits

    @property
    def state(self) -> LockState:
        """Look at the clock, and return how much it can be counted on."""
        return self._lease.state

    @property
    def remaining(self) -> float:
        """Seconds for which it can be counted on if nothing is heard of a server any more; math.inf: without end."""
        self._lease.look()
        return self._lease.remaining

    def check(self) -> None:
        """Raise LockLost if it is lost, and RELEASED if it was released."""
        error = self.lost.error
        if error:
            raise error.with_traceback(None)

    def on_state(self, call: Callable[[LockState], object]) -> None:
        """Have `call` called on the loop with each new state; not when it is released."""
        lease = self._lease
        told = Latest(lambda run: call_soon(self._loop, run), call)

        def changed(state: LockState) -> None:
            if state is not LockState.LOST or isinstance(lease.loss, LockLost):
                told(state)

        lease.listen(changed)

    async def release(self, **options: Unpack[ReleaseOptions]) -> bool:
        """Give it back: the next in the queue has it at once. Return whether it was held until then. Can be called twice.

        The options say what the lock remembers, the first time: its `status`, a `cool_down`, and `attempts_left`.

        Raises a RowlockError if no server answers; the lease then ends by itself. It is released also where the task that waits
        for this is cancelled.
        """
        return (await finished(self._release(**options))).by_this_call

    async def hand_over(self, ttl: float | None = None) -> HandedOver:
        """Renew it once more, to `ttl` seconds where that is given, and leave it at that.

        From now on it belongs to whoever has its lease id.
        """
        await finished(self._engine.hand_over(self._lease, ttl))
        self._is_handed_over = True
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
        """On the loop: the scope may have been left meanwhile."""
        if self._task is not None and isinstance(self._lease.loss, LockLost):
            self._has_cancelled = True
            self._task.cancel()

    def _leave(self) -> Callable[[], Awaitable[LockLost | None]]:
        """Begin to give it back; what is returned waits for that, and says how it was lost."""
        loss = loss_of(self._lease)
        is_given_away = self._is_handed_over or self._released is not None
        released = None if is_given_away else self._release()

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
    """Run it on the loop when the lease is lost or given back."""

    def changed(state: LockState) -> None:
        if state is LockState.LOST:
            call_soon(loop, run)

    lease.listen(changed)


# Python 3.10 does not count how often a task is being cancelled.
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
    """Take what this lock's own cancelling still has to throw, where the scope has ended before it could."""
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        if _cancelling(task) > cancelling:
            raise
