"""A wait in the queue without a stream: it polls, which means that it repeats the same Acquire.

Each poll is a sign of life that keeps the place, returns the place, and confirms the grant.
"""

from __future__ import annotations

import math

from rowlock.event_loop import Timer
from rowlock.times import seconds_of
from rowlock.v1.lock_pb2 import Ticket
from rowlock.v1.lock_service_pb2 import AcquireRequest, Wait, WaitInQueueRequest

# Seconds between polls: fewer if the caller wants positions more often, and more if many waits poll.
_POLL_EVERY_MIN = 0.1
_POLL_EVERY_MAX = 1.0
_POLLS_PER_SECOND_MAX = 300
# Polls within the time for which the place is kept, so that the place survives a lost answer.
_POLLS_PER_KEPT_FOR = 3
# Seconds from the end of a wait to its last poll, so that the server has noticed the end, too.
_LATE = 0.02


class PolledWait:
    """One wait, for use on the engine's thread only. Its connection sends the polls."""

    def __init__(self, number: int, asked: WaitInQueueRequest, now: float, traceparent: str) -> None:
        self.number = number
        self.traceparent = traceparent
        queued = asked.request
        has_end = queued.HasField("max_wait")
        self.request = AcquireRequest(
            name=queued.name,
            mode=queued.mode,
            permits=queued.permits,
            terms=queued.terms,
            request_id=queued.request_id,
            spend_only=queued.spend_only,
            also=queued.also,
            head_start=queued.head_start if queued.HasField("head_start") else None,
            enqueue=Wait(max_wait=queued.max_wait if has_end else None),
        )
        self.interval = seconds_of(asked.min_update_interval)
        """The shortest time between two reports of a place."""
        self.until = now + seconds_of(queued.max_wait) + _LATE if has_end else math.inf
        self.reported: Ticket | None = None
        self.reported_at = -math.inf
        self.timer: Timer | None = None
        self.is_over = False

    def has_news(self, ticket: Ticket, now: float) -> bool:
        """Whether to report this place: it has moved, and the last report is old enough."""
        if self.reported is None:
            return True
        last = self.reported
        has_moved = _place_of(ticket) != _place_of(last)
        return has_moved and now - self.reported_at >= self.interval

    def pause(self, now: float, waits: int, kept_for: float) -> float:
        """Return the seconds until the next poll, if so many waits poll and the place is kept for so long."""
        every = min(max(self.interval, _POLL_EVERY_MIN), _POLL_EVERY_MAX)
        every = min(max(every, waits / _POLLS_PER_SECOND_MAX), kept_for / _POLLS_PER_KEPT_FOR)
        pause = max(0.0, min(every, self.until - now))
        # The wait polls once at its end, and at the usual pace after that.
        self.until = math.inf if pause < every else self.until
        return pause


def _place_of(ticket: Ticket) -> tuple[object, ...]:
    return ticket.ahead, ticket.permits_ahead, ticket.pool, ticket.waits_for
