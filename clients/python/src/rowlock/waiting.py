"""What a long wait waits for, as `on_waiting` gets it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rowlock.history import QueuedBehind, WaitCause, WaitExplanation
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
    behind = [each for each in explained.causes if isinstance(each, QueuedBehind)]
    ahead, permits = (behind[0].ahead, behind[0].permits_ahead) if behind else (0, 0)
    now = replace(place, ahead=ahead, permits_ahead=permits, waited=waited)
    return Waiting(name, waited, now, explained.summary, explained.causes, held_by_you)
