"""A capture of some of many locks, from the first try to the leases, or to none, over any number of connections.

It splits a long wait into short requests, so that it detects a server that hangs and no proxy cuts the wait off. A
capture has no place in a queue that this could lose.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from rowlock.clock import Clock
from rowlock.connection.calls import Ask, Call, Calls
from rowlock.connection.connection import Connection
from rowlock.engine.futures import reject, resolve
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.holder import Holder
from rowlock.engine.request_id import new_request_id
from rowlock.errors import RowlockError, ttl_too_short
from rowlock.options import AskedCapture
from rowlock.reason import Reason
from rowlock.times import duration_of, seconds_of
from rowlock.v1.lock_pb2 import Lease
from rowlock.v1.lock_service_pb2 import CaptureRequest, RenewRequest, SessionCommand, SessionResult

# The longest piece of a wait, in seconds; a piece also takes at most half of `give_up_after`.
_PIECE = 15.0
# The shortest wait of the protocol, in seconds.
_WAIT_MIN = 0.001
# As for one lock: see acquisition.py.
_LATE_GRANTS_MAX = 3
# A lease that fails so has ended: there is nothing to give back.
_GONE = (Reason.LEASE_LOST, Reason.UNKNOWN_CLAIM)


@dataclass(frozen=True)
class CapturedLeases:
    """The captured leases, longest due first."""

    leases: tuple[HeldLease, ...]
    retry_after: float | None = None
    """If there are no leases: seconds until another try may succeed; None if the server does not know."""


class Capture:
    """For use on the engine's thread only; any thread may wait for its outcome and cancel it."""

    def __init__(
        self,
        calls: Calls,
        now: Clock,
        asked: AskedCapture,
        give_up_after: float,
        holder: Holder,
        ended: Callable[[Capture], None],
        traceparent: str = "",
    ) -> None:
        self.outcome: Future[CapturedLeases] = Future()
        self._calls = calls
        self._now = now
        self._asked = asked
        self._give_up_after = give_up_after
        self._holder = holder
        self._on_ended = ended
        self._traceparent = traceparent
        self.shared_id = asked.request_id
        """As for one lock: see acquisition.py."""
        self.released: set[str] = set()
        """The leases of that id that this client has released meanwhile."""
        self._is_wait = asked.wait != 0
        self._until = now() + asked.wait
        self._request_id = ""
        self._piece_ends = 0.0
        # Answers with leases so far; if too many end before anybody can rely on them, the ttl is too short.
        self._late_answers = 0
        self._name = ""
        self._call: Call | None = None
        # The leases that this capture got; others of the same request id may have been held before.
        self._kept: list[HeldLease] = []
        self._is_spent = False
        self._is_settled = False
        self._is_abandoned = False

    def begin(self) -> None:
        """Send the first or the next piece of the request."""
        if self.outcome.cancelled():
            self._settle()
            return
        # A new id for each piece: if the last one got leases that were lost on their way, it never gets others.
        self._request_id = self._asked.request_id or new_request_id()
        piece = min(self._left, _PIECE, self._give_up_after / 2)
        self._piece_ends = self._now() + piece
        self._call = self._calls.begin(
            Ask(
                "wait" if self._is_wait else "other",
                self._command,
                "always",
                lambda: self._give_up_after,
                self._answered,
                self._failed,
                self._traceparent,
            )
        )

    def abandon(self, why: BaseException | None) -> None:
        """Fail with `why`, if given, and give back the leases that were or will be granted.

        None: the caller has given up, so nobody needs the outcome.
        """
        if self._is_settled:
            return
        self._is_abandoned = True
        if why:
            reject(self.outcome, why)
        self._settle()
        self._let_go()
        if self._call is None:
            return
        if self._call.times_sent == 0:
            self._calls.cancel(self._call)
        elif self._is_wait:
            self._calls.withdraw(self._call)

    def _settle(self) -> None:
        self._is_settled = True
        self._on_ended(self)

    def _let_go(self) -> None:
        kept, self._kept = self._kept, []
        for lease in kept:
            self._holder.let_go(lease)

    @property
    def _left(self) -> float:
        return max(_WAIT_MIN, self._until - self._now())

    def _command(self, _: Connection) -> SessionCommand | None:
        # The connection was lost, and the caller has given up.
        if self._is_abandoned:
            return None
        request = CaptureRequest()
        request.CopyFrom(self._asked.request)
        request.request_id = self._request_id
        if self._is_wait:
            request.max_wait.CopyFrom(duration_of(max(_WAIT_MIN, self._piece_ends - self._now())))
        return SessionCommand(capture=request)

    def _answered(self, result: SessionResult, basis: float) -> bool:
        answer = result.capture
        retry_after = seconds_of(answer.retry_after) if answer.HasField("retry_after") else None
        # The caller's own request id had leases before, and never gets others.
        self._is_spent = answer.is_repeated and bool(self._asked.request_id)
        taken: list[HeldLease | None] = [None] * len(answer.leases)
        left = len(taken)

        def settled(index: int, lease: HeldLease | None) -> None:
            nonlocal left
            taken[index] = lease
            left -= 1
            if left == 0:
                self._taken([each for each in taken if each], retry_after)

        if taken:
            self._late_answers += 1
            self._name = answer.leases[0].lock_name

        for index, lease in enumerate(answer.leases):
            self._take(lease, basis, partial(settled, index))
        if not taken:
            self._taken([], retry_after)
        return True

    def _take(
        self, lease: Lease, basis: float, taken: Callable[[HeldLease | None], None], late_grants: int = 0
    ) -> None:
        """Keep a lease and pass it to `taken`; pass None if it has ended or nobody wants it."""
        if self._is_abandoned or self.outcome.cancelled():
            self._holder.give_back(lease.lease_id, self._asked.terms)
            taken(None)
            return
        known = self._holder.find(lease.lease_id)
        if known:
            taken(known)
            return
        if lease.lease_id in self.released:
            taken(None)
            return
        held = HeldLease(lease, basis, self._asked.margin, self._now, self._asked.terms)
        held.shared_id = self.shared_id
        if held.is_too_early and late_grants == _LATE_GRANTS_MAX:
            self._unused(lease.lease_id, ttl_too_short(lease.lock_name))
            taken(None)
            return
        if held.is_too_early:
            self._renew(lease.lease_id, taken, late_grants + 1)
            return
        # In this turn, so that no later message about this lease is missed.
        self._holder.keep(held)
        self._kept.append(held)
        taken(held)

    def _unused(self, lease_id: str, error: RowlockError) -> None:
        self._holder.give_back(lease_id, self._asked.terms)
        self._failed(error)

    def _renew(self, lease_id: str, taken: Callable[[HeldLease | None], None], late_grants: int) -> None:
        """Renew the lease before anybody relies on it: the grant took long to arrive, or came after a wait."""

        def answered(result: SessionResult, basis: float) -> bool:
            self._take(result.renew.lease, basis, taken, late_grants)
            return True

        def failed(error: RowlockError) -> None:
            if error.reason not in _GONE:
                self._unused(lease_id, error)
            taken(None)

        self._calls.begin(
            Ask(
                "urgent",
                lambda _: SessionCommand(renew=RenewRequest(lease_id=lease_id)),
                "always",
                lambda: self._give_up_after,
                answered,
                failed,
                self._traceparent,
            )
        )

    def _taken(self, leases: list[HeldLease], retry_after: float | None) -> None:
        if self._is_settled:
            return
        if not leases and self._late_answers > _LATE_GRANTS_MAX:
            self._failed(ttl_too_short(self._name))
            return
        if not leases and self._is_wait and not self._is_spent and self._now() < self._until:
            self.begin()
            return
        self._settle()
        if not resolve(self.outcome, CapturedLeases(tuple(leases), None if leases else retry_after)):
            self._let_go()

    def _failed(self, error: RowlockError) -> None:
        self.abandon(error)
