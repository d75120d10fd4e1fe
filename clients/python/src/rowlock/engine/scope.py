"""What a lock's scope comes to, when it is left."""

from __future__ import annotations

from rowlock.engine.held_lease import HeldLease
from rowlock.engine.held_leases import Released
from rowlock.errors import LockLost, RowlockError
from rowlock.reasons import Reason


def loss_of(lease: HeldLease) -> LockLost | None:
    """Return how it was lost, if it was, and was not given back."""
    lease.look()
    return lease.loss if isinstance(lease.loss, LockLost) else None


def loss_by(lease: HeldLease, released: Released) -> LockLost | None:
    """Return that it was lost unseen, if its release says so."""
    if not released.had_ended:
        return None
    message = (
        f'The lease on "{lease.lock_name}" had ended when it was released: others may have held the lock.'
    )
    return LockLost(Reason.LEASE_LOST, "FAILED_PRECONDITION", message)


def is_harmless(error: RowlockError) -> bool:
    """Whether a release that has failed so can be left to the end of the lease."""
    return error.code == "UNAVAILABLE" or error.reason == Reason.CLOSED


def note(error: BaseException | None, loss: LockLost | None) -> None:
    """Say beside what has ended the scope that the lock was lost, too."""
    if error is not None and loss is not None and hasattr(error, "add_note"):
        error.add_note(f"Besides, the lock was lost: {loss.message}")
