"""The interface between the requests for leases and the component that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from rowlock.engine.held_lease import HeldLease
from rowlock.records import Terms
from rowlock.v1.lock_service_pb2 import AcquireRequest


@dataclass(frozen=True)
class OwnHold:
    """A lock that this client holds itself while it asks for it."""

    name: str
    held_for: float
    """Seconds."""


class Holder(Protocol):
    """Holds leases, and gives back those that nobody wants."""

    def find(self, lease_id: str) -> HeldLease | None:
        """Return a lease that is already held, for example when a call repeats its request id."""

    def own_hold(self, lock_names: Sequence[str]) -> OwnHold | None:
        """Return which of these locks this client holds itself, the first if there are several; None: it holds none."""

    def keep(self, lease: HeldLease) -> None:
        """Hold and renew a lease from now on."""

    def let_go(self, lease: HeldLease) -> None:
        """Give back a lease that is held, but that no caller received."""

    def give_back(self, claim_id: str, terms: Terms, *, is_endless: bool = False) -> None:
        """Give back a claim that nobody wants any more, unless another call holds it."""

    def give_back_unheard(self, request: AcquireRequest) -> None:
        """Give back the lease without end that a server may have granted for this request."""
