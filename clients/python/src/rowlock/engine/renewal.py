"""The renewal of one lease by its id."""

from __future__ import annotations

import math

from rowlock.times import duration_of
from rowlock.v1.lock_service_pb2 import RenewRequest, SessionCommand


def renew_command(lease_id: str, ttl: float | None) -> SessionCommand:
    """Return the command; a ttl of None keeps the last one. Raises ValueError for a ttl without end."""
    request = RenewRequest(lease_id=lease_id)
    if ttl is not None:
        if math.isinf(ttl):
            raise ValueError("ttl: a renewal cannot make a lease endless")
        request.ttl.CopyFrom(duration_of(ttl))
    return SessionCommand(renew=request)
