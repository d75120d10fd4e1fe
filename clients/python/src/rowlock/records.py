"""What a lock remembers beyond its claims, as plain values; and how a request says what it shall remember.

All times are seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, TypedDict, Union

from rowlock.reasons import Reason, end_of
from rowlock.times import check_seconds, duration_of, instant_of, timestamp_of
from rowlock.v1 import lock_pb2
from rowlock.v1.lock_service_pb2 import (
    AcquireRequest,
    CaptureRequest,
    ReleaseRequest,
    UpdateLockRequest,
)


class _Kept(Enum):
    """Stands for what is not named, as None takes away what there is."""

    KEPT = 0


_KEPT: Final = _Kept.KEPT


class RecordOptions(TypedDict, total=False):
    """What a lease asks of the lock's record."""

    min_interval: float
    """When it is released, nothing is granted until so long after its grant. A lease that is lost does not set it."""
    lock_delay: float
    """When it is lost, nothing is granted for so long after it."""
    status_if_lost: str
    """The lock's status when it is lost."""
    if_status: str | Sequence[str]
    """Granted only where the lock has this status, or one of these; "" is that of a lock without a record, too."""


class ReleaseOptions(TypedDict, total=False):
    """What the lock remembers when a lease is given back."""

    status: str
    """The lock's status from now on."""
    cool_down: float
    """Nothing is granted for so long from now on, instead of until the `min_interval` is over; 0: at once."""
    attempts_left: int
    """How many more times it may be granted."""


class LockChanges(TypedDict, total=False):
    """What to set of what a lock remembers; what is not named stays as it is."""

    not_before: datetime | None
    """Nothing is granted before this instant of the database's clock; None: at any time."""
    not_before_in: float
    """The same in seconds from now."""
    attempts_left: int | None
    """How many more times it may be granted; None: any number of times."""
    status: str
    """A short word of your own."""


@dataclass(frozen=True)
class LastRunView:
    """How the last lease of a lock went."""

    owner: str
    token: int
    granted_at: datetime | None
    ended_at: datetime | None
    end_reason: Reason | str
    """RELEASED, EXPIRED or FORCE_RELEASED."""
    status: str
    """The lock's status when it had ended."""


@dataclass(frozen=True)
class RecordView:
    """What a lock remembers."""

    not_before: datetime | None
    """Nothing is granted before; None: at any time."""
    attempts_left: int | None
    """None: any number of times."""
    status: str
    last_run: LastRunView | None
    """None: none has ended since there is a record."""
    version: int
    """For the `if_version` of the next change."""


@dataclass(frozen=True)
class Terms:
    """What a lease asks of the lock's record, as one value. Raises a ValueError or a TypeError for what cannot be asked."""

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
        """Whether the lock shall remember it when the lease is lost; for `min_interval`, that it was not released."""
        return any(each is not None for each in (self.min_interval, self.lock_delay, self.status_if_lost))

    @property
    def are_set(self) -> bool:
        """Whether the end of a lease leaves a mark in the lock's record, if the lease was confirmed before."""
        return self.remembers_loss or self.if_status != ()

    def put_into(self, request: AskedForTerms) -> None:
        """Set its fields."""
        if self.min_interval is not None:
            request.min_interval.CopyFrom(duration_of(self.min_interval))
        if self.lock_delay is not None:
            request.lock_delay.CopyFrom(duration_of(self.lock_delay))
        if self.status_if_lost is not None:
            request.status_if_lost = self.status_if_lost
        request.if_status.extend([self.if_status] if isinstance(self.if_status, str) else self.if_status)


AskedForTerms = Union[AcquireRequest, CaptureRequest]  # noqa: UP007 - It is looked at when it runs.


def last_words_of(
    lease_id: str,
    *,
    status: str | None = None,
    cool_down: float | None = None,
    attempts_left: int | None = None,
) -> ReleaseRequest:
    """Return what ends a lease: see ReleaseOptions."""
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
    """Return what changes a record: see LockChanges."""
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
    """Return what a lock remembers."""
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
