"""An expected no, by its reason."""

from __future__ import annotations

from dataclasses import dataclass

from rowlock.reasons import Reason, end_of
from rowlock.times import seconds_of
from rowlock.v1 import lock_pb2
from rowlock.views import ClaimView, LimitView, claim_view, limit_view


@dataclass(frozen=True)
class Refusal:
    """Why there is no lock."""

    reason: Reason | str
    """BUSY, PAUSED, QUEUE_FULL, TIMED_OUT, NEVER_FITS; NOT_BEFORE, EXHAUSTED, STATUS_MISMATCH by what the lock remembers; or how
    a claim ended that was asked for again.
    """
    message: str
    """What a person reads. Not stable."""
    holders: tuple[ClaimView, ...] = ()
    """Who holds it, oldest first, 10 at the most; for BUSY and TIMED_OUT."""
    retry_after: float | None = None
    """Seconds after which another try may be worth while: a hint."""
    limit: LimitView | None = None
    """What stands in the way, for NEVER_FITS and for PAUSED by a limit of 0."""
    status: str | None = None
    """The one that was found, for STATUS_MISMATCH."""


def refusal_of(refused: lock_pb2.Refusal) -> Refusal:
    """Return what the server has sent."""
    reason = end_of(refused.reason)
    return Refusal(
        reason=reason,
        message=refused.message,
        holders=tuple(map(claim_view, refused.holders)),
        retry_after=seconds_of(refused.retry_after) if refused.HasField("retry_after") else None,
        limit=limit_view(refused.limit) if refused.HasField("limit") else None,
        status=refused.status if reason == Reason.STATUS_MISMATCH else None,
    )
