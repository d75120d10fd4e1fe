"""A refusal: an expected negative answer, with its reason."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rowlock.queue_rules import QueueRulesView, queue_rules_view
from rowlock.rates import RateView, rate_view
from rowlock.reason import Reason, end_reason_of, refusal_reason_of
from rowlock.times import seconds_of
from rowlock.v1 import lock_pb2
from rowlock.views import ClaimView, LimitView, claim_view, limit_view


@dataclass(frozen=True)
class Refusal:
    """Why the server did not grant the lock."""

    reason: Reason | str
    """BUSY, PAUSED, QUEUE_FULL, TIMED_OUT, RATE or NEVER_FITS; or, because of the lock's record, NOT_BEFORE, EXHAUSTED or
    STATUS_MISMATCH. If the claim has ended, during the wait or before under the same request id, it is how it ended.
    """
    message: str
    """Text for people. Its wording may change."""
    holders: tuple[ClaimView, ...] = ()
    """The holders, oldest first, at most 10; for BUSY and TIMED_OUT."""
    retry_after: float | None = None
    """Seconds until another try may succeed: a hint. For RATE, when the rate allows it."""
    limit: LimitView | None = None
    """The limit that prevents the grant, for NEVER_FITS, for PAUSED and TIMED_OUT by a limit of 0, and for BUSY and QUEUE_FULL by
    a pool.
    """
    status: str | None = None
    """The lock's status, for STATUS_MISMATCH."""
    held_by_you: bool = False
    """This client holds the lock itself: locks are not reentrant, unless both calls ask for that."""
    rate: RateView | None = None
    """The rate that prevents the grant, for RATE, and for NEVER_FITS by its burst."""
    lock_name: str | None = None
    """Of a request for several locks: the one that is in the way, of which all this is; None if it was for one lock, or the server
    does not say.
    """
    queue_rules: QueueRulesView | None = None
    """Those that prevent the grant, for QUEUE_FULL by their `waiting_max`, and for NEVER_FITS of several locks."""


def refusal_of(refused: lock_pb2.Refusal) -> Refusal:
    """Return a refusal of the server as a plain value."""
    rate = rate_view(refused.rate) if refused.HasField("rate") else None
    rules = queue_rules_view(refused.queue_rules) if refused.HasField("queue_rules") else None
    return replace(_refusal(refusal_reason_of(refused.reason), refused), rate=rate, queue_rules=rules)


def refusal_of_end(ended: lock_pb2.ClaimEnd) -> Refusal:
    """Return the end of a claim, for the caller who has asked for its lock, as a refusal."""
    return _refusal(end_reason_of(ended.reason), ended)


def _refusal(reason: Reason | str, said: lock_pb2.Refusal | lock_pb2.ClaimEnd) -> Refusal:
    return Refusal(
        reason=reason,
        message=said.message,
        holders=tuple(map(claim_view, said.holders)),
        retry_after=seconds_of(said.retry_after) if said.HasField("retry_after") else None,
        limit=limit_view(said.limit) if said.HasField("limit") else None,
        status=said.status if reason == Reason.STATUS_MISMATCH else None,
        lock_name=said.lock_name or None,
    )


def refused_to_holder(name: str, refusal: Refusal, held_for: float) -> Refusal:
    """Return the refusal of a request for a lock that the same client holds, for so many seconds."""
    words = f"{refusal.message.rstrip('.')}; {held_by_you(name, held_for)}"
    return replace(refusal, message=words, held_by_you=True)


def held_by_you(name: str, held_for: float) -> str:
    """Return what a client says that waits for itself, without a full stop."""
    return f'you hold "{name}" yourself, since {held_for:.0f} s; locks are not reentrant'
