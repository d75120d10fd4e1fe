"""What was captured, as its user in asyncio sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rowlock.aio.lock import Lock
from rowlock.engine.scope import note

if TYPE_CHECKING:
    from typing_extensions import Self


class Captured:
    """The locks that were taken, those longest due first; there may be none: `if not captured`.

    In an `async with` statement it releases those that were not released by its end, and ends with a LockLost where one of them
    was lost before its release, unless another exception ends it. Each lock can be used in an `async with` statement of its own,
    too, which then says that of this lock, and has the task in it cancelled when it is lost.
    """

    def __init__(self, locks: Sequence[Lock], retry_after: float | None) -> None:
        """Made by a client."""
        self.locks = tuple(locks)
        """All of them."""
        self.retry_after = retry_after
        """Where there are none: seconds after which another try may be worth while, as far as that is known."""

    def __repr__(self) -> str:
        return f"<rowlock.aio.Captured {list(self.locks)!r}>"

    def __iter__(self) -> Iterator[Lock]:
        return iter(self.locks)

    def __len__(self) -> int:
        return len(self.locks)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # All are on their way before the first answer is waited for.
        leaving = [lock._leave() for lock in self.locks if not lock._is_scope_over]
        losses = [loss for loss in [await left() for left in leaving] if loss]
        if losses and error is None:
            raise losses[0]
        for loss in losses:
            note(error, loss)
