"""What the server shows of locks, claims and limits, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from rowlock.modes import Mode, mode_of
from rowlock.records import RecordView, record_view
from rowlock.times import instant_of, seconds_of
from rowlock.v1 import lock_pb2, lock_service_pb2


@dataclass(frozen=True)
class ClaimView:
    """One who holds or waits."""

    lock_name: str
    ticket_number: int
    """With the lock's name it names the claim, in `force_release`."""
    state: Literal["waiting", "held"]
    mode: Mode
    permits: int
    owner: str
    labels: Mapping[str, str] = field(hash=False)
    token: int | None
    """The fencing token of one who holds."""
    requested_at: datetime | None
    granted_at: datetime | None
    expires_at: datetime | None
    """When the lease ends if it is not renewed, or the place if there is no sign of life; None: without end."""


@dataclass(frozen=True)
class LimitView:
    """How many permits may be held at once, and why that many."""

    limit: int
    source: Literal["default", "pattern", "name"]
    pattern: str | None
    version: int
    """For the `if_version` of the next change."""
    reason: str


@dataclass(frozen=True)
class LockView:
    """A lock as it stands."""

    name: str
    limit: LimitView
    held_permits: int
    holder_count: int
    waiting: int
    draining: bool
    """More is held than the limit allows, as it was lowered."""
    last_token: int
    """Given last; 0 when none was."""
    holders: tuple[ClaimView, ...]
    """Oldest first, and not all of many."""
    waiters: tuple[ClaimView, ...]
    """The first ones."""
    record: RecordView | None
    """What it remembers beyond its claims; None: nothing."""


@dataclass(frozen=True)
class LimitSetting:
    """A limit that was set, for one name or for a pattern."""

    name: str | None
    pattern: str | None
    limit: int
    version: int
    reason: str


@dataclass(frozen=True)
class LimitInForce:
    """What is in force after a change."""

    limit: int
    version: int
    held_permits: int
    waiting: int
    draining: bool
    servers_behind: int
    """For a pattern: how many servers may still grant by the limit before; usually 0."""


@dataclass(frozen=True)
class ForceReleased:
    """What was ended by an operator."""

    ended: tuple[ClaimView, ...]
    """As it stood before."""
    remaining: int
    """Holders that are left, as one call ends 500 at the most."""


@dataclass(frozen=True)
class RenewedLease:
    """A lease that was renewed by its id."""

    lease_id: str
    name: str
    token: int
    ttl: float | None
    """Seconds left; None: without end."""


@dataclass(frozen=True)
class HandedOver:
    """What another process needs to go on with a lock."""

    lease_id: str
    """Secret: whoever knows it can renew and release the lease."""
    token: int


def claim_view(claim: lock_pb2.Claim) -> ClaimView:
    """Return a claim of a listing."""
    is_held = claim.state == lock_pb2.CLAIM_STATE_HELD
    return ClaimView(
        lock_name=claim.lock_name,
        ticket_number=claim.ticket_number,
        state="held" if is_held else "waiting",
        mode=mode_of(claim.mode),
        permits=claim.permits,
        owner=claim.owner,
        labels=dict(claim.labels),
        token=claim.fencing_token if is_held else None,
        requested_at=instant_of(claim.requested_at) if claim.HasField("requested_at") else None,
        granted_at=instant_of(claim.granted_at) if claim.HasField("granted_at") else None,
        expires_at=instant_of(claim.expires_at) if claim.HasField("expires_at") else None,
    )


def limit_view(limit: lock_pb2.Limit) -> LimitView:
    """Return a limit, with where it comes from."""
    source: Literal["default", "pattern", "name"] = "default"
    if limit.source == lock_pb2.LIMIT_SOURCE_PATTERN:
        source = "pattern"
    elif limit.source == lock_pb2.LIMIT_SOURCE_NAME:
        source = "name"
    pattern = limit.pattern if source == "pattern" else None
    return LimitView(limit.limit, source, pattern, limit.version, limit.reason)


def lock_view(lock: lock_pb2.Lock) -> LockView:
    """Return a lock with its holders and first waiters."""
    return LockView(
        name=lock.name,
        limit=limit_view(lock.limit),
        held_permits=lock.held_permits,
        holder_count=lock.holder_count,
        waiting=lock.waiting,
        draining=lock.draining,
        last_token=lock.last_fencing_token,
        holders=tuple(map(claim_view, lock.holders)),
        waiters=tuple(map(claim_view, lock.waiters)),
        record=record_view(lock.record) if lock.HasField("record") else None,
    )


def limit_setting(setting: lock_service_pb2.LimitSetting) -> LimitSetting:
    """Return a limit that was set."""
    return LimitSetting(
        name=setting.name if setting.HasField("name") else None,
        pattern=setting.pattern if setting.HasField("pattern") else None,
        limit=setting.limit,
        version=setting.version,
        reason=setting.reason,
    )


def limit_in_force(answer: lock_service_pb2.SetLimitResponse) -> LimitInForce:
    """Return what is in force after a change."""
    return LimitInForce(
        limit=answer.limit,
        version=answer.version,
        held_permits=answer.held_permits,
        waiting=answer.waiting,
        draining=answer.draining,
        servers_behind=answer.servers_behind,
    )


def renewed_lease(lease: lock_pb2.Lease) -> RenewedLease:
    """Return a lease that was renewed by its id."""
    ttl = seconds_of(lease.ttl) if lease.HasField("ttl") else None
    return RenewedLease(lease.lease_id, lease.lock_name, lease.fencing_token, ttl)
