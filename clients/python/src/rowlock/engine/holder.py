"""The seam between what asks for leases and what holds them."""

from __future__ import annotations

from typing import Protocol

from rowlock.engine.held_lease import HeldLease
from rowlock.records import Terms
from rowlock.v1.lock_service_pb2 import AcquireRequest


class Holder(Protocol):
    """Who keeps the leases."""

    def find(self, lease_id: str) -> HeldLease | None:
        """Return one that is held already, as when it is asked for again under its request id."""

    def keep(self, lease: HeldLease) -> None:
        """Hold it from now on."""

    def let_go(self, lease: HeldLease) -> None:
        """End one that was kept and that nobody was told of."""

    def give_back(self, claim_id: str, terms: Terms, *, is_endless: bool = False) -> None:
        """End a claim that nobody wants any more, unless another call has it."""

    def give_back_unheard(self, request: AcquireRequest) -> None:
        """End what this request for a lease without end may have been granted."""
