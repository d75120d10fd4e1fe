"""What a lock remembers beyond its claims, and the options that change it. All times are seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, TypedDict, Union

from rowlock.reason import Reason, end_of
from rowlock.times import check_seconds, duration_of, instant_of, timestamp_of
from rowlock.v1 import lock_pb2
from rowlock.v1.lock_service_pb2 import (
    AcquireRequest,
    CaptureRequest,
    ReleaseRequest,
    UpdateLockRequest,
)


class _Kept(Enum):
    """The default of options that are not given, as None means to unset them."""

    KEPT = 0


_KEPT: Final = _Kept.KEPT


class RecordOptions(TypedDict, total=False):
    """The terms of a lease for the lock's record."""

    min_interval: float
    """After a release, the server grants nothing until this long after the lease's grant. A loss does not set it."""
    lock_delay: float
    """After a loss, the server grants nothing for this long."""
    status_if_lost: str
    """The lock's new status if the lease is lost."""
    if_status: str | Sequence[str]
    """Grant only if the lock has this status, or one of these. A lock without a record has the status ""."""


class ReleaseOptions(TypedDict, total=False):
    """What the lock remembers after a release. Options that are not given change nothing."""

    status: str
    """The lock's new status."""
    cool_down: float
    """The server grants nothing for this long after the release; it replaces the `min_interval`. 0: due at once."""
    attempts_left: int
    """How many more times the server may grant the lock."""


class LockChanges(TypedDict, total=False):
    """Changes to what a lock remembers. Options that are not given change nothing."""

    not_before: datetime | None
    """The server grants nothing before this instant of the database's clock; it needs a time zone. None: no bound."""
    not_before_in: float
    """The same, in seconds from now. Excludes `not_before`."""
    attempts_left: int | None
    """How many more times the server may grant the lock; None: no bound."""
    status: str
    """A short word of your own, at most 63 bytes."""


@dataclass(frozen=True)
class LastRunView:
    """The last lease of a lock that ended."""

    owner: str
    token: int
    granted_at: datetime | None
    ended_at: datetime | None
    end_reason: Reason | str
    """RELEASED, EXPIRED or FORCE_RELEASED."""
    status: str
    """The lock's status after its end."""


@dataclass(frozen=True)
class RecordView:
    """What a lock remembers."""

    not_before: datetime | None
    """The server grants nothing before this instant of the database's clock; None: no bound."""
    attempts_left: int | None
    """How many more times the server may grant the lock; None: no bound."""
    status: str
    last_run: LastRunView | None
    """None: no lease has ended since the record exists."""
    version: int
    """For the `if_version` of the next change."""


@dataclass(frozen=True)
class Terms:
    """The terms of a lease for the lock's record, as one value. Raises ValueError or TypeError for invalid times."""

    min_interval: float | None = None
    lock_delay: float | None = None
    status_if_lost: str | None = None
    if_status: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, seconds in (("min_interval", self.min_interval), ("lock_delay", self.lock_delay)):
            if seconds is not None:
                check_seconds(name, seconds)

    @property
    def remembers_loss(self) -> bool:
        """Whether a loss and a release leave different marks in the lock's record."""
        return any(each is not None for each in (self.min_interval, self.lock_delay, self.status_if_lost))

    @property
    def statuses(self) -> Sequence[str]:
        """The statuses of which the lock must have one; empty: any."""
        return [self.if_status] if isinstance(self.if_status, str) else self.if_status

    @property
    def are_set(self) -> bool:
        """Whether the end of the lease leaves a mark in the lock's record, provided that the lease was confirmed."""
        return self.remembers_loss or len(self.statuses) > 0

    def put_into(self, request: AskedForTerms) -> None:
        """Set the fields of the request."""
        if self.min_interval is not None:
            request.min_interval.CopyFrom(duration_of(self.min_interval))
        if self.lock_delay is not None:
            request.lock_delay.CopyFrom(duration_of(self.lock_delay))
        if self.status_if_lost is not None:
            request.status_if_lost = self.status_if_lost
        request.if_status.extend(self.statuses)


AskedForTerms = Union[AcquireRequest, CaptureRequest]  # noqa: UP007 - Evaluated at run time.


def last_words_of(
    lease_id: str,
    *,
    status: str | None = None,
    cool_down: float | None = None,
    attempts_left: int | None = None,
) -> ReleaseRequest:
    """Return the request that ends a lease: see ReleaseOptions."""
    request = ReleaseRequest(lease_id=lease_id, status=status, attempts_left=attempts_left)
    if cool_down is not None:
        check_seconds("cool_down", cool_down)
        request.cool_down.CopyFrom(duration_of(cool_down))
    return request


def update_of(
    name: str,
    if_version: int | None,
    *,
    not_before: datetime | _Kept | None = _KEPT,
    not_before_in: float | None = None,
    attempts_left: int | _Kept | None = _KEPT,
    status: str | None = None,
) -> UpdateLockRequest:
    """Return the request that changes a record: see LockChanges."""
    request = UpdateLockRequest(name=name, expected_version=if_version, status=status)
    if not_before is None:
        request.unset_not_before = True
    elif not_before is not _KEPT:
        request.not_before.CopyFrom(timestamp_of(not_before))
    if not_before_in is not None:
        check_seconds("not_before_in", not_before_in)
        request.not_before_in.CopyFrom(duration_of(not_before_in))
    if attempts_left is None:
        request.unset_attempts_left = True
    elif attempts_left is not _KEPT:
        request.attempts_left = attempts_left
    return request


def record_view(record: lock_pb2.LockRecord) -> RecordView:
    """Return the record of a lock as a plain value."""
    return RecordView(
        not_before=instant_of(record.not_before) if record.HasField("not_before") else None,
        attempts_left=record.attempts_left if record.HasField("attempts_left") else None,
        status=record.status,
        last_run=_last_run_view(record.last_run) if record.HasField("last_run") else None,
        version=record.version,
    )


def _last_run_view(run: lock_pb2.LastRun) -> LastRunView:
    return LastRunView(
        owner=run.owner,
        token=run.fencing_token,
        granted_at=instant_of(run.granted_at) if run.HasField("granted_at") else None,
        ended_at=instant_of(run.ended_at) if run.HasField("ended_at") else None,
        end_reason=end_of(run.end_reason),
        status=run.status,
    )
