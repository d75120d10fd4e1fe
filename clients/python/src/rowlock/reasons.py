"""Why something was refused or has failed: what a program acts on."""

from __future__ import annotations

from enum import Enum

from rowlock.v1 import lock_pb2


class Reason(str, Enum):
    """The reasons that this version knows.

    Each is equal to its name as a string. A newer server may send others, which come as plain strings.
    """

    # Of the server, as the table in lock_service.proto explains them.
    BAD_REQUEST = "BAD_REQUEST"
    MALFORMED_MESSAGE = "MALFORMED_MESSAGE"
    UNKNOWN_CLAIM = "UNKNOWN_CLAIM"
    UNKNOWN_LOCK = "UNKNOWN_LOCK"
    LEASE_LOST = "LEASE_LOST"
    NOT_GRANTED_YET = "NOT_GRANTED_YET"
    LOCK_IN_USE = "LOCK_IN_USE"
    REQUEST_ID_REUSED = "REQUEST_ID_REUSED"
    VERSION_MISMATCH = "VERSION_MISMATCH"
    OVERLOADED = "OVERLOADED"
    MESSAGE_TOO_LARGE = "MESSAGE_TOO_LARGE"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    DATABASE_UNAVAILABLE = "DATABASE_UNAVAILABLE"
    SHUTTING_DOWN = "SHUTTING_DOWN"
    SESSION_SILENT = "SESSION_SILENT"
    TIMEOUT = "TIMEOUT"
    INTERNAL = "INTERNAL"
    # Of a refusal, or of how a claim has ended. CANCELLED is also that of a caller who gave up.
    BUSY = "BUSY"
    PAUSED = "PAUSED"
    QUEUE_FULL = "QUEUE_FULL"
    TIMED_OUT = "TIMED_OUT"
    NEVER_FITS = "NEVER_FITS"
    NOT_BEFORE = "NOT_BEFORE"
    EXHAUSTED = "EXHAUSTED"
    STATUS_MISMATCH = "STATUS_MISMATCH"
    CANCELLED = "CANCELLED"
    LAPSED = "LAPSED"
    EXPIRED = "EXPIRED"
    RELEASED = "RELEASED"
    FORCE_RELEASED = "FORCE_RELEASED"
    # Of this client: no server has answered in time; the connection was lost, and what was asked for must not be repeated, so
    # it may have been done or not; the client was closed, or belongs to the process that this one was forked from; answers take
    # so long that the lease cannot be renewed in time; an error without a reason, of a proxy for one.
    NO_SERVER = "NO_SERVER"
    CONNECTION_LOST = "CONNECTION_LOST"
    TTL_TOO_SHORT = "TTL_TOO_SHORT"
    CLOSED = "CLOSED"
    UNKNOWN = "UNKNOWN"

    def __str__(self) -> str:
        return self.value


def reason_of(name: str) -> Reason | str:
    """Return the reason of this name, or the name where it is a new one."""
    try:
        return Reason(name)
    except ValueError:
        return name


def end_of(reason: lock_pb2.RefusalReason) -> Reason | str:
    """Return the reason of a refusal or of a claim's end, of what the server has sent."""
    try:
        name = lock_pb2.RefusalReason.Name(reason)
    except ValueError:
        return str(int(reason))
    return reason_of(name.removeprefix("REFUSAL_REASON_"))
