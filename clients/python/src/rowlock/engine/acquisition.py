"""One lock being asked for: from the first request to the grant or the refusal, however many connections that takes.

Whoever gives up leaves nothing behind: the place is given back as soon as its ticket is known.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from typing import Union

from google.protobuf.duration_pb2 import Duration

from rowlock.clock import Clock
from rowlock.connection.connection import Connection
from rowlock.engine.calls import Ask, Call, Calls
from rowlock.engine.futures import reject, resolve
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.holder import Holder
from rowlock.errors import RowlockError, may_be_held, ttl_too_short
from rowlock.options import Asked, Place
from rowlock.reasons import Reason
from rowlock.refusal import Refusal, refusal_of
from rowlock.times import duration_of, seconds_of
from rowlock.v1.lock_pb2 import (
    WHEN_BUSY_ENQUEUE,
    WHEN_BUSY_REFUSE,
    WHEN_BUSY_WAIT,
    Lease,
    Ticket,
    WhenBusy,
)
from rowlock.v1.lock_pb2 import (
    Refusal as RefusalMessage,
)
from rowlock.v1.lock_service_pb2 import (
    AcquireRequest,
    RenewRequest,
    SessionCommand,
    SessionResult,
    WaitInQueueRequest,
)

Outcome = Union[HeldLease, Refusal]  # noqa: UP007 - It is looked at when it runs.

# Nobody was told of the lease, or the place was lost on the way: to ask again takes nothing from anybody.
_UNTOLD_ENDS = (Reason.LAPSED, Reason.EXPIRED)
_UNTOLD_FAILURES = (Reason.UNKNOWN_CLAIM, Reason.LEASE_LOST)
# How often a lease is renewed that came too late to be relied on, before it is called too short.
_LATE_GRANTS_MAX = 3
# What the server may take for a wait that is over to say so.
_LATE = 2.0
# Positions that nobody looks at are told this seldom.
_SELDOM = 3_600.0
# What the protocol takes for the shortest wait.
_WAIT_MIN = 0.001


class Acquisition:
    """Lives on the thread of the engine; its outcome can be waited for and cancelled on any."""

    def __init__(
        self,
        calls: Calls,
        now: Clock,
        asked: Asked,
        give_up_after: float,
        holder: Holder,
        ended: Callable[[Acquisition], None],
        moved: Callable[[Place], object] | None,
        is_shared: Callable[[Acquisition], bool],
    ) -> None:
        """`moved` is told each place, and must not block; `is_shared`: whether another call waits for the same claim."""
        self.outcome: Future[Outcome] = Future()
        self._calls = calls
        self._now = now
        self._asked = asked
        self._give_up_after = give_up_after
        self._holder = holder
        self._on_ended = ended
        self._moved = moved
        self._is_shared = is_shared
        self.shared_id = asked.request_id
        """The request id that the caller has chosen; None: nobody else can know it."""
        self._is_wait = asked.wait != 0
        self._until = now() + asked.wait
        self._request_id = asked.request_id or str(uuid.uuid4())
        self._ticket_id: str | None = None
        self._call: Call | None = None
        self._late_grants = 0
        self._is_settled = False
        self._is_abandoned = False

    def begin(self) -> None:
        """Ask for it."""
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
            )
        )

    def abandon(self, why: BaseException | None) -> None:
        """Fail with `why`, unless who asked has given up, and give back what was or will be got."""
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
        self._on_ended(self)

    def _resolve(self, outcome: Outcome) -> bool:
        """Whether anybody wants it still."""
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
        """Ask for the lock under another id, as what there was under the last one is gone."""
        self._request_id = str(uuid.uuid4())
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
            return SessionCommand(acquire=self._request(WHEN_BUSY_REFUSE))
        wait = WaitInQueueRequest(min_update_interval=self._update_interval)
        # A ticket can be followed in a session alone; the request id stands for the same place.
        if self._ticket_id and connection.via_session:
            wait.ticket_id = self._ticket_id
        else:
            wait.acquire.CopyFrom(self._request(WHEN_BUSY_WAIT))
        return SessionCommand(wait_in_queue=wait)

    @property
    def _update_interval(self) -> Duration:
        return duration_of(self._asked.position_interval if self._moved else _SELDOM)

    def _request(self, when_busy: WhenBusy) -> AcquireRequest:
        request = AcquireRequest()
        request.CopyFrom(self._asked.request)
        request.request_id = self._request_id
        request.when_busy = when_busy
        if self._is_wait and not math.isinf(self._until):
            request.max_wait.CopyFrom(duration_of(self._left))
        return request

    def _answered(self, result: SessionResult, basis: float) -> bool:
        answer, update = result.acquire, result.wait_in_queue
        match answer.WhichOneof("outcome") or update.WhichOneof("update"):
            case "lease":
                self._granted(answer.lease, basis)
            case "granted":
                self._granted(update.granted, basis)
            case "refusal":
                self._ended(answer.refusal)
            case "ended":
                self._ended(update.ended)
            case "position":
                return self._placed(update.position)
            case other:
                self._failed(RowlockError(Reason.UNKNOWN, "INTERNAL", f"The server answered with {other}."))
        return True

    def _placed(self, ticket: Ticket) -> bool:
        """Whether nobody wants it any more."""
        self._ticket_id = ticket.ticket_id
        if self._is_abandoned:
            self._unwanted(ticket.ticket_id)
            return True
        if self._moved:
            waited = seconds_of(ticket.waited)
            self._moved(Place(ticket.ahead, ticket.permits_ahead, ticket.queue_length, waited))
        return False

    def _granted(self, lease: Lease, basis: float) -> None:
        if self._is_abandoned or self.outcome.cancelled():
            self._unwanted(lease.lease_id)
            return
        # It was asked for before, under the same request id.
        known = self._holder.find(lease.lease_id)
        if known:
            self._resolve(known)
            return
        asked = self._asked
        held = HeldLease(lease, basis, asked.margin, self._now, asked.terms, is_endless=self._is_endless)
        if held.is_too_early:
            self._ticket_id = lease.lease_id
            self._late_grants += 1
            if self._late_grants > _LATE_GRANTS_MAX:
                self.abandon(ttl_too_short(lease.lock_name))
            else:
                self._renew(lease.lease_id)
            return
        # In this very turn, so that nothing that is said of it is missed.
        self._holder.keep(held)
        if not self._resolve(held) and not self._is_shared(self):
            self._holder.let_go(held)

    def _renew(self, lease_id: str) -> None:
        """Rely on it only when it is renewed: the grant was long on its way, or is not confirmed yet."""

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
            )
        )

    def _ended(self, refused: RefusalMessage) -> None:
        refusal = refusal_of(refused)
        is_left = not self._is_wait or self._now() < self._until
        if refusal.reason in _UNTOLD_ENDS and is_left and self._may_ask_again:
            self._again()
        else:
            self._resolve(refusal)

    def _failed(self, error: RowlockError) -> None:
        if error.reason in _UNTOLD_FAILURES and self._ticket_id and self._may_ask_again:
            self._again()
        else:
            self._reject(self._leave(error))

    @property
    def _is_endless(self) -> bool:
        return self._asked.request.no_expiry

    def _leave(self, error: RowlockError) -> RowlockError:
        """Of what a server may have granted, nothing stays for ever. Who has chosen the request id may come back for it."""
        if not error.is_in_doubt or self._call is None or self._call.times_sent == 0:
            return error
        is_own = self.shared_id is None or self._is_abandoned
        if is_own and self._ticket_id:
            self._give_back(self._ticket_id)
        elif is_own and self._is_endless and not self._is_shared(self):
            self._holder.give_back_unheard(self._request(WHEN_BUSY_ENQUEUE))
        if not self._is_endless:
            return error
        return may_be_held(error, self._asked.request.name, self._request_id, is_own)

    @property
    def _may_ask_again(self) -> bool:
        """A request id that the caller has chosen stands for one claim."""
        return self._asked.request_id is None and not self._is_abandoned

    def _give_back(self, ticket_id: str) -> None:
        if self._call:
            self._calls.cancel(self._call)
        self._unwanted(ticket_id)

    def _unwanted(self, claim_id: str) -> None:
        if not self._is_shared(self):
            self._holder.give_back(claim_id, self._asked.terms, is_endless=self._is_endless)
