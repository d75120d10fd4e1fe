"""The renewal of one lease by its id."""

from __future__ import annotations

from rowlock.checks import only, seconds
from rowlock.times import Seconds, duration_of
from rowlock.v1.lock_service_pb2 import RenewRequest, SessionCommand


def renew_command(lease_id: str, ttl: Seconds | None) -> SessionCommand:
    """Return the command; a ttl of None keeps the last one. Raises OptionError, also for FOREVER."""
    request = RenewRequest(lease_id=lease_id)
    if ttl is not None:
        request.ttl.CopyFrom(duration_of(only("ttl", ttl, seconds)))
    return SessionCommand(renew=request)
