# Made from aio/captured.py by scripts/threads.py. Change that file instead.
"""The result of a capture, as its user sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rowlock.lock import Lock
from rowlock.engine.scope import note

if TYPE_CHECKING:
    from typing_extensions import Self


class Captured:
    """The captured locks, longest due first. It may be empty: test with `if not captured`.

    At the end of a `with` statement, it releases the locks that are not yet released. If one of them was
    lost before its release, the statement raises LockLost; if another exception ends the statement, that
    exception goes on, with a note. A lock can also have its own `with` statement, which then raises the
    LockLost of this lock.
    """

    def __init__(self, locks: Sequence[Lock], retry_after: float | None) -> None:
        """For the client only: call `capture` instead."""
        self.locks = tuple(locks)
        """All captured locks, also those released since."""
        self.retry_after = retry_after
        """If no lock was captured: seconds until another try may succeed, a hint; None if the server does not know."""

    def __repr__(self) -> str:
        return f"<rowlock.Captured {list(self.locks)!r}>"

    def __iter__(self) -> Iterator[Lock]:
        return iter(self.locks)

    def __len__(self) -> int:
        return len(self.locks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Start all releases before waiting for the first answer.
        leaving = [lock._leave() for lock in self.locks if not lock._is_scope_over]
        losses = [loss for loss in [left() for left in leaving] if loss]
        if losses and error is None:
            raise losses[0]
        for loss in losses:
            note(error, loss)
