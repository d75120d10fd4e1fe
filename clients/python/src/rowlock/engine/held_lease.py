"""One lease that this client holds: until when its holder may count on it, and the event that says that it is over.

    held -- no answer to its renewals --> uncertain -- an answer --> held
      `-----------------+-- its time is over, or the server says that it has ended --> lost

Lost is final. So is given back: then the event is set, too, and nothing renews it. The thread of the engine prolongs it; any
thread may look at it, and finds it lost when its time is over, also where the engine had no time to.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from enum import Enum

from rowlock.clock import Clock
from rowlock.errors import LockLost, RowlockError
from rowlock.modes import mode_of
from rowlock.reasons import Reason
from rowlock.records import Terms
from rowlock.times import seconds_of
from rowlock.v1 import lock_pb2

# A renewal that has not succeeded by this share of the time to live is overdue; the first one begins at half of it.
_OVERDUE_SHARE = 2 / 3
_RENEWED_SHARE = 1 / 3
# Of one that was longer on its way, too little is left for its renewals.
_SHARE_TO_BEGIN = 1 / 3
# A lease that waits for its confirmation must last for so many margins, or it is renewed before anybody relies on it.
_MARGINS_TO_BEGIN = 4
_NO_TERMS = Terms()


class LockState(str, Enum):
    """How much its holder may count on a lock."""

    HELD = "held"
    UNCERTAIN = "uncertain"
    """A renewal is overdue, but there is time left."""
    LOST = "lost"
    """Its time is over, or the server says that it has ended; or it was released."""

    def __str__(self) -> str:
        return self.value


Listener = Callable[[LockState], object]


class HeldLease:
    """Made of a lease that the server has told, in an answer of `basis` or later."""

    def __init__(
        self,
        lease: lock_pb2.Lease,
        basis: float,
        margin: float,
        now: Clock,
        terms: Terms = _NO_TERMS,
        *,
        is_endless: bool = False,
    ) -> None:
        self.id = lease.lease_id
        self.lock_name = lease.lock_name
        self.token = lease.fencing_token
        self.mode = mode_of(lease.mode)
        self.permits = lease.permits
        self.margin = margin
        self.terms = terms
        """What the lock shall remember of it."""
        self.is_endless = is_endless
        """It was asked for without end, which it has once it is confirmed."""
        self.told_at = now()
        """When this client was told of it, and had not acknowledged it yet."""
        self.is_renewing = False
        self.renew_at = math.inf
        """When the next renewal is due."""
        self.is_provisional = False
        self.over = threading.Event()
        """Set when it is lost or given back; `loss` says why."""
        self.loss: RowlockError | None = None
        self._now = now
        # Taken again by a signal handler that looks at it, for one.
        self._mutex = threading.RLock()
        # The session in which it was last heard of is gone.
        self._is_orphan = False
        self._listeners: list[Listener] = []
        self._told = LockState.HELD
        # Time to live as of the last answer, and when that was asked for.
        self._ttl = math.inf
        self._basis = 0.0
        self.prolonged(lease, basis)

    @property
    def deadline(self) -> float:
        """By the client's clock: the work must have stopped `margin` later at the latest."""
        return self._basis + self._ttl - self.margin

    @property
    def overdue_at(self) -> float:
        """When its renewal is overdue."""
        return self._basis + self._ttl * _OVERDUE_SHARE

    @property
    def is_too_early(self) -> bool:
        """Whether it has to be renewed before anybody relies on it.

        So it is for a grant that was long on its way, and for one that is not confirmed yet and that leaves too little time to
        begin with, or has terms: its end leaves a mark in the lock's record only where the server knows that somebody came for it.
        """
        is_late = self.remaining < self._ttl * _SHARE_TO_BEGIN
        is_brief = self._ttl < self.margin * _MARGINS_TO_BEGIN
        return is_late or (self.is_provisional and (is_brief or self.terms.are_set))

    @property
    def may_renew_at(self) -> float:
        """When half of the time until its renewal would be due has passed: it may come along with others."""
        return (self._basis + self.renew_at) / 2

    @property
    def state(self) -> LockState:
        """Looks at the clock."""
        self.look()
        if self.loss:
            return LockState.LOST
        if self._is_orphan or self._now() >= self.overdue_at:
            return LockState.UNCERTAIN
        return LockState.HELD

    @property
    def remaining(self) -> float:
        """Seconds left, as far as its holder may count on it."""
        with self._mutex:
            return 0.0 if self.loss else max(0.0, self.deadline - self._now())

    def prolonged(self, lease: lock_pb2.Lease, basis: float) -> None:
        """Take what the server has said, unless it was lost by this client's own count: then it stays lost."""
        self.look()
        with self._mutex:
            if self.loss:
                return
            self._ttl = seconds_of(lease.ttl) if lease.HasField("ttl") else math.inf
            self._basis = basis
            self.is_provisional = lease.provisional
            self._is_orphan = False
            self.renew_at = basis + self._ttl * _RENEWED_SHARE
        self.tell()

    def orphaned(self) -> None:
        """Note that the connection is gone in which it was last heard of."""
        self._is_orphan = True
        self.tell()

    def look(self) -> None:
        """Lose it if its time is over."""
        with self._mutex:
            if self.loss or self._ttl == math.inf or self._now() < self.deadline:
                return
            message = f'The lease on "{self.lock_name}" was not renewed in time, so others may hold the lock.'
            why = LockLost(
                Reason.LEASE_LOST, "FAILED_PRECONDITION", message, metadata={"end_reason": "EXPIRED"}
            )
            self.lose(why)

    def lose(self, why: RowlockError) -> None:
        """Only the first reason counts."""
        with self._mutex:
            if self.loss:
                return
            self.loss = why
        self.over.set()
        self.tell()

    def give_back(self, how: str = "released") -> None:
        """Nobody counts on it any more."""
        message = f'The lock "{self.lock_name}" was {how} by this client.'
        self.lose(RowlockError(Reason.RELEASED, "CANCELLED", message))

    def disown(self, why: RowlockError) -> None:
        """Lose it in the child of a fork, where another thread of the parent may have held any mutex."""
        self._mutex = threading.RLock()
        self.over = threading.Event()
        self.over.set()
        self.loss = why

    def listen(self, listener: Listener) -> None:
        """Call it with each change of the state, on whatever thread notices it: it must not block.

        It is called at once where the state is another one than `held`.
        """
        with self._mutex:
            self._listeners.append(listener)
            told = self._told
        if told is not LockState.HELD:
            listener(told)

    def tell(self) -> None:
        """Tell those who listen where the state has changed."""
        with self._mutex:
            state = self.state
            if state is self._told:
                return
            self._told = state
            for listener in self._listeners:
                listener(state)
