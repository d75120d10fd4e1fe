"""What happened to locks, and why a claim waits, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypedDict, TypeVar, cast

from rowlock.changes import ChangeKind
from rowlock.rates import RateView, rate_view
from rowlock.reason import END_REASON_PREFIX, Reason
from rowlock.times import instant_of, seconds_of, timestamp_of
from rowlock.v1 import lock_pb2
from rowlock.v1.lock_pb2 import (
    CHANGE_KIND_FORCED_RELEASE,
    CHANGE_KIND_LIMIT,
    CHANGE_KIND_POLICY,
    CHANGE_KIND_RECORD,
    CLAIM_STATE_ENDED,
    CLAIM_STATE_HELD,
    CLAIM_STATE_WAITING,
    END_REASON_UNSPECIFIED,
)
from rowlock.v1.lock_service_pb2 import (
    ClaimReference,
    ExplainWaitRequest,
    ExplainWaitResponse,
    HeldAt,
    ListChangesRequest,
    ListChangesResponse,
    ListClaimsRequest,
    ListClaimsResponse,
)
from rowlock.views import (
    ClaimState,
    ClaimView,
    LimitView,
    LockView,
    PoolView,
    claim_view,
    limit_view,
    lock_view,
    pool_view,
)

_KINDS: dict[str, lock_pb2.ChangeKind] = {
    "limit": CHANGE_KIND_LIMIT,
    "record": CHANGE_KIND_RECORD,
    "forced release": CHANGE_KIND_FORCED_RELEASE,
    "policy": CHANGE_KIND_POLICY,
}
_STATES: dict[str, lock_pb2.ClaimState] = {
    "waiting": CLAIM_STATE_WAITING,
    "held": CLAIM_STATE_HELD,
    "ended": CLAIM_STATE_ENDED,
}
_END_REASONS: dict[str, lock_pb2.EndReason] = {
    name.removeprefix(END_REASON_PREFIX): cast("lock_pb2.EndReason", value)
    for name, value in lock_pb2.EndReason.items()
    if value != END_REASON_UNSPECIFIED
}
_Value = TypeVar("_Value")


class ListClaimsOptions(TypedDict, total=False):
    """Which claims to list. What is left out does not restrict."""

    name: str
    """The lock that they belong to; not with `prefix`."""
    prefix: str
    """What the names of their locks begin with."""
    owner: str
    principal: str
    """Who asked for them, as the server has verified."""
    labels: Mapping[str, str]
    """Labels that all of them have."""
    states: Iterable[ClaimState]
    end_reasons: Iterable[Reason | str]
    """How they may have ended: RELEASED, EXPIRED, FORCE_RELEASED, ...; live claims are then left out."""
    since: datetime
    """Ended claims that ended at this time or later."""
    until: datetime
    """Ended claims that ended before this time; if it lies in the past, live claims are left out."""
    held_at: datetime
    """Claims that held the lock `name` at this time. It needs the `name`."""
    page_size: int
    """How many to ask for at once, at most 1,000; 0 means 100."""
    complete_from: Callable[[datetime], object]
    """Called with each page, before its items. What is earlier than this time may have been forgotten, so that finding
    nothing then proves nothing."""


class ListChangesOptions(TypedDict, total=False):
    """Which changes to list. What is left out does not restrict."""

    name: str
    """The lock that they changed, itself or by a pattern or a pool that matches its name; not with `prefix`."""
    prefix: str
    """What their names, patterns and pools begin with."""
    kinds: Iterable[ChangeKind]
    since: datetime
    """Changes at this time or later."""
    until: datetime
    """Changes before this time."""
    changed_by: str
    """Who made them: a principal or an address."""
    page_size: int
    """How many to ask for at once, at most 1,000; 0 means 100."""
    complete_from: Callable[[datetime], object]
    """Called with each page, before its items. What is earlier than this time may have been forgotten, so that finding
    nothing then proves nothing."""


@dataclass(frozen=True, kw_only=True)
class _Cause:
    """What each cause has."""

    lock_name: str | None = None
    """Of a claim for several locks: the one with this cause; None: it is for one lock, or the cause is a pool."""


@dataclass(frozen=True)
class HeldByOthers(_Cause):
    """Others hold what the claim needs."""

    holders: tuple[ClaimView, ...]
    """The oldest, at most 10; none if the caller may not see them."""
    holder_count: int
    first_ends_at: datetime | None
    """When the first of these leases ends unless it is renewed; None: none of them has an end."""


@dataclass(frozen=True)
class QueuedBehind(_Cause):
    """Others wait before it."""

    ahead: int
    permits_ahead: int
    first: tuple[ClaimView, ...]
    """The first of them, at most 10; none if the caller may not see them."""


@dataclass(frozen=True)
class LimitInTheWay(_Cause):
    """The limit is 0, or smaller than what is held or asked for."""

    limit: LimitView
    set_at: datetime | None
    """None if the history no longer has that."""
    set_by: str | None


@dataclass(frozen=True)
class RateInTheWay(_Cause):
    """The rate does not allow the grant yet, or its burst is too small for the claim."""

    rate: RateView
    until: datetime | None
    """When it allows the grant, if those that wait before it are granted first; None: never."""


@dataclass(frozen=True)
class PoolInTheWay(_Cause):
    """A pool over the lock has no room, or its rate does not allow the grant."""

    pool: PoolView
    waits_here: bool
    """It waits there now. If not, it has another lock or pool to pass before."""
    ahead: int
    """Waiters there before it, or all if it does not wait there."""
    permits_ahead: int
    rate_until: datetime | None
    """When the rate of the pool allows the grant; None: the rate is not in the way."""


@dataclass(frozen=True)
class NotBefore(_Cause):
    """Nothing is granted before this time."""

    until: datetime


@dataclass(frozen=True)
class Exhausted(_Cause):
    """The lock's record has no attempts left."""


@dataclass(frozen=True)
class UnwantedStatus(_Cause):
    """The lock's status is none of those that the claim wants."""

    status: str


@dataclass(frozen=True)
class FailedOver(_Cause):
    """The database has failed over, and nothing is granted before this time."""

    until: datetime


@dataclass(frozen=True)
class RowsHeld(_Cause):
    """Another transaction holds the lock's rows in the database. What is None is not known."""

    connection_id: int | None
    user: str | None
    held_for: float | None
    """Seconds."""


WaitCause = (
    HeldByOthers
    | QueuedBehind
    | LimitInTheWay
    | RateInTheWay
    | PoolInTheWay
    | NotBefore
    | Exhausted
    | UnwantedStatus
    | FailedOver
    | RowsHeld
)
"""One cause why a lock is not granted."""


@dataclass(frozen=True)
class WaitEstimate:
    """How long a wait is likely to last from now on, in seconds, judged by recent leases of the lock."""

    median: float
    low: float
    """In one case of ten the wait is over by then."""
    high: float
    """In nine cases of ten the wait is over by then."""
    leases: int
    """How many leases this is based on."""


@dataclass(frozen=True)
class WaitExplanation:
    """Why a claim waits, or why a request would have to."""

    lock: LockView
    """Without holders, waiters and record: the causes have what matters."""
    claim: ClaimView | None
    """The waiter; None for a request that would come now."""
    causes: tuple[WaitCause, ...]
    """The most important first. None: the request would be granted at once, or the waiter is about to be."""
    summary: str
    """The same in one line for people. Its wording may change."""
    estimate: WaitEstimate | None
    """None: too little is known."""


def report_begin(
    page: ListClaimsResponse | ListChangesResponse, options: ListClaimsOptions | ListChangesOptions
) -> None:
    """Report where history begins; servers of earlier versions do not say."""
    report = options.get("complete_from")
    if report is not None and page.HasField("complete_from"):
        report(instant_of(page.complete_from))


def claims_request(options: ListClaimsOptions) -> ListClaimsRequest:
    """Return the request for the first page of claims."""
    request = ListClaimsRequest(
        owner=options.get("owner", ""),
        principal=options.get("principal", ""),
        labels=options.get("labels"),
        page_size=options.get("page_size", 0),
    )
    request.states.extend(_value("states", _STATES, state) for state in options.get("states", ()))
    request.end_reasons.extend(
        _value("end_reasons", _END_REASONS, str(reason)) for reason in options.get("end_reasons", ())
    )
    _set_locks(request, options)
    if (held_at := options.get("held_at")) is not None:
        if not request.lock_name:
            raise ValueError("held_at: needs the name of the lock")
        request.held_at.CopyFrom(HeldAt(lock_name=request.lock_name, at=timestamp_of(held_at)))
    _set_times(request, options)
    return request


def changes_request(options: ListChangesOptions) -> ListChangesRequest:
    """Return the request for the first page of changes."""
    request = ListChangesRequest(
        changed_by=options.get("changed_by", ""),
        page_size=options.get("page_size", 0),
    )
    _set_locks(request, options)
    request.kinds.extend(_value("kinds", _KINDS, kind) for kind in options.get("kinds", ()))
    _set_times(request, options)
    return request


def explain_request(name: str | None, ticket_number: int | None, ticket_id: str | None) -> ExplainWaitRequest:
    """Return the request for an explanation."""
    if (name is None) == (ticket_id is None):
        raise ValueError("name, ticket_id: set exactly one of them")
    if name is None and ticket_number is not None:
        raise ValueError("ticket_number: needs the name of the lock")
    if ticket_id is not None:
        return ExplainWaitRequest(ticket_id=ticket_id)
    if ticket_number is not None:
        return ExplainWaitRequest(claim=ClaimReference(lock_name=name, ticket_number=ticket_number))
    return ExplainWaitRequest(name=name)


def explanation_view(explained: ExplainWaitResponse) -> WaitExplanation:
    """Return an explanation as a plain value."""
    estimate = explained.estimate
    return WaitExplanation(
        lock=lock_view(explained.lock),
        claim=claim_view(explained.claim) if explained.HasField("claim") else None,
        causes=tuple(
            replace(view, lock_name=cause.lock_name or None)
            for cause in explained.causes
            if (view := _cause_view(cause)) is not None
        ),
        summary=explained.summary,
        estimate=WaitEstimate(
            median=seconds_of(estimate.median),
            low=seconds_of(estimate.low),
            high=seconds_of(estimate.high),
            leases=estimate.leases,
        )
        if explained.HasField("estimate")
        else None,
    )


def _cause_view(cause: lock_pb2.WaitCause) -> WaitCause | None:
    """Return None for a cause that a newer server knows and this client does not: the summary has it."""
    match cause.WhichOneof("cause"):
        case "held":
            held = cause.held
            ends = instant_of(held.first_ends_at) if held.HasField("first_ends_at") else None
            return HeldByOthers(tuple(map(claim_view, held.holders)), held.holder_count, ends)
        case "queued":
            queued = cause.queued
            return QueuedBehind(queued.ahead, queued.permits_ahead, tuple(map(claim_view, queued.first)))
        case "limit":
            limit = cause.limit
            set_at = instant_of(limit.set_at) if limit.HasField("set_at") else None
            return LimitInTheWay(limit_view(limit.limit), set_at, limit.set_by or None)
        case "rate":
            rate = cause.rate
            until = instant_of(rate.until) if rate.HasField("until") else None
            return RateInTheWay(rate_view(rate.rate), until)
        case "pool":
            pool = cause.pool
            rate_until = instant_of(pool.rate_until) if pool.HasField("rate_until") else None
            return PoolInTheWay(pool_view(pool), pool.waits_here, pool.ahead, pool.permits_ahead, rate_until)
        case "not_before":
            return NotBefore(instant_of(cause.not_before))
        case "exhausted":
            return Exhausted()
        case "status":
            return UnwantedStatus(cause.status)
        case "failed_over_until":
            return FailedOver(instant_of(cause.failed_over_until))
        case "rows":
            rows = cause.rows
            held_for = seconds_of(rows.held_for) if rows.HasField("held_for") else None
            return RowsHeld(rows.connection_id or None, rows.user or None, held_for)
        case _:
            return None


def _set_locks(
    request: ListClaimsRequest | ListChangesRequest, options: ListClaimsOptions | ListChangesOptions
) -> None:
    """Set which locks; an empty name or prefix counts as not given. A request holds only one of them."""
    name, prefix = options.get("name"), options.get("prefix")
    if name and prefix:
        raise ValueError("name, prefix: set only one of them")
    if name:
        request.lock_name = name
    elif prefix:
        request.prefix = prefix


def _set_times(
    request: ListClaimsRequest | ListChangesRequest, options: ListClaimsOptions | ListChangesOptions
) -> None:
    if (since := options.get("since")) is not None:
        getattr(request, "from").CopyFrom(timestamp_of(since))
    if (until := options.get("until")) is not None:
        request.until.CopyFrom(timestamp_of(until))


def _value(option: str, values: Mapping[str, _Value], word: str) -> _Value:
    if word not in values:
        raise ValueError(f"{option}: {word!r} must be one of {', '.join(values)}")
    return values[word]
