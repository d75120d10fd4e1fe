"""Converts durations and instants between the protocol and Python."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Union

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

FOREVER = math.inf
"""Without end: for a wait, or for a lease."""

Seconds = Union[float, timedelta]  # noqa: UP007 - Evaluated at run time.
"""A time: a number of seconds, or a timedelta."""

# All bounds of the server are lower.
SECONDS_MAX = 1e9
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def duration_of(seconds: float) -> Duration:
    """Return a duration, rounded to the microsecond, which is the server's resolution."""
    return Duration(
        seconds=(us := round(seconds * 1e6)) // 1_000_000,
        nanos=us % 1_000_000 * 1_000,
    )


def seconds_of(duration: Duration) -> float:
    """Return the seconds of a duration."""
    return duration.seconds + duration.nanos / 1e9


def timestamp_of(instant: datetime) -> Timestamp:
    """Return an instant; raise ValueError if it has no time zone, or does not exist in it."""
    if instant.tzinfo is None:
        raise ValueError(f"{instant}: the datetime needs a time zone, as in datetime.now(timezone.utc)")
    if _is_skipped(instant):
        raise ValueError(f"{instant}: there is no such time, as the clock of its time zone skips it")
    since = instant - _EPOCH
    return Timestamp(seconds=since.days * 86_400 + since.seconds, nanos=since.microseconds * 1_000)


def _is_skipped(instant: datetime) -> bool:
    """Whether no clock of the time zone ever shows this, as when summer time begins."""
    try:
        shown = instant.astimezone(timezone.utc).astimezone(instant.tzinfo)
    except OverflowError:
        return False
    return shown.replace(tzinfo=None) != instant.replace(tzinfo=None)


def instant_of(timestamp: Timestamp) -> datetime:
    """Return an instant in UTC."""
    return datetime.fromtimestamp(timestamp.seconds, timezone.utc).replace(
        microsecond=timestamp.nanos // 1_000
    )
