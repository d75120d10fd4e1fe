"""The result of a lock's scope: how its end reports a loss."""

from __future__ import annotations

from rowlock.engine.held_lease import HeldLease
from rowlock.engine.held_locks import Released
from rowlock.errors import LockLost, RowlockError, ended_before_release
from rowlock.reason import Reason


def loss_of(lease: HeldLease) -> LockLost | None:
    """Return how the lease was lost; None if it is held or was given back."""
    lease.look()
    return lease.loss if isinstance(lease.loss, LockLost) else None


def loss_by(lease: HeldLease, released: Released) -> LockLost | None:
    """Return a loss that only the answer to the release reveals, if any."""
    if not released.had_ended:
        return None
    return ended_before_release(lease.lock_name)


def is_harmless(error: RowlockError) -> bool:
    """Whether a scope may ignore this failure of its release, as the lease ends by itself."""
    return error.code == "UNAVAILABLE" or error.reason == Reason.CLOSED


def note(error: BaseException | None, loss: LockLost | None) -> None:
    """Add to the exception that ends a scope a note that the lock was lost, too (Python 3.11 and newer)."""
    if error is not None and loss is not None and hasattr(error, "add_note"):
        error.add_note(f"The lock was also lost: {loss.message}")
