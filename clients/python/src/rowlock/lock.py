"""A lock that is held, as its user sees it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING

from rowlock.engine.engine import Engine
from rowlock.engine.held_lease import HeldLease, LockState
from rowlock.engine.held_leases import Released
from rowlock.engine.scope import is_harmless, loss_by, loss_of, note
from rowlock.engine.teller import Latest, Tell
from rowlock.errors import LockLost, RowlockError
from rowlock.modes import Mode
from rowlock.records import ReleaseOptions, last_words_of
from rowlock.views import HandedOver

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class Lost:
    """Set when the lock is or may be lost, before others can have it, and when it is released. Much like a threading.Event."""

    def __init__(self, lease: HeldLease) -> None:
        self._lease = lease

    def is_set(self) -> bool:
        """Look at the clock, and return whether the lock can be counted on no more."""
        self._lease.look()
        return self._lease.loss is not None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or so many seconds; return whether it is set."""
        return self.is_set() or self._lease.over.wait(timeout) or self.is_set()

    @property
    def error(self) -> RowlockError | None:
        """Why it is set: a LockLost, or RELEASED."""
        self._lease.look()
        return self._lease.loss


class Lock:
    """A lock that is held, and renewed until it is released: at the end of its scope, in a `with` statement.

    Where the lock was lost before its scope has ended, that ends with a LockLost, unless another exception ends it.
    """

    def __init__(self, engine: Engine, lease: HeldLease, tell: Tell) -> None:
        """Made by a client."""
        self._engine = engine
        self._lease = lease
        self._tell = tell
        self._released: Future[Released] | None = None
        # Its own scope has ended, and has said how.
        self._is_scope_over = False
        self._is_handed_over = False
        self.lost = Lost(lease)
        """Says when to stop."""

    def __repr__(self) -> str:
        return f"<rowlock.Lock {self.name!r} token={self.token} {self._lease.state}>"

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
        """Have `call` called with each new state, on a thread for that; not when it is released."""
        lease = self._lease
        told = Latest(self._tell, call)

        def changed(state: LockState) -> None:
            if state is not LockState.LOST or isinstance(lease.loss, LockLost):
                told(state)

        lease.listen(changed)

    def release(self, **options: Unpack[ReleaseOptions]) -> bool:
        """Give it back: the next in the queue has it at once. Return whether it was held until then. Can be called twice.

        The options say what the lock remembers, the first time: its `status`, a `cool_down`, and `attempts_left`.

        Raises a RowlockError if no server answers; the lease then ends by itself.
        """
        return self._release(**options).result().by_this_call

    def hand_over(self, ttl: float | None = None) -> HandedOver:
        """Renew it once more, to `ttl` seconds where that is given, and leave it at that.

        From now on it belongs to whoever has its lease id.
        """
        self._engine.hand_over(self._lease, ttl).result()
        self._is_handed_over = True
        return HandedOver(self.lease_id, self.token)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_scope_over = True
        loss = self._leave()()
        if loss and error is None:
            raise loss
        note(error, loss)

    def _leave(self) -> Callable[[], LockLost | None]:
        """Begin to give it back; what is returned waits for that, and says how it was lost."""
        loss = loss_of(self._lease)
        if self._is_handed_over or self._released is not None:
            return lambda: loss
        released = self._release()

        def left() -> LockLost | None:
            try:
                return loss_by(self._lease, released.result()) or loss
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
