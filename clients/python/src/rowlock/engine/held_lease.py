"""One lease that this client holds: its state, its deadline, and the event that signals its end.

    held -- no answer to its renewals --> uncertain -- an answer --> held
      `-----------------+-- its deadline passes, or the server reports its end --> lost

Lost is final. A lease that is given back ends in the same way: the event is set, and nothing renews the lease. The
engine's thread prolongs the lease. Any thread may look at it, and finds it lost after the deadline, even if the
engine's thread was too busy to notice.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from datetime import timedelta
from enum import Enum

from rowlock.clock import Clock
from rowlock.errors import RowlockError, not_renewed
from rowlock.further_locks import WantedLock, held_locks, tokens_of
from rowlock.mode import mode_of
from rowlock.reason import Reason
from rowlock.records import Terms
from rowlock.times import seconds_of
from rowlock.v1 import lock_pb2

# Shares of the time to live: a renewal is overdue after the first one, and starts after the second one.
_OVERDUE_SHARE = 2 / 3
_RENEWED_SHARE = 1 / 3
# If a smaller share is left when a lease arrives, there is too little time for its renewals.
_SHARE_TO_BEGIN = 1 / 3
# An unconfirmed lease that lasts less than so many margins is renewed before anybody relies on it.
_MARGINS_TO_BEGIN = 4
_NO_TERMS = Terms()


class LockState(str, Enum):
    """How far its holder may rely on a lock."""

    HELD = "held"
    UNCERTAIN = "uncertain"
    """Still held, but a renewal is overdue or the connection was lost."""
    LOST = "lost"
    """Its deadline has passed, the server reports that it has ended, or it was released."""

    def __str__(self) -> str:
        return self.value


Listener = Callable[[LockState], object]


class HeldLease:
    """Made from a lease in a server's response. Its time to live counts from `basis`."""

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
        self.locks = (WantedLock(self.lock_name, self.mode, self.permits), *held_locks(lease))
        """All locks of its claim, as they are held."""
        self.tokens = tokens_of(lease)
        """The fencing token of each lock of its claim, by its name."""
        self.margin = margin
        self.terms = terms
        """The lease's terms for the lock's record."""
        self.is_endless = is_endless
        """Asked for without end; it has none once it is confirmed."""
        self.told_at = now()
        """When the client received it, before it acknowledged it."""
        self.is_renewing = False
        self.renew_at = math.inf
        """When the next renewal is due."""
        self.is_late = False
        """Whether the keeper has noticed that its renewal is overdue."""
        self.is_provisional = False
        self.rest_if_refused: timedelta | None = None
        """For how long the lock rests if the server refuses what its release says; None: it does not."""
        self.reentrant_for: object = None
        """The thread or task that may hold it once more; None: nobody."""
        self.taken_by: object = None
        """The thread or task that asked for it."""
        self.shared_id: str | None = None
        """The request id that its caller chose, so that other calls may ask for it; None: the client made the id."""
        self._holds = 1
        self.over = threading.Event()
        """Set when it is lost or given back; `loss` says why."""
        self.loss: RowlockError | None = None
        self._now = now
        # Reentrant, as a signal handler that looks at the lease may interrupt a holder of it.
        self._mutex = threading.RLock()
        # Whether the connection that brought the last answer about it is gone.
        self._is_orphan = False
        self._listeners: list[Listener] = []
        self._told = LockState.HELD
        # The time to live in the last answer, and the time from which it counts.
        self._ttl = math.inf
        self._basis = 0.0
        self.prolonged(lease, basis)

    @property
    def deadline(self) -> float:
        """When the client counts it as lost, by the client's clock; the work must have stopped `margin` later."""
        return self._basis + self._ttl - self.margin

    @property
    def is_past_deadline(self) -> bool:
        """Whether its deadline has passed, also after it was given back."""
        return self._now() >= self.deadline

    @property
    def age(self) -> float:
        """Seconds since the client received it."""
        return self._now() - self.told_at

    @property
    def overdue_at(self) -> float:
        """When its renewal is overdue."""
        return self._basis + self._ttl * _OVERDUE_SHARE

    @property
    def is_too_early(self) -> bool:
        """Whether the client must renew it before anybody relies on it.

        That is so if the grant took long to arrive. It is also so for an unconfirmed lease that leaves too little
        time, or that has terms: its end leaves a mark in the lock's record only if the lease was confirmed.
        """
        is_late = self.remaining < self._ttl * _SHARE_TO_BEGIN
        is_brief = self._ttl < self.margin * _MARGINS_TO_BEGIN
        return is_late or (self.is_provisional and (is_brief or self.terms.are_set))

    @property
    def may_renew_at(self) -> float:
        """Half of the way to its next renewal: from then on it may be renewed together with others."""
        return (self._basis + self.renew_at) / 2

    @property
    def state(self) -> LockState:
        """Its state now. Checks the clock."""
        self.look()
        if self.loss:
            return LockState.LOST
        if self._is_orphan or self._now() >= self.overdue_at:
            return LockState.UNCERTAIN
        return LockState.HELD

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; 0 if it is lost."""
        with self._mutex:
            return 0.0 if self.loss else max(0.0, self.deadline - self._now())

    def prolonged(self, lease: lock_pb2.Lease, basis: float) -> None:
        """Take the server's new time to live, unless the deadline has passed: then the lease stays lost."""
        self.look()
        with self._mutex:
            if self.loss:
                return
            self._ttl = seconds_of(lease.ttl) if lease.HasField("ttl") else math.inf
            self._basis = basis
            self.is_provisional = lease.provisional
            self._is_orphan = False
            self.is_late = False
            self.renew_at = basis + self._ttl * _RENEWED_SHARE
        self.notify()

    def orphaned(self) -> None:
        """Note that the connection that brought the last answer about it is gone."""
        self._is_orphan = True
        self.notify()

    def look(self) -> None:
        """Lose the lease if its deadline has passed."""
        with self._mutex:
            if self.loss or self._ttl == math.inf or self._now() < self.deadline:
                return
            self.lose(not_renewed(self.lock_name))

    def lose(self, why: RowlockError) -> None:
        """End the lease. Only the first reason counts."""
        with self._mutex:
            if self.loss:
                return
            self.loss = why
        self.over.set()
        self.notify()

    def hold_again(self) -> bool:
        """Count one more holder; return false if the lease is lost."""
        self.look()
        with self._mutex:
            if self.loss:
                return False
            self._holds += 1
            return True

    @property
    def is_held_twice(self) -> bool:
        """Whether it has more than one holder in this process."""
        return self._holds > 1

    def let_one_go(self) -> bool:
        """Count one holder less; return whether there are others."""
        with self._mutex:
            self._holds -= 1
            return self._holds > 0

    def give_back(self, how: str = "released") -> None:
        """End the lease because the user gave it back."""
        message = f'The lock "{self.lock_name}" was {how} by this client.'
        self.lose(RowlockError(Reason.RELEASED, "CANCELLED", message))

    def disown(self, why: RowlockError) -> None:
        """Lose the lease in the child of a fork; with a new mutex, as a thread of the parent may hold the old one."""
        self._mutex = threading.RLock()
        self.over = threading.Event()
        self.over.set()
        self.loss = why

    def listen(self, listener: Listener) -> None:
        """Call `listener` with each new state, on the thread that notices it. It must not block.

        It is called at once if the state is not `held`.
        """
        with self._mutex:
            self._listeners.append(listener)
            told = self._told
        if told is not LockState.HELD:
            listener(told)

    def notify(self) -> None:
        """Notify the listeners if the state has changed."""
        with self._mutex:
            state = self.state
            if state is self._told:
                return
            self._told = state
            for listener in self._listeners:
                listener(state)
