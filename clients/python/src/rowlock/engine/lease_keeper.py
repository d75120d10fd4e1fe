"""Renews the leases that this client holds, many in one command, and detects lost ones.

A lease is lost when its deadline has passed, which the keeper checks before each renewal, or when the server says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from rowlock.clock import Clock
from rowlock.connection.calls import Ask, Calls
from rowlock.connection.connection import Connection
from rowlock.connection.connections import Connections
from rowlock.engine.held_lease import HeldLease, LockState
from rowlock.errors import RowlockError, lost, lost_by, of_status
from rowlock.event_loop import EventLoop, Timer
from rowlock.reason import Reason
from rowlock.v1.lock_pb2 import Lease
from rowlock.v1.lock_service_pb2 import (
    LostLease,
    RenewedLease,
    RenewLeases,
    RenewRequest,
    SessionCommand,
    SessionResult,
)
from rowlock.views import claim_end_view

# Seconds between checks of the clock while a lease is held, to notice that the machine was suspended.
_LOOK_EVERY = 1.0
# Seconds until a failed renewal is retried: soon, but at most twice in a third of the shortest ttl.
_RENEW_AGAIN = 0.15
# Seconds after the server's policy has denied a renewal, as only a change of the policy can help.
_RENEW_DENIED = 1.0
# The reasons by which the server says that a lease has ended.
_GONE = (Reason.LEASE_LOST, Reason.UNKNOWN_CLAIM)


class LeaseKeeper:
    """For use on the engine's thread only."""

    def __init__(self, calls: Calls, loop: EventLoop, now: Clock, late: Callable[[HeldLease], None]) -> None:
        """`late` takes each lease whose renewal is overdue, once for each renewal; it must not block."""
        self._calls = calls
        self._loop = loop
        self._now = now
        self._on_late = late
        self._held: dict[str, HeldLease] = {}
        self._timer: Timer | None = None
        self.connections: Connections | None = None

    def __len__(self) -> int:
        return len(self._held)

    def keep(self, lease: HeldLease) -> None:
        """Renew a lease from now on."""
        self._held[lease.id] = lease
        # Look at this lease only, as many may come at once.
        now = self._now()
        self._wake_at(min(self._due(lease, now), now + _LOOK_EVERY))

    def drop(self, lease: HeldLease) -> None:
        """Stop renewing a lease."""
        if self._held.get(lease.id) is lease:
            del self._held[lease.id]
        if not self._held:
            self.stop()

    def begun(self, connection: Connection) -> None:
        """Renew all leases in the first requests of a connection, so that its server knows of them."""
        self._look_at_all()
        self._renew(list(self._held.values()), connection.renewals_max)

    def orphaned(self) -> None:
        """Note for all leases that their connection is gone."""
        for lease in self._held.values():
            lease.orphaned()

    def confirmed(self, leases: Iterable[Lease], basis: float) -> None:
        """Take leases that the server has confirmed, at `basis` or later."""
        for lease in leases:
            held = self._held.get(lease.lease_id)
            # The server confirmed it after the acknowledgement, but the response may have heard later requests, too.
            if held:
                self._look_if_late(held)
                held.prolonged(lease, min(basis, held.told_at))
        self._wake()

    def lost(self, leases: Iterable[LostLease]) -> None:
        """Lose the leases that the server reports as ended."""
        for lease in leases:
            self._lose(lease.lease_id, lost(lease.lock_name, claim_end_view(lease.end)))

    def stop(self) -> None:
        """Stop renewing until another lease is kept."""
        if self._timer:
            self._timer.cancel()
            self._timer = None

    @property
    def _is_open(self) -> bool:
        return self.connections is not None and self.connections.is_open

    def _look_at_all(self) -> None:
        for lease in list(self._held.values()):
            lease.look()
            # The lease may have become uncertain.
            lease.notify()
            if lease.loss:
                del self._held[lease.id]
            else:
                self._look_if_late(lease)

    def _look_if_late(self, lease: HeldLease) -> None:
        if not lease.is_late and lease.overdue_at <= self._now() < lease.deadline:
            lease.is_late = True
            self._on_late(lease)

    def _tick(self) -> None:
        self._timer = None
        self._look_at_all()
        now = self._now()
        held = [lease for lease in self._held.values() if not lease.is_renewing]
        if self.connections and any(lease.renew_at <= now for lease in held):
            if self._is_open:
                due = [lease for lease in held if lease.may_renew_at <= now]
                self._renew(due, self.connections.renewals_max)
            else:
                self.connections.need()
        self._wake()

    def _renew(self, leases: Sequence[HeldLease], at_once: int) -> None:
        for at in range(0, len(leases), at_once):
            self._renew_together(leases[at : at + at_once])

    def _renew_together(self, leases: Sequence[HeldLease]) -> None:
        for lease in leases:
            lease.is_renewing = True

        def command(_: Connection) -> SessionCommand:
            requests = [RenewRequest(lease_id=lease.id) for lease in leases]
            return SessionCommand(renew_leases=RenewLeases(leases=requests))

        def answered(result: SessionResult, basis: float) -> bool:
            for lease, renewed in zip(leases, result.renew_leases.leases, strict=True):
                self._renewed(lease, renewed, basis)
            self._wake()
            return True

        def failed(error: RowlockError) -> None:
            for lease in leases:
                self._failed(lease, error)
            self._wake()

        # Not repeated on another connection, which begins by renewing all leases.
        ask = Ask("urgent", command, "on this connection", lambda: math.inf, answered, failed)
        self._calls.begin(ask)

    def _renewed(self, lease: HeldLease, renewed: RenewedLease, basis: float) -> None:
        lease.is_renewing = False
        if renewed.WhichOneof("outcome") == "lease":
            self._look_if_late(lease)
            lease.prolonged(renewed.lease, basis)
        else:
            self._failed(lease, of_status(renewed.error))

    def _failed(self, lease: HeldLease, error: RowlockError) -> None:
        lease.is_renewing = False
        if error.reason in _GONE:
            self._lose(lease.id, error)
            return
        pause = _RENEW_DENIED if error.reason == Reason.RIGHT_MISSING else _RENEW_AGAIN
        lease.renew_at = self._now() + max(pause, error.retry_after or 0.0)
        if lease.state is LockState.UNCERTAIN and self.connections and self._is_open:
            self.connections.leave(error)

    def _lose(self, lease_id: str, error: RowlockError) -> None:
        lease = self._held.pop(lease_id, None)
        if lease:
            lease.lose(lost_by(lease.lock_name, error))

    def _wake(self) -> None:
        """Set the timer to the first time at which a lease needs attention."""
        self.stop()
        if not self._held:
            return
        now = self._now()
        is_open = self._is_open
        first = min(self._due(lease, now, is_open) for lease in self._held.values())
        self._wake_at(min(first, now + _LOOK_EVERY))

    def _due(self, lease: HeldLease, now: float, is_open: bool = True) -> float:
        at = lease.deadline
        if now < lease.overdue_at < at:
            at = lease.overdue_at
        # Without a connection, no renewal is due: the next connection begins by renewing all leases.
        if is_open and not lease.is_renewing and lease.renew_at < at:
            at = lease.renew_at
        return at

    def _wake_at(self, at: float) -> None:
        if self._timer:
            if self._timer.at <= at:
                return
            self._timer.cancel()
        self._timer = self._loop.call_later(max(0.001, at - self._now()), self._tick)
