"""Durations and instants of the protocol, and what Python has for them."""

from __future__ import annotations

import math
from datetime import datetime, timezone

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

FOREVER = math.inf
"""Without end: of a wait, or of a lease."""


def duration_of(seconds: float) -> Duration:
    """Round to the microsecond, which is what the server counts in."""
    return Duration(
        seconds=(us := round(seconds * 1e6)) // 1_000_000,
        nanos=us % 1_000_000 * 1_000,
    )


def seconds_of(duration: Duration) -> float:
    """Return the seconds of a duration."""
    return duration.seconds + duration.nanos / 1e9


def instant_of(timestamp: Timestamp) -> datetime:
    """Return an instant of the database's clock, in UTC."""
    return datetime.fromtimestamp(timestamp.seconds, timezone.utc).replace(
        microsecond=timestamp.nanos // 1_000
    )
