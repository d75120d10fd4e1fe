"""Locks, claims, limits and pools as the server reports them, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from rowlock.further_locks import ClaimedLock, claimed_locks, tokens_of
from rowlock.mode import Mode, mode_of
from rowlock.queue_rules import QueueRules, QueueRulesView, queue_rules_of, queue_rules_view
from rowlock.rates import Rate, RateView, rate_of, rate_view
from rowlock.reason import Reason, end_reason_of
from rowlock.records import RecordView, record_view
from rowlock.times import instant_of, seconds_of
from rowlock.v1 import lock_pb2, lock_service_pb2

ClaimState = Literal["waiting", "held", "ended"]
"""Whether a claim waits, is held, or is over. Only `list_claims` shows claims that are over."""


@dataclass(frozen=True)
class ClaimEndView:
    """How a claim ended."""

    reason: Reason | str
    """RELEASED, FAILED, EXPIRED, FORCE_RELEASED, LAPSED, CANCELLED, TIMED_OUT, NEVER_FITS, EXHAUSTED, STATUS_MISMATCH,
    SPENT or SUPERSEDED.
    """
    ended_at: datetime | None = None
    """When, by the database's clock; None if only the client has concluded that the lease is lost."""
    ended_by: str = ""
    """Who force-released it: a principal, or an address if the server asks nobody who they are."""
    note: str = ""
    """The reason of its forced release."""
    status: str = ""
    """The lock's status at that time, for STATUS_MISMATCH. After a run, the one that it left, if the lock has a record."""
    lock_name: str = ""
    """Of a claim for several locks: the one because of which it ended, for NEVER_FITS, EXHAUSTED and STATUS_MISMATCH."""


@dataclass(frozen=True)
class ClaimView:
    """A holder or a waiter; in `list_claims` also a claim that is over."""

    lock_name: str
    ticket_number: int
    """Identifies the claim together with the lock's name, as in `force_release`."""
    state: ClaimState
    mode: Mode
    permits: int
    owner: str
    principal: str
    """Who asked, as the server has verified it; `owner` is only what the caller says. Empty if it asks nobody."""
    labels: Mapping[str, str] = field(hash=False)
    token: int | None
    """The fencing token; None if it was never granted."""
    requested_at: datetime | None
    granted_at: datetime | None
    expires_at: datetime | None
    """When the lease ends unless it is renewed, or the place unless its waiter gives a sign of life; None: never."""
    provisional: bool = False
    """Granted, and nobody has confirmed the lease yet."""
    end: ClaimEndView | None = None
    """How it ended; None for a live claim."""
    replica: str = ""
    """The server that kept its place in the queue; empty for a claim that did not wait."""
    spend_only: bool = False
    """It only spends: see `spend`."""
    pool: str | None = None
    """The pattern of the pool at which it waits; set only by `get_lock`. None: it waits at none that the caller may see."""
    also: tuple[ClaimedLock, ...] = ()
    """The other locks of a claim for several, those that the caller may see. It waits, holds and ends at all of them together."""


@dataclass(frozen=True)
class LimitView:
    """How many permits may be held at once, and which setting says so."""

    permits: int
    source: Literal["default", "pattern", "pool", "name"]
    pattern: str | None
    """Of the pattern or the pool; "" if the caller may not see it."""
    version: int
    """For the `if_version` of the next change."""
    reason: str


@dataclass(frozen=True)
class PoolUse:
    """What is used of a pool."""

    held_permits: int
    """Permits that are taken: by holders, and by claims that wait at a wider pool."""
    holder_count: int
    """Claims that have them."""
    waiter_count: int
    """Claims that wait there."""
    draining: bool
    """More is taken than the limit allows, as somebody lowered it, or made the pool while others held."""
    counting: bool
    """The pool is new, and servers still count those who held before it was made."""
    available: int
    """Permits of its rate that may be taken now; 0 if it has none."""


@dataclass(frozen=True)
class PoolView:
    """A pool: it counts all names under a pattern together."""

    pattern: str
    """Such as `openai/*`; empty if the caller may not see it."""
    limit: LimitView | None
    """How many permits all names under it may have at once; None: any number."""
    rate: RateView | None
    """How fast they may be granted, all together; None: as fast as they become free."""
    use: PoolUse


@dataclass(frozen=True)
class LockView:
    """The current state of a lock."""

    name: str
    limit: LimitView
    held_permits: int
    holder_count: int
    waiter_count: int
    """Those that wait for the lock, or for a pool over it."""
    draining: bool
    """More permits are held than the limit allows, as somebody lowered it."""
    last_token: int
    """The fencing token given last; 0: none yet."""
    holders: tuple[ClaimView, ...]
    """The oldest holders, oldest first; the server caps the list."""
    waiters: tuple[ClaimView, ...]
    """The first waiters, in order; the server caps the list."""
    record: RecordView | None
    """What the lock remembers beyond its claims; None: it has no record."""
    rate: RateView | None = None
    """How fast it may be granted; None: as fast as it becomes free."""
    pools: tuple[PoolView, ...] = ()
    """The pools over it that the caller may see, narrow to wide; only `get_lock` returns them."""
    queue_rules: QueueRulesView | None = None
    """Who may wait; None: as many as the server allows, in order of arrival."""


@dataclass(frozen=True)
class LimitSetting:
    """What was set, a limit, a rate, queue rules or several of them, for one name, for a pattern or for a pool."""

    name: str | None
    pattern: str | None
    limit: int | None
    """None: this setting has no limit."""
    version: int
    reason: str
    rate: Rate | None = None
    """None: this setting has no rate."""
    pool: str | None = None
    use: PoolUse | None = None
    """What is used of a pool; None for names and patterns."""
    queue_rules: QueueRules | None = None
    """None: this setting has no queue rules."""


@dataclass(frozen=True)
class LimitInForce:
    """The result of a change of a limit, a rate or queue rules.

    For a pattern, the counts are sums over the locks that match it. For a pool, they are the permits of it that are taken, and
    those who wait at it.
    """

    limit: int
    version: int
    held_permits: int
    waiter_count: int
    draining: bool
    servers_behind: int
    """For a pattern, and a pool that was made or removed: how many servers may still grant by the old limit; usually 0."""
    rate: Rate | None = None
    """The rate in force; None: there is none."""
    no_limit: bool = False
    """The pool has no limit: `limit` is 0 and means nothing."""
    counting: bool = False
    """The pool is new: servers still count those who held before, who come on top of `held_permits`."""
    queue_rules: QueueRules | None = None
    """The queue rules in force; None: there are none."""


@dataclass(frozen=True)
class ForceReleased:
    """The result of a forced release."""

    ended: tuple[ClaimView, ...]
    """The ended claims, each with its end."""
    remaining: int
    """Holders that are left, as one call ends at most 500; repeat the call while it is above 0."""


@dataclass(frozen=True)
class RenewedLease:
    """The result of a renewal by id."""

    lease_id: str
    name: str
    token: int
    ttl: float | None
    """Seconds left; None: without end."""
    tokens: Mapping[str, int] = field(hash=False)
    """The fencing token of each lock of its claim, by its name."""


@dataclass(frozen=True)
class HandedOver:
    """What another process needs to take over a lock."""

    lease_id: str
    """The id of the lease. It is a secret: anybody who knows it can renew and release the lease."""
    token: int
    tokens: Mapping[str, int] = field(hash=False)
    """The fencing token of each lock of its claim, by its name."""


def claim_end_view(end: lock_pb2.ClaimEnd) -> ClaimEndView:
    """Return the end of a claim as a plain value."""
    return ClaimEndView(
        reason=end_reason_of(end.reason),
        ended_at=instant_of(end.ended_at) if end.HasField("ended_at") else None,
        ended_by=end.ended_by,
        note=end.note,
        status=end.status,
        lock_name=end.lock_name,
    )


def claim_view(claim: lock_pb2.Claim) -> ClaimView:
    """Return a claim as a plain value."""
    state: ClaimState = "waiting"
    if claim.state == lock_pb2.CLAIM_STATE_HELD:
        state = "held"
    elif claim.state == lock_pb2.CLAIM_STATE_ENDED:
        state = "ended"
    is_granted = state == "held" or (state == "ended" and claim.fencing_token != 0)
    return ClaimView(
        lock_name=claim.lock_name,
        ticket_number=claim.ticket_number,
        state=state,
        mode=mode_of(claim.mode),
        permits=claim.permits,
        owner=claim.owner,
        principal=claim.principal,
        labels=dict(claim.labels),
        token=claim.fencing_token if is_granted else None,
        requested_at=instant_of(claim.requested_at) if claim.HasField("requested_at") else None,
        granted_at=instant_of(claim.granted_at) if claim.HasField("granted_at") else None,
        expires_at=instant_of(claim.expires_at) if claim.HasField("expires_at") else None,
        provisional=claim.provisional,
        end=claim_end_view(claim.end) if claim.HasField("end") else None,
        replica=claim.replica,
        spend_only=claim.spend_only,
        pool=claim.pool or None,
        also=claimed_locks(claim.also),
    )


def limit_view(limit: lock_pb2.Limit) -> LimitView:
    """Return a limit and its source as a plain value."""
    source: Literal["default", "pattern", "pool", "name"] = "default"
    if limit.source == lock_pb2.LIMIT_SOURCE_PATTERN:
        source = "pattern"
    elif limit.source == lock_pb2.LIMIT_SOURCE_POOL:
        source = "pool"
    elif limit.source == lock_pb2.LIMIT_SOURCE_NAME:
        source = "name"
    pattern = limit.pattern if source in ("pattern", "pool") else None
    return LimitView(limit.permits, source, pattern, limit.version, limit.reason)


def pool_use(use: lock_pb2.PoolUse) -> PoolUse:
    """Return what is used of a pool as a plain value."""
    return PoolUse(
        held_permits=use.held_permits,
        holder_count=use.holder_count,
        waiter_count=use.waiter_count,
        draining=use.draining,
        counting=use.counting,
        available=use.available,
    )


def pool_view(pool: lock_pb2.PoolInForce | lock_pb2.PoolInTheWay) -> PoolView:
    """Return a pool as a plain value. One in the way has no pattern but that of its limit or its rate."""
    limit = limit_view(pool.limit) if pool.HasField("limit") else None
    rate = rate_view(pool.rate, is_shown=True) if pool.HasField("rate") else None
    return PoolView(pool.limit.pattern or pool.rate.pattern, limit, rate, pool_use(pool.use))


def lock_view(lock: lock_pb2.Lock) -> LockView:
    """Return a lock, with its first holders and waiters, as a plain value."""
    return LockView(
        name=lock.name,
        limit=limit_view(lock.limit),
        held_permits=lock.held_permits,
        holder_count=lock.holder_count,
        waiter_count=lock.waiter_count,
        draining=lock.draining,
        last_token=lock.last_fencing_token,
        holders=tuple(map(claim_view, lock.holders)),
        waiters=tuple(map(claim_view, lock.waiters)),
        record=record_view(lock.record) if lock.HasField("record") else None,
        rate=rate_view(lock.rate, is_shown=True) if lock.HasField("rate") else None,
        pools=tuple(map(pool_view, lock.pools)),
        queue_rules=queue_rules_view(lock.queue_rules) if lock.HasField("queue_rules") else None,
    )


def limit_setting(setting: lock_service_pb2.LimitSetting) -> LimitSetting:
    """Return a setting of a limit or a rate as a plain value."""
    return LimitSetting(
        name=setting.name if setting.HasField("name") else None,
        pattern=setting.pattern if setting.HasField("pattern") else None,
        limit=None if setting.rate_only else setting.limit,
        version=setting.version,
        reason=setting.reason,
        rate=rate_of(setting.rate) if setting.HasField("rate") else None,
        pool=setting.pool if setting.HasField("pool") else None,
        use=pool_use(setting.use) if setting.HasField("use") else None,
        queue_rules=queue_rules_of(setting.queue_rules) if setting.HasField("queue_rules") else None,
    )


def limit_in_force(answer: lock_service_pb2.SetLimitResponse) -> LimitInForce:
    """Return the result of a change of a limit or a rate as a plain value."""
    return LimitInForce(
        limit=answer.limit,
        version=answer.version,
        held_permits=answer.held_permits,
        waiter_count=answer.waiter_count,
        draining=answer.draining,
        servers_behind=answer.servers_behind,
        rate=rate_of(answer.rate) if answer.HasField("rate") else None,
        no_limit=answer.no_limit,
        counting=answer.counting,
        queue_rules=queue_rules_of(answer.queue_rules) if answer.HasField("queue_rules") else None,
    )


def renewed_lease(lease: lock_pb2.Lease) -> RenewedLease:
    """Return the result of a renewal as a plain value."""
    ttl = seconds_of(lease.ttl) if lease.HasField("ttl") else None
    return RenewedLease(lease.lease_id, lease.lock_name, lease.fencing_token, ttl, tokens_of(lease))
