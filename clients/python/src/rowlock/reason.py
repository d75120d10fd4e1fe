"""The reasons of refusals and errors, for programs to act on."""

from __future__ import annotations

from enum import Enum

from rowlock.v1 import lock_pb2

END_REASON_PREFIX = "END_REASON_"
"""What the protocol's names of ends begin with."""


class Reason(str, Enum):
    """The reasons that this version knows.

    Each equals its name as a string. A reason that only a newer server knows is a plain string.
    """

    # Errors of the server; errors.proto explains them.
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
    KEYS_UNAVAILABLE = "KEYS_UNAVAILABLE"
    SESSION_SILENT = "SESSION_SILENT"
    # CREDENTIALS_MISSING: the server wants to know who calls, or the client's token option gives no token.
    # CREDENTIALS_WRONG: the server does not know the token, or does not trust who has signed it.
    # CREDENTIALS_EXPIRED: the token or certificate is past its end; the server keeps leases and places.
    # RIGHT_MISSING: the server's policy does not allow the call; `metadata` has the `right` and the `principal`.
    CREDENTIALS_MISSING = "CREDENTIALS_MISSING"
    CREDENTIALS_WRONG = "CREDENTIALS_WRONG"
    CREDENTIALS_EXPIRED = "CREDENTIALS_EXPIRED"
    RIGHT_MISSING = "RIGHT_MISSING"
    TIMEOUT = "TIMEOUT"
    INTERNAL = "INTERNAL"
    # Refusals, and ends of claims. CANCELLED is also the error of a wait that its caller cancelled.
    BUSY = "BUSY"
    PAUSED = "PAUSED"
    QUEUE_FULL = "QUEUE_FULL"
    TIMED_OUT = "TIMED_OUT"
    NEVER_FITS = "NEVER_FITS"
    NOT_BEFORE = "NOT_BEFORE"
    EXHAUSTED = "EXHAUSTED"
    STATUS_MISMATCH = "STATUS_MISMATCH"
    RATE = "RATE"
    CANCELLED = "CANCELLED"
    LAPSED = "LAPSED"
    EXPIRED = "EXPIRED"
    RELEASED = "RELEASED"
    FAILED = "FAILED"
    FORCE_RELEASED = "FORCE_RELEASED"
    SPENT = "SPENT"
    SUPERSEDED = "SUPERSEDED"
    # Errors of this client.
    # NO_SERVER: no server answered in time.
    # CONNECTION_LOST: the connection was lost before the answer came, and a repeated call is not safe; the call may
    # have taken effect or not.
    # TTL_TOO_SHORT: answers take so long that the client cannot renew the lease in time.
    # CLOSED: the client was closed, or belongs to the parent of this forked process.
    # UNKNOWN: an error without a reason, for example one of a proxy.
    NO_SERVER = "NO_SERVER"
    CONNECTION_LOST = "CONNECTION_LOST"
    TTL_TOO_SHORT = "TTL_TOO_SHORT"
    CLOSED = "CLOSED"
    UNKNOWN = "UNKNOWN"

    def __str__(self) -> str:
        return self.value


def reason_of(name: str) -> Reason | str:
    """Return the reason of this name, or the name itself if this version does not know it."""
    try:
        return Reason(name)
    except ValueError:
        return name


def refusal_reason_of(reason: lock_pb2.RefusalReason) -> Reason | str:
    """Return the reason of a refusal, from its protocol value."""
    try:
        name = lock_pb2.RefusalReason.Name(reason)
    except ValueError:
        return str(int(reason))
    return reason_of(name.removeprefix("REFUSAL_REASON_"))


def end_reason_of(reason: lock_pb2.EndReason) -> Reason | str:
    """Return how a claim ended, from its protocol value."""
    try:
        name = lock_pb2.EndReason.Name(reason)
    except ValueError:
        return str(int(reason))
    return reason_of(name.removeprefix(END_REASON_PREFIX))
