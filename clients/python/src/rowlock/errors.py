"""The errors: what a server has said, what was refused where a lock was demanded, and what this client finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import grpc
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from rowlock.reasons import Reason, reason_of
from rowlock.refusal import Refusal
from rowlock.times import seconds_of

_DOMAIN = "rowlock"
_DETAILS = "grpc-status-details-bin"
_CODES: dict[int, str] = {code.value[0]: code.name for code in grpc.StatusCode}
_TRANSIENT_CODE = "UNAVAILABLE"


@dataclass(frozen=True)
class Violation:
    """What is wrong with one field of a request."""

    field: str
    description: str


class RowlockError(Exception):
    """What this package raises, beside ValueError and TypeError for options that cannot work."""

    def __init__(
        self,
        reason: Reason | str,
        code: str,
        message: str,
        *,
        violations: tuple[Violation, ...] = (),
        metadata: Mapping[str, str] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        """What a program acts on."""
        self.code = code
        """The name of the gRPC code, such as `UNAVAILABLE`."""
        self.message = message
        """What a person reads. Not stable."""
        self.violations = violations
        """All that is wrong with a request, for BAD_REQUEST."""
        self.metadata: Mapping[str, str] = metadata or {}
        """What the server adds for programs, such as `end_reason` of LEASE_LOST and `version` of VERSION_MISMATCH."""
        self.retry_after = retry_after
        """Seconds after which another try can help, as the server says."""

    @property
    def is_undone(self) -> bool:
        """Whether the server has answered that nothing was done."""
        return self.reason in (Reason.OVERLOADED, Reason.DATABASE_UNAVAILABLE, Reason.SHUTTING_DOWN)

    @property
    def is_transient(self) -> bool:
        """Whether the same call, a little later, may well succeed."""
        return self.code == _TRANSIENT_CODE or self.reason == Reason.OVERLOADED

    @property
    def is_in_doubt(self) -> bool:
        """Whether it says nothing of what became of a call that a server has heard."""
        return self.is_transient or self.reason == Reason.CLOSED


class LockLost(RowlockError):
    """LEASE_LOST: others may hold the lock. `metadata["end_reason"]` says how it was lost."""


class LockRefused(RowlockError):
    """The lock was not granted; `refusal` says more."""

    def __init__(self, name: str, refusal: Refusal) -> None:
        message = f'The lock "{name}" was not granted: {refusal.message}'
        super().__init__(refusal.reason, "FAILED_PRECONDITION", message, retry_after=refusal.retry_after)
        self.refusal = refusal


class LockTimeout(LockRefused, TimeoutError):
    """TIMED_OUT: the wait is over."""


def refused(name: str, refusal: Refusal) -> LockRefused:
    """Return the error of a refusal, where a lock was demanded."""
    kind = LockTimeout if refusal.reason == Reason.TIMED_OUT else LockRefused
    return kind(name, refusal)


def closed() -> RowlockError:
    """Return what calls of a closed client fail with."""
    return RowlockError(Reason.CLOSED, "CANCELLED", "This client was closed.")


def given_up() -> RowlockError:
    """Return what a wait fails with that its caller has given up."""
    return RowlockError(Reason.CANCELLED, "CANCELLED", "The wait was given up.")


def forked() -> RowlockError:
    """Return what calls fail with in the child of a fork."""
    message = (
        "This client was made before the process was forked, and its locks belong to the parent. "
        "Connect in the child, and start the child by spawning."
    )
    return RowlockError(Reason.CLOSED, "FAILED_PRECONDITION", message)


def ttl_too_short(lock_name: str) -> RowlockError:
    """Return the error of a lease that would be over before its renewals got through."""
    message = (
        f'The lock "{lock_name}" was granted, but answers take too long to renew a lease of this ttl in time: '
        "ask for a longer ttl."
    )
    return RowlockError(Reason.TTL_TOO_SHORT, "FAILED_PRECONDITION", message)


def may_be_held(why: RowlockError, lock_name: str, request_id: str, is_given_back: bool) -> RowlockError:
    """Return the same error, of a request for a lease without end that a server may have granted."""
    rest = (
        "this client goes on giving it back"
        if is_given_back
        else "ask for it again under that request id, or release it"
    )
    error = RowlockError(
        why.reason,
        why.code,
        f'{why.message} The lock "{lock_name}" may be held, under the request id {request_id}: {rest}.',
        metadata={**why.metadata, "request_id": request_id},
        retry_after=why.retry_after,
    )
    error.__cause__ = why
    return error


def lost(lock_name: str, how: str) -> LockLost:
    """Return the error of a lease that the server has ended."""
    message = f'The lease on "{lock_name}" has ended ({how.lower()}): stop what the lock protects.'
    return LockLost(Reason.LEASE_LOST, "FAILED_PRECONDITION", message, metadata={"end_reason": how})


def of_status(status: Status) -> RowlockError:
    """Return the error of a call, of what the server has sent."""
    info, retry, bad = ErrorInfo(), RetryInfo(), BadRequest()
    for detail in status.details:
        for message in (info, retry, bad):
            detail.Unpack(message)
    reason = reason_of(info.reason) if info.domain == _DOMAIN else Reason.UNKNOWN
    kind = LockLost if reason == Reason.LEASE_LOST else RowlockError
    return kind(
        reason,
        _CODES.get(status.code, "UNKNOWN"),
        status.message,
        violations=tuple(Violation(each.field, each.description) for each in bad.field_violations),
        metadata=dict(info.metadata),
        retry_after=seconds_of(retry.retry_delay) if retry.HasField("retry_delay") else None,
    )


def status_of(ended: grpc.Call) -> Status:
    """Return the whole status with which a call of gRPC has ended."""
    for key, value in ended.trailing_metadata() or ():
        if key == _DETAILS and isinstance(value, bytes):
            return Status.FromString(value)
    return Status(code=ended.code().value[0], message=ended.details() or "")
