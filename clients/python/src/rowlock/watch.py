"""What a watch of locks reports."""

from __future__ import annotations

from dataclasses import dataclass

from rowlock.views import LockView


@dataclass(frozen=True)
class WatchUpdate:
    """A part of a snapshot, or the changes since the snapshot."""

    began_anew: bool
    """It begins a new snapshot, which replaces all updates before it, as the watch fell behind or continues over another
    connection. Not set in the first update.
    """
    locks: tuple[LockView, ...]
    """The current states of locks, with at most 10 holders and 10 waiters each."""
    deleted: tuple[str, ...]
    """The names of locks that are gone; there may be names that no update had before."""
    complete: bool
    """The snapshot is complete with this update: other locks do not exist. Set once for each snapshot."""
