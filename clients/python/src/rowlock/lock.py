# Made from aio/lock.py by scripts/threads.py. Change that file instead.
"""A held lock, as its user sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING

from rowlock.bridge import Bridge, Scope
from rowlock.checks import OptionError, shown
from rowlock.engine.callbacks import Latest
from rowlock.engine.held_lease import HeldLease, LockState
from rowlock.engine.held_locks import Released, given_away
from rowlock.engine.scope import is_harmless, loss_by, loss_of, note
from rowlock.errors import LockLost, RowlockError
from rowlock.mode import Mode
from rowlock.records import ReleaseOptions, last_words_of
from rowlock.telemetry import HoldSpan
from rowlock.times import Seconds
from rowlock.views import HandedOver

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class Lock:
    """A held lock, which the client renews until it is released; a `with` statement releases it at its end.

    If the lock was lost before the end of that statement, the statement raises LockLost. If another exception
    ends the statement, that exception goes on, with a note.
    """

    def __init__(self, bridge: Bridge, lease: HeldLease, scope: Scope) -> None:
        """For the client only."""
        self._bridge = bridge
        self._lease = lease
        self._scope = scope
        self._span = HoldSpan(lease, bridge.engine.telemetry)
        self._released: Future[Released] | None = None
        # This lock's own scope has ended, and has reported a loss.
        self._is_scope_over = False
        self.lost = bridge.lost_of(lease)
        """Set when the work must stop."""

    def __repr__(self) -> str:
        return f"<rowlock.Lock {self.name!r} token={self.token} {self._lease.state}>"

    @property
    def name(self) -> str:
        """The lock's name."""
        return self._lease.lock_name

    @property
    def token(self) -> int:
        """The fencing token, higher with each grant of a lock. Send it with every write to what the lock protects."""
        return self._lease.token

    @property
    def tokens(self) -> Mapping[str, int]:
        """The fencing token of each lock of a claim for several, by its name. `token` is that of the first one."""
        return dict(self._lease.tokens)

    def token_of(self, name: str) -> int:
        """Return the fencing token of one lock of the claim. Raises OptionError if the claim does not have this lock."""
        tokens = self._lease.tokens
        if name not in tokens:
            has = ", ".join(map(shown, tokens))
            raise OptionError([f"name: {shown(name)} is no lock of this claim, which has {has}"])
        return tokens[name]

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
        """Call `call` on the callback thread with each new state, but not when the lock is released."""
        lease = self._lease
        latest = Latest(self._bridge.run, call)

        def changed(state: LockState) -> None:
            if state is not LockState.LOST or isinstance(lease.loss, LockLost):
                latest(state)

        lease.listen(changed)

    def release(self, **options: Unpack[ReleaseOptions]) -> bool:
        """Release the lock, so that the server can grant it to the next waiter at once.

        Returns whether it was held until then; a second call returns the result of the first. The options of the
        first call set what the lock remembers: its `status`, a `cool_down`, `attempts_left`, and that its work has `failed`.

        Raises a RowlockError if no server answers; a lease with a time to live then ends by itself. The release
        continues if the wait for its answer is cancelled.
        """
        released = self._bridge.finished(self._release(**options))
        return released.by_this_call

    def hand_over(self, ttl: Seconds | None = None) -> HandedOver:
        """Renew the lease once more, with a new `ttl` if given, and stop renewing it.

        From then on it belongs to the process that has its lease id, and this lock counts as released.
        """
        self._bridge.finished(self._bridge.engine.hand_over(self._lease, ttl))
        self._released = given_away(False)
        return HandedOver(self.lease_id, self.token, self.tokens)

    def __enter__(self) -> Self:
        self._scope.enter()
        self._span.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_scope_over = True
        self._span.leave()
        is_ours = self._scope.leave(error)
        loss = self._leave()()
        if loss and (error is None or is_ours):
            raise loss from error or loss.__cause__
        note(error, loss)

    def _leave(self) -> Callable[[], LockLost | None]:
        """Start the release, and return a function that waits for it and returns the loss, if any."""
        loss = loss_of(self._lease)
        released = self._release() if self._released is None else None

        def left() -> LockLost | None:
            if released is None:
                return loss
            try:
                return loss_by(self._lease, self._bridge.finished(released)) or loss
            except LockLost as late:
                return late
            except RowlockError as failure:
                if not is_harmless(failure):
                    raise
                return loss

        return left

    def _release(self, **options: Unpack[ReleaseOptions]) -> Future[Released]:
        request = last_words_of(self.lease_id, **options)
        if self._released is not None:
            return self._released
        if self._lease.is_held_twice and options:
            # Else the outer scope would overwrite them, or work on under a status that says otherwise.
            raise OptionError(
                [f"{', '.join(options)}: the lock is still held outside, so set it in the last release"]
            )
        is_held = self._lease.let_one_go()
        self._released = given_away(True) if is_held else self._bridge.engine.release(self._lease, request)
        return self._released
