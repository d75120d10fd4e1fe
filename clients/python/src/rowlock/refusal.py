"""A refusal: an expected negative answer, with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from rowlock.reason import Reason, end_of
from rowlock.times import seconds_of
from rowlock.v1 import lock_pb2
from rowlock.views import ClaimView, LimitView, claim_view, limit_view


@dataclass(frozen=True)
class Refusal:
    """Why the server did not grant the lock."""

    reason: Reason | str
    """BUSY, PAUSED, QUEUE_FULL, TIMED_OUT or NEVER_FITS; or, because of the lock's record, NOT_BEFORE, EXHAUSTED or
    STATUS_MISMATCH. If the request id had a claim that has ended, it is how that claim ended.
    """
    message: str
    """Text for people. Its wording may change."""
    holders: tuple[ClaimView, ...] = ()
    """The holders, oldest first, at most 10; for BUSY and TIMED_OUT."""
    retry_after: float | None = None
    """Seconds until another try may succeed: a hint."""
    limit: LimitView | None = None
    """The limit that prevents the grant, for NEVER_FITS and for PAUSED by a limit of 0."""
    status: str | None = None
    """The lock's status, for STATUS_MISMATCH."""


def refusal_of(refused: lock_pb2.Refusal) -> Refusal:
    """Return a refusal of the server as a plain value."""
    reason = end_of(refused.reason)
    return Refusal(
        reason=reason,
        message=refused.message,
        holders=tuple(map(claim_view, refused.holders)),
        retry_after=seconds_of(refused.retry_after) if refused.HasField("retry_after") else None,
        limit=limit_view(refused.limit) if refused.HasField("limit") else None,
        status=refused.status if reason == Reason.STATUS_MISMATCH else None,
    )
