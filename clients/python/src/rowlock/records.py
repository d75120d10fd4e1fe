"""What a lock remembers beyond its claims, and the options that change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

from google.protobuf.timestamp_pb2 import Timestamp

from rowlock.checks import Wrong, checked, count_from, flag, refuse, seconds, text, text_or_texts
from rowlock.reason import Reason, end_reason_of
from rowlock.times import Seconds, duration_of, instant_of, timestamp_of
from rowlock.v1 import lock_pb2
from rowlock.v1.lock_service_pb2 import ReleaseRequest, UpdateRecordRequest


@dataclass(frozen=True, init=False)
class Backoff:
    """How long a lock rests after a failure: a run that failed or was lost."""

    first: float
    """Seconds after the first failure."""
    max: float | None
    """Each further failure in a row doubles the time, up to this. None: it is the same each time."""

    def __init__(self, first: Seconds, max: Seconds | None = None) -> None:  # noqa: A002
        """Raise OptionError for what no request can hold."""
        faults: list[str] = ["first: set it"] if first is None else []
        right = checked({"first": first, "max": max}, {"first": seconds, "max": seconds}, faults)
        refuse(faults)
        # The only way to set the fields of a frozen dataclass.
        object.__setattr__(self, "first", right["first"])
        object.__setattr__(self, "max", right.get("max"))


class RecordOptions(TypedDict, total=False):
    """The terms of a lease for the lock's record."""

    min_interval: Seconds
    """After a release, the server grants nothing until this long after the lease's grant. A loss does not set it."""
    lock_delay: Seconds
    """After a loss, the server grants nothing for this long."""
    status_if_lost: str
    """The lock's new status if the lease is lost."""
    if_status: str | Sequence[str]
    """Grant only if the lock has this status, or one of these. A lock without a record has the status ""."""
    backoff: Backoff
    """After a run that failed (see ReleaseOptions) or a loss, the server grants nothing for a time that grows."""


class ReleaseOptions(TypedDict, total=False):
    """What the lock remembers after a release. Options that are not given change nothing."""

    status: str
    """The lock's new status."""
    cool_down: Seconds
    """The server grants nothing for this long after the release; it replaces `min_interval` and `backoff`. 0: due at once."""
    attempts_left: int
    """How many more times the server may grant the lock."""
    failed: bool
    """True: the work has failed. The lease ends as FAILED, and its `backoff` applies. Alone it makes no record."""


class RecordChanges(TypedDict, total=False):
    """Changes to what a lock remembers. Options that are not given change nothing."""

    not_before: datetime | None
    """The server grants nothing before this instant of the database's clock; it needs a time zone. None: no bound."""
    not_before_in: Seconds
    """The same, as a time from now. Not with `not_before`, not even with None."""
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
    """RELEASED, FAILED, EXPIRED or FORCE_RELEASED."""
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
    last_success: LastRunView | None
    """The last run that was RELEASED; None: none was since the record exists."""
    failures: int
    """How many runs in a row, up to the last one, have failed or were lost."""
    version: int
    """For the `if_version` of the next change."""


def _backoff(value: Any) -> Backoff:
    """A Backoff."""
    if not isinstance(value, Backoff):
        raise Wrong("must be a rowlock.Backoff")
    return value


RECORD_KINDS = {
    "min_interval": seconds,
    "lock_delay": seconds,
    "status_if_lost": text,
    "if_status": text_or_texts,
    "backoff": _backoff,
}
"""What each of the RecordOptions may be."""


@dataclass(frozen=True)
class Terms:
    """The terms of a lease for the lock's record, as one value: the checked RecordOptions."""

    min_interval: float | None = None
    lock_delay: float | None = None
    status_if_lost: str | None = None
    if_status: Sequence[str] = ()
    backoff: Backoff | None = None

    @property
    def remembers_loss(self) -> bool:
        """Whether a loss and a release leave different marks in the lock's record."""
        kept = (self.min_interval, self.lock_delay, self.status_if_lost, self.backoff)
        return any(each is not None for each in kept)

    @property
    def are_set(self) -> bool:
        """Whether the end of the lease leaves a mark in the lock's record, provided that the lease was confirmed."""
        return self.remembers_loss or len(self.if_status) > 0

    def put_into(self, request: lock_pb2.LeaseTerms) -> None:
        """Set the fields of the terms in a request."""
        if self.min_interval is not None:
            request.min_interval.CopyFrom(duration_of(self.min_interval))
        if self.lock_delay is not None:
            request.lock_delay.CopyFrom(duration_of(self.lock_delay))
        if self.status_if_lost is not None:
            request.status_if_lost = self.status_if_lost
        request.if_status.extend(self.if_status)
        if self.backoff is not None:
            request.backoff.first.CopyFrom(duration_of(self.backoff.first))
            if self.backoff.max is not None:
                request.backoff.max.CopyFrom(duration_of(self.backoff.max))


def terms_of(options: Mapping[str, Any]) -> Terms:
    """Return the terms among checked options."""
    return Terms(**{name: value for name, value in options.items() if name in RECORD_KINDS})


def last_words_of(lease_id: str, **options: Any) -> ReleaseRequest:
    """Return the request that ends a lease: see ReleaseOptions. Raises OptionError."""
    faults: list[str] = []
    right = checked(options, _RELEASE_KINDS, faults)
    refuse(faults)
    request = ReleaseRequest(
        lease_id=lease_id,
        status=right.get("status"),
        attempts_left=right.get("attempts_left"),
        failed=right.get("failed", False),
    )
    if "cool_down" in right:
        request.cool_down.CopyFrom(duration_of(right["cool_down"]))
    return request


def update_of(name: str, if_version: int | None, reason: str = "", /, **options: Any) -> UpdateRecordRequest:
    """Return the request that changes a record: see RecordChanges. Raises OptionError."""
    faults: list[str] = []
    right = checked(options, _CHANGE_KINDS, faults)
    # A request holds only one of them: the server would not see the other. A not_before of None is given, too.
    if "not_before" in options and options.get("not_before_in") is not None:
        faults.append("not_before and not_before_in: set one of them")
    refuse(faults)
    request = UpdateRecordRequest(
        name=name, expected_version=if_version, status=right.get("status"), reason=reason
    )
    # None unsets a bound.
    if "not_before_in" in right:
        request.not_before_in.CopyFrom(duration_of(right["not_before_in"]))
    elif "not_before" in right:
        request.not_before.CopyFrom(right["not_before"])
    elif "not_before" in options:
        request.unset_not_before.SetInParent()
    if "attempts_left" in right:
        request.attempts_left = right["attempts_left"]
    elif "attempts_left" in options:
        request.unset_attempts_left.SetInParent()
    return request


def _instant(value: Any) -> Timestamp:
    """A datetime with a time zone."""
    if not isinstance(value, datetime):
        raise Wrong("must be a datetime")
    try:
        return timestamp_of(value)
    except ValueError:
        raise Wrong("needs a time zone, as in datetime.now(timezone.utc)") from None


_RELEASE_KINDS = {"status": text, "cool_down": seconds, "attempts_left": count_from(0), "failed": flag}
_CHANGE_KINDS = {
    "not_before": _instant,
    "not_before_in": seconds,
    "attempts_left": count_from(0),
    "status": text,
}


def record_view(record: lock_pb2.LockRecord) -> RecordView:
    """Return the record of a lock as a plain value."""
    return RecordView(
        not_before=instant_of(record.not_before) if record.HasField("not_before") else None,
        attempts_left=record.attempts_left if record.HasField("attempts_left") else None,
        status=record.status,
        last_run=_last_run_view(record.last_run) if record.HasField("last_run") else None,
        last_success=_last_run_view(record.last_success) if record.HasField("last_success") else None,
        failures=record.failures,
        version=record.version,
    )


def _last_run_view(run: lock_pb2.LastRun) -> LastRunView:
    return LastRunView(
        owner=run.owner,
        token=run.fencing_token,
        granted_at=instant_of(run.granted_at) if run.HasField("granted_at") else None,
        ended_at=instant_of(run.ended_at) if run.HasField("ended_at") else None,
        end_reason=end_reason_of(run.end_reason),
        status=run.status,
    )
