"""Rates: how fast a lock may be granted, and what a request that only spends has taken."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from rowlock.checks import checked, count_from, refuse, seconds
from rowlock.times import Seconds, duration_of, instant_of, seconds_of
from rowlock.v1 import lock_pb2

_KINDS = {"permits": count_from(1), "per": seconds, "burst": count_from(1)}


@dataclass(frozen=True, init=False)
class Rate:
    """How fast a lock may be granted.

    Each grant takes as many permits of the rate as it has, and they come back with time.
    """

    permits: int
    """Permits for each `per`."""
    per: float
    """Seconds, from one to 24 days."""
    burst: int
    """Permits that may be taken at once after a pause; 1 spaces grants evenly."""

    def __init__(self, permits: int, per: Seconds, burst: int | None = None) -> None:
        """A burst of None: as many as `permits`. Raises OptionError for what no request can hold."""
        faults = [f"{name}: set it" for name, value in (("permits", permits), ("per", per)) if value is None]
        right = checked({"permits": permits, "per": per, "burst": burst}, _KINDS, faults)
        refuse(faults)
        # The only way to set the fields of a frozen dataclass.
        object.__setattr__(self, "permits", right["permits"])
        object.__setattr__(self, "per", right["per"])
        object.__setattr__(self, "burst", right.get("burst", right["permits"]))


@dataclass(frozen=True)
class RateView:
    """The rate of a lock, and which setting says so."""

    rate: Rate
    source: Literal["pattern", "pool", "name"]
    pattern: str | None
    """Of the pattern or the pool; "" if the caller may not see it."""
    version: int
    """For the `if_version` of the next change; a limit and a rate of one setting share it."""
    reason: str
    available: int | None = None
    """Permits that may be taken now; set only where locks and pools are shown."""


@dataclass(frozen=True)
class Spent:
    """What a request has spent. It has ended: there is nothing to renew or release."""

    name: str
    """The lock."""
    permits: int
    """The permits that it took of the rate."""
    token: int
    """The fencing token, as of a lock."""
    spent_at: datetime
    """When it was granted, by the database's clock."""
    request_id: str
    """Another `spend` with this request id returns the same, and takes nothing."""


def rate_message(rate: Rate) -> lock_pb2.Rate:
    """Return a rate as the protocol has it."""
    return lock_pb2.Rate(permits=rate.permits, per=duration_of(rate.per), burst=rate.burst)


def rate_of(rate: lock_pb2.Rate) -> Rate:
    """Return a rate as a plain value."""
    return Rate(rate.permits, seconds_of(rate.per), rate.burst or None)


def rate_view(in_force: lock_pb2.RateInForce, *, is_shown: bool = False) -> RateView:
    """Return a rate and its source as a plain value. `is_shown`: the message says how many permits may be taken now."""
    source: Literal["pattern", "pool", "name"] = "name"
    if in_force.source == lock_pb2.LIMIT_SOURCE_PATTERN:
        source = "pattern"
    elif in_force.source == lock_pb2.LIMIT_SOURCE_POOL:
        source = "pool"
    return RateView(
        rate_of(in_force.rate),
        source,
        None if source == "name" else in_force.pattern,
        in_force.version,
        in_force.reason,
        in_force.available if is_shown else None,
    )


def spent_view(spent: lock_pb2.Spent) -> Spent:
    """Return what was spent as a plain value."""
    return Spent(
        spent.lock_name, spent.permits, spent.fencing_token, instant_of(spent.spent_at), spent.request_id
    )
