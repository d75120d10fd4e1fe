"""The request for one lock, or for several at once, from the first try to the grant or the refusal, over any number of connections.

If the caller gives up, the acquisition gives the place back as soon as it knows the ticket. A request that only spends goes
the same way, but its grant leaves nothing to hold or to give back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import Union

from google.protobuf.duration_pb2 import Duration

from rowlock.clock import Clock
from rowlock.connection.calls import Ask, Call, Calls
from rowlock.connection.connection import Connection
from rowlock.engine.futures import reject, resolve
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.holder import Holder
from rowlock.engine.request_id import new_request_id
from rowlock.engine.wait_notices import WaitNotices
from rowlock.errors import RowlockError, cannot_spend, may_be_held, takes_one_lock, ttl_too_short
from rowlock.event_loop import EventLoop
from rowlock.options import Asked, Place
from rowlock.rates import Spent, spent_view
from rowlock.reason import Reason
from rowlock.refusal import Refusal, refusal_of, refusal_of_end, refused_to_holder
from rowlock.telemetry import LockSpan
from rowlock.times import duration_of, seconds_of
from rowlock.v1.lock_pb2 import Lease, Ticket
from rowlock.v1.lock_service_pb2 import (
    AcquireRequest,
    QueueRequest,
    RenewRequest,
    SessionCommand,
    SessionResult,
    WaitInQueueRequest,
)

Outcome = Union[HeldLease, Spent, Refusal]  # noqa: UP007 - Evaluated at run time.

# The caller never learned of the lease, or the place was lost: asking again takes nothing from anybody.
_UNTOLD_ENDS = (Reason.LAPSED, Reason.EXPIRED)
_UNTOLD_FAILURES = (Reason.UNKNOWN_CLAIM, Reason.LEASE_LOST)
# Refusals because others hold the lock, or the caller itself.
_OF_HOLDERS = (Reason.BUSY, Reason.TIMED_OUT)
# How many times a lease that arrives too late to be relied on is renewed before the acquisition fails.
_LATE_GRANTS_MAX = 3
# Seconds until it asks again after a grant of a lease that this client has released meanwhile.
_ASK_AGAIN = 0.15
# Seconds that the server may take to report that a wait is over.
_LATE = 2.0
# Seconds between positions if only notices of a long wait show them.
_SELDOM = 60.0
# The shortest wait of the protocol, in seconds.
_WAIT_MIN = 0.001


class Acquisition:
    """For use on the engine's thread only; any thread may wait for its outcome and cancel it."""

    def __init__(
        self,
        calls: Calls,
        loop: EventLoop,
        now: Clock,
        asked: Asked,
        give_up_after: float,
        holder: Holder,
        ended: Callable[[Acquisition], None],
        moved: Callable[[Place], object] | None,
        is_shared: Callable[[Acquisition], bool],
        span: LockSpan,
        notices: WaitNotices,
    ) -> None:
        """`moved` takes each place and must not block; `is_shared`: whether another call waits for the same claim."""
        self.outcome: Future[Outcome] = Future()
        self._calls = calls
        self._loop = loop
        self._now = now
        self._asked = asked
        self._give_up_after = give_up_after
        self._holder = holder
        self._on_ended = ended
        self._moved = moved
        self._is_shared = is_shared
        self._span = span
        self._notices = notices
        self.shared_id = asked.request_id
        """The request id that the caller chose; None: the client made it, so nobody else can know it."""
        self.released: set[str] = set()
        """The leases of that id that this client has released meanwhile."""
        self._is_wait = asked.wait != 0
        self._until = now() + asked.wait
        self._request_id = asked.request_id or new_request_id()
        self._ticket_id: str | None = None
        self._call: Call | None = None
        self._late_grants = 0
        self._is_settled = False
        self._is_abandoned = False

    def begin(self) -> None:
        """Start to ask for the lock."""
        if self.outcome.cancelled():
            self._settle()
            return
        self._call = self._calls.begin(
            Ask(
                "wait" if self._is_wait else "other",
                self._command,
                "always",
                self._give_up,
                self._answered,
                self._failed,
                self._span.traceparent,
            )
        )

    def abandon(self, why: BaseException | None) -> None:
        """Fail with `why`, if given, and give back the place or lease that was or will be granted.

        None: the caller has given up, so nobody needs the outcome.
        """
        if self._is_settled:
            return
        if why:
            reject(self.outcome, why)
        self._is_abandoned = True
        self._settle()
        if self._ticket_id:
            self._give_back(self._ticket_id)
        elif self._call and self._call.times_sent == 0:
            self._calls.cancel(self._call)

    def _settle(self) -> None:
        self._is_settled = True
        self._notices.stop()
        self._on_ended(self)

    def _resolve(self, outcome: Outcome) -> bool:
        """Answer the caller; return false if the caller has given up."""
        if self._is_settled:
            return False
        self._settle()
        return resolve(self.outcome, outcome)

    def _reject(self, error: BaseException) -> None:
        if self._is_settled:
            return
        self._settle()
        reject(self.outcome, error)

    def _again(self) -> None:
        """Ask for the lock under another request id, as the claim of the last one is gone."""
        self._request_id = new_request_id()
        self._ticket_id = None
        self.begin()

    def _give_up(self) -> float:
        if not self._is_wait:
            return self._give_up_after
        return min(self._give_up_after, self._left + _LATE)

    @property
    def _left(self) -> float:
        return max(_WAIT_MIN, self._until - self._now())

    def _command(self, connection: Connection) -> SessionCommand:
        if not self._is_wait:
            return SessionCommand(acquire=self._request())
        wait = WaitInQueueRequest(min_update_interval=self._update_interval)
        # Only a session can follow a ticket; elsewhere the request id leads to the same place.
        if self._ticket_id and connection.via == "session":
            wait.ticket_id = self._ticket_id
        else:
            wait.request.CopyFrom(self._queue_request())
        return SessionCommand(wait_in_queue=wait)

    @property
    def _update_interval(self) -> Duration:
        return duration_of(self._asked.position_interval if self._moved else _SELDOM)

    def _request(self) -> AcquireRequest:
        request = AcquireRequest()
        request.CopyFrom(self._asked.request)
        request.request_id = self._request_id
        return request

    def _queue_request(self) -> QueueRequest:
        asked = self._asked.request
        request = QueueRequest(
            name=asked.name,
            mode=asked.mode,
            permits=asked.permits,
            terms=asked.terms,
            request_id=self._request_id,
            spend_only=asked.spend_only,
            also=asked.also,
            head_start=asked.head_start if asked.HasField("head_start") else None,
        )
        if not math.isinf(self._until):
            request.max_wait.CopyFrom(duration_of(self._left))
        return request

    def _answered(self, result: SessionResult, basis: float) -> bool:
        answer, update = result.acquire, result.wait_in_queue
        said = answer if result.HasField("acquire") else update
        match answer.WhichOneof("outcome") or update.WhichOneof("update"):
            case "lease":
                self._granted(answer.lease, basis)
            case "granted":
                self._granted(update.granted, basis)
            case "spent":
                self._resolve(spent_view(said.spent))
            case "refusal":
                self._refused(refusal_of(said.refusal))
            case "ended":
                self._ended(refusal_of_end(said.ended))
            case "position":
                return self._placed(update.position)
            case other:
                self._failed(RowlockError(Reason.UNKNOWN, "INTERNAL", f"The server answered with {other}."))
        return True

    def _placed(self, ticket: Ticket) -> bool:
        """Take a place; return whether the call is over, as the caller has given up."""
        self._ticket_id = ticket.ticket_id
        self._span.has_waited = True
        if self._is_abandoned:
            self._unwanted(ticket.ticket_id)
            return True
        place = Place(
            ticket.ahead,
            ticket.permits_ahead,
            ticket.queue_length,
            seconds_of(ticket.waited),
            seconds_of(ticket.rate_wait) if ticket.HasField("rate_wait") else None,
            ticket.pool or None,
            ticket.waits_for or None,
        )
        self._notices.placed(ticket.ticket_id, place)
        if self._moved:
            self._moved(place)
        return False

    def _granted(self, lease: Lease, basis: float) -> None:
        if self._is_abandoned or self.outcome.cancelled():
            self._unwanted(lease.lease_id)
            return
        asked = self._asked
        if asked.request.spend_only or len(lease.also) < len(asked.request.also):
            self._ticket_id = lease.lease_id
            self.abandon(cannot_spend() if asked.request.spend_only else takes_one_lock())
            return
        # An earlier call with the same request id got this lease.
        known = self._holder.find(lease.lease_id)
        if known:
            self._resolve(known)
            return
        if lease.lease_id in self.released:
            # The grant is older than the release. When asked again a little later, the server reports the release.
            self._loop.call_later(_ASK_AGAIN, lambda: None if self._is_settled else self.begin())
            return
        held = HeldLease(lease, basis, asked.margin, self._now, asked.terms, is_endless=self._is_endless)
        held.shared_id = self.shared_id
        if held.is_too_early:
            self._ticket_id = lease.lease_id
            self._late_grants += 1
            if self._late_grants > _LATE_GRANTS_MAX:
                self.abandon(ttl_too_short(lease.lock_name))
            else:
                self._renew(lease.lease_id)
            return
        # In this turn, so that no later message about this lease is missed.
        self._holder.keep(held)
        if not self._resolve(held) and not self._is_shared(self):
            self._holder.let_go(held)

    def _renew(self, lease_id: str) -> None:
        """Renew the lease before anybody relies on it: the grant took long to arrive, or is not confirmed yet."""

        def answered(result: SessionResult, basis: float) -> bool:
            self._granted(result.renew.lease, basis)
            return True

        self._call = self._calls.begin(
            Ask(
                "urgent",
                lambda _: SessionCommand(renew=RenewRequest(lease_id=lease_id)),
                "always",
                lambda: self._give_up_after,
                answered,
                self._failed,
                self._span.traceparent,
            )
        )

    def _ended(self, end: Refusal) -> None:
        """Take the end of the claim: ask again if nobody has ended it."""
        is_left = not self._is_wait or self._now() < self._until
        if end.reason in _UNTOLD_ENDS and is_left and self._may_ask_again:
            self._again()
        else:
            self._refused(end)

    def _refused(self, refusal: Refusal) -> None:
        own = self._holder.own_hold(self._asked.names) if refusal.reason in _OF_HOLDERS else None
        self._resolve(refusal if own is None else refused_to_holder(own.name, refusal, own.held_for))

    def _failed(self, error: RowlockError) -> None:
        if error.reason in _UNTOLD_FAILURES and self._ticket_id and self._may_ask_again:
            self._again()
        else:
            self._reject(self._leave(error))

    @property
    def _is_endless(self) -> bool:
        return self._asked.request.terms.HasField("no_expiry")

    def _leave(self, error: RowlockError) -> RowlockError:
        """Give back the claim that a server may have granted, and return the error for the caller.

        If the ticket is not known, a lease with an end ends by itself. If the caller chose the request id, the
        claim stays, as the caller may ask for it again under that id.
        """
        if not error.is_in_doubt or self._call is None or self._call.times_sent == 0:
            return error
        is_own = self.shared_id is None or self._is_abandoned
        if is_own and self._ticket_id:
            self._give_back(self._ticket_id)
        elif is_own and self._is_endless and not self._is_shared(self):
            self._holder.give_back_unheard(self._request())
        if not self._is_endless:
            return error
        return may_be_held(error, self._asked.request.name, self._request_id, is_own)

    @property
    def _may_ask_again(self) -> bool:
        """Whether another request id may be used: one that the caller chose stands for one claim."""
        return self._asked.request_id is None and not self._is_abandoned

    def _give_back(self, ticket_id: str) -> None:
        if self._call:
            self._calls.cancel(self._call)
        self._unwanted(ticket_id)

    def _unwanted(self, claim_id: str) -> None:
        if not self._is_shared(self):
            self._holder.give_back(claim_id, self._asked.terms, is_endless=self._is_endless)
