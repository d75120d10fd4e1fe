"""The errors: those that a server sends, refusals as exceptions, and those of this client itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import grpc
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from rowlock.diagnosis import Diagnosis, sentences_of
from rowlock.reason import Reason, reason_of
from rowlock.refusal import Refusal
from rowlock.times import seconds_of
from rowlock.v1.lock_pb2 import ClaimEnd
from rowlock.views import ClaimEndView, claim_end_view

_DOMAIN = "rowlock"
_DETAILS = "grpc-status-details-bin"
_CODES: dict[int, str] = {code.value[0]: code.name for code in grpc.StatusCode}
_TRANSIENT_CODE = "UNAVAILABLE"
# The end of a lease that the client itself counts as lost.
_EXPIRED = ClaimEndView(Reason.EXPIRED)
# What to do about credentials that a server refuses. The server's own sentence knows nothing of this client.
_WHAT_TO_DO: dict[Reason | str, str] = {
    Reason.CREDENTIALS_MISSING: "set the token option of connect, or a client certificate in its tls",
    Reason.CREDENTIALS_WRONG: "check what the token option of connect gives",
    Reason.CREDENTIALS_EXPIRED: (
        "the token option of connect, or the client certificate in its tls, must give a newer one"
    ),
}


@dataclass(frozen=True)
class Violation:
    """An invalid field of a request."""

    field: str
    description: str


class RowlockError(Exception):
    """The base of all errors of this package, except OptionError for options that cannot work."""

    def __init__(
        self,
        reason: Reason | str,
        code: str,
        message: str,
        *,
        violations: tuple[Violation, ...] = (),
        metadata: Mapping[str, str] | None = None,
        end: ClaimEndView | None = None,
        retry_after: float | None = None,
        diagnoses: tuple[Diagnosis, ...] = (),
    ) -> None:
        super().__init__(message)
        self.reason = reason
        """Why, for programs to act on. A reason that this version does not know is a plain string."""
        self.code = code
        """The name of the gRPC code, such as `UNAVAILABLE`."""
        self.message = message
        """Text for people. Its wording may change."""
        self.violations = violations
        """All invalid fields of the request, for BAD_REQUEST."""
        self.metadata: Mapping[str, str] = metadata or {}
        """Details for programs, such as `version` of VERSION_MISMATCH and `bound` of OVERLOADED."""
        self.end = end
        """For LEASE_LOST: how the lease ended, if known."""
        self.retry_after = retry_after
        """Seconds after which the server says that another try can help; None if it does not say."""
        self.diagnoses = diagnoses
        """For NO_SERVER: what was found at each address; the message has the same."""

    @property
    def is_undone(self) -> bool:
        """Whether the server has answered that it changed nothing, so that a retry is safe."""
        return self.reason in (
            Reason.OVERLOADED,
            Reason.DATABASE_UNAVAILABLE,
            Reason.SHUTTING_DOWN,
            Reason.KEYS_UNAVAILABLE,
        )

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed a little later. It does not say that a retry is safe: see `is_undone`."""
        return self.code == _TRANSIENT_CODE or self.reason == Reason.OVERLOADED

    @property
    def is_of_credentials(self) -> bool:
        """Whether the server does not accept who calls, or the client has no token or certificate."""
        return self.reason in _WHAT_TO_DO

    @property
    def is_in_doubt(self) -> bool:
        """Whether the call may have taken effect, if a server heard it."""
        return self.is_transient or self.is_of_credentials or self.reason == Reason.CLOSED


class LockLost(RowlockError):
    """LEASE_LOST: others may hold the lock. `end` says how the lease ended, if known."""


class LockRefused(RowlockError):
    """The lock was not granted; `refusal` has the details."""

    def __init__(self, name: str, refusal: Refusal) -> None:
        message = f'The lock "{refusal.lock_name or name}" was not granted: {refusal.message}'
        super().__init__(refusal.reason, "FAILED_PRECONDITION", message, retry_after=refusal.retry_after)
        self.refusal = refusal


class LockTimeout(LockRefused, TimeoutError):
    """TIMED_OUT: the lock was not granted within `wait`."""


def refused(name: str, refusal: Refusal) -> LockRefused:
    """Return a refusal as an exception."""
    kind = LockTimeout if refusal.reason == Reason.TIMED_OUT else LockRefused
    return kind(name, refusal)


def no_server(why: str, diagnoses: tuple[Diagnosis, ...]) -> RowlockError:
    """Return the error of a call that no server has answered."""
    message = f"{why} {sentences_of(diagnoses)}".strip()
    return RowlockError(Reason.NO_SERVER, "UNAVAILABLE", message, diagnoses=diagnoses)


def closed() -> RowlockError:
    """Return the error of calls to a closed client."""
    return RowlockError(Reason.CLOSED, "CANCELLED", "This client was closed.")


def given_up() -> RowlockError:
    """Return the error of a wait that its caller cancelled."""
    return RowlockError(Reason.CANCELLED, "CANCELLED", "The caller cancelled the wait.")


def forked() -> RowlockError:
    """Return the error of calls in the child of a fork."""
    message = (
        "This client was made before the fork, and its locks belong to the parent process. "
        "Connect in the child, and start it by spawning."
    )
    return RowlockError(Reason.CLOSED, "FAILED_PRECONDITION", message)


def cannot_spend() -> RowlockError:
    """Return the error of a spend that a server has answered with a lease, as it knows no spends."""
    message = "The server is older than this client and cannot spend: update it."
    return RowlockError(Reason.UNKNOWN, "FAILED_PRECONDITION", message)


def takes_one_lock() -> RowlockError:
    """Return the error of a claim for several locks of which a server has granted the first alone, as it knows no others."""
    message = "The server is older than this client and grants one lock at a time: update it."
    return RowlockError(Reason.UNKNOWN, "FAILED_PRECONDITION", message)


def ttl_too_short(lock_name: str) -> RowlockError:
    """Return the error of a lease whose ttl is too short for renewals to arrive in time."""
    message = (
        f'The lock "{lock_name}" was granted, but answers arrive too late to renew a lease with this ttl: '
        "use a longer ttl."
    )
    return RowlockError(Reason.TTL_TOO_SHORT, "FAILED_PRECONDITION", message)


def may_be_held(why: RowlockError, lock_name: str, request_id: str, is_given_back: bool) -> RowlockError:
    """Return `why` with a warning: a server may have granted this request for a lease without end."""
    rest = (
        "this client keeps trying to release it"
        if is_given_back
        else "acquire it again with that request id, or release it"
    )
    error = RowlockError(
        why.reason,
        why.code,
        f'{why.message} The lock "{lock_name}" may be held, under the request id {request_id}: {rest}.',
        metadata={**why.metadata, "request_id": request_id},
        retry_after=why.retry_after,
        diagnoses=why.diagnoses,
    )
    error.__cause__ = why
    return error


def lost(lock_name: str, end: ClaimEndView) -> LockLost:
    """Return the error of a lease that the server reports as ended."""
    how = str(end.reason).lower()
    return _loss(f'The lease on "{lock_name}" has ended ({how}): stop the work that the lock protects.', end)


def not_renewed(lock_name: str) -> LockLost:
    """Return the error of a lease whose deadline has passed."""
    return _loss(
        f'The lease on "{lock_name}" was not renewed in time, so others may hold the lock.', _EXPIRED
    )


def lost_by(lock_name: str, why: RowlockError) -> LockLost:
    """Return an error that ends a lease as the loss of that lease."""
    if isinstance(why, LockLost):
        return why
    loss = _loss(f'The lease on "{lock_name}" has ended: {why.message}', None)
    loss.__cause__ = why
    return loss


def released_too_late(lock_name: str) -> LockLost:
    """Return the error of a release of which no server has heard before others may have had the lock."""
    return _loss(
        f'The release of "{lock_name}" was not answered before the end of its lease, '
        "so others may have held the lock.",
        _EXPIRED,
    )


def ended_before_release(lock_name: str) -> LockLost:
    """Return the error of a lease of which only the answer to its release says that it had ended."""
    return _loss(
        f'The lease on "{lock_name}" ended before its release, so others may have held the lock.', _EXPIRED
    )


def _loss(message: str, end: ClaimEndView | None) -> LockLost:
    return LockLost(Reason.LEASE_LOST, "FAILED_PRECONDITION", message, end=end)


def given_back(why: RowlockError) -> RowlockError:
    """Return the error of a release that the server has refused, although the lock was then released without options."""
    error = RowlockError(
        why.reason,
        why.code,
        f"{why.message.rstrip('.')}; the lock was given back",
        violations=why.violations,
        metadata=why.metadata,
    )
    error.__cause__ = why
    return error


def of_status(status: Status) -> RowlockError:
    """Return the error in a status that a server or gRPC has sent."""
    info, retry, bad, end = ErrorInfo(), RetryInfo(), BadRequest(), ClaimEnd()
    has_end = False
    for detail in status.details:
        for message in (info, retry, bad):
            detail.Unpack(message)
        has_end = detail.Unpack(end) or has_end
    reason = reason_of(info.reason) if info.domain == _DOMAIN else Reason.UNKNOWN
    kind = LockLost if reason == Reason.LEASE_LOST else RowlockError
    return kind(
        reason,
        _CODES.get(status.code, "UNKNOWN"),
        f"{status.message} ({_WHAT_TO_DO[reason]})" if reason in _WHAT_TO_DO else status.message,
        violations=tuple(Violation(each.field, each.description) for each in bad.field_violations),
        metadata=dict(info.metadata),
        end=claim_end_view(end) if has_end else None,
        retry_after=seconds_of(retry.retry_delay) if retry.HasField("retry_delay") else None,
    )


def status_of(ended: grpc.Call) -> Status:
    """Return the status of an ended gRPC call, with its details if the server sent any."""
    for key, value in ended.trailing_metadata() or ():
        if key == _DETAILS and isinstance(value, bytes):
            return Status.FromString(value)
    return Status(code=ended.code().value[0], message=ended.details() or "")
