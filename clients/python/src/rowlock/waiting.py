"""What a long wait waits for, as `on_waiting` gets it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rowlock.history import PoolInTheWay, QueuedBehind, WaitCause, WaitExplanation
from rowlock.options import Place


@dataclass(frozen=True)
class Waiting:
    """A wait that takes long."""

    name: str
    """The lock."""
    waited: float
    """Seconds so far."""
    place: Place
    """The place in the queue."""
    summary: str
    """What it waits for, in one line for people; empty if the server does not say."""
    causes: tuple[WaitCause, ...]
    """The same as values, the most important first."""
    held_by_you: bool
    """This client holds the lock itself: locks are not reentrant, unless both calls ask for that."""


def waiting_of(
    name: str, waited: float, place: Place, explained: WaitExplanation | None, *, held_by_you: bool
) -> Waiting:
    """Return what a wait waits for. An explanation knows the place better than the last report of it."""
    if explained is None:
        return Waiting(name, waited, place, "", (), held_by_you)
    now = replace(_place_now(place, explained.causes), waited=waited)
    return Waiting(name, waited, now, explained.summary, explained.causes, held_by_you)


def _place_now(place: Place, causes: tuple[WaitCause, ...]) -> Place:
    queued = [cause for cause in causes if isinstance(cause, QueuedBehind)]
    if queued:
        # Of several locks, the place is that where most are before it.
        most = max(queued, key=lambda cause: cause.ahead)
        where = most.lock_name or place.waits_for
        return replace(place, ahead=most.ahead, permits_ahead=most.permits_ahead, pool=None, waits_for=where)
    for cause in causes:
        if isinstance(cause, PoolInTheWay) and cause.waits_here:
            pool = cause.pool.pattern or None
            return replace(place, ahead=cause.ahead, permits_ahead=cause.permits_ahead, pool=pool)
    return replace(place, ahead=0, permits_ahead=0, pool=None)
