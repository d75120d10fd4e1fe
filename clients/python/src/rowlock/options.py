"""The options of `connect`, of a lock and of a capture, with their defaults. All times are seconds."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Union

from rowlock.cancellation import Cancellation
from rowlock.mode import Mode, proto_mode
from rowlock.records import RecordOptions, Terms
from rowlock.times import FOREVER, check_seconds, check_seconds_or_forever, duration_of
from rowlock.token_source import TokenFile, TokenSource, is_loopback
from rowlock.v1 import lock_service_pb2

Headers = Mapping[str, str]
"""gRPC metadata sent with each new connection, for a proxy or an authenticator before the server."""

_TTL = 30.0
_MARGIN_SHARE = 0.1
_MARGIN_MAX = 2.0
_POSITION_INTERVAL = 1.0


Pem = Union[bytes, str, "os.PathLike[str]"]
"""PEM, or the path of a file with it, which is read again for each new connection."""


@dataclass(frozen=True)
class TlsOptions:
    """The certificates of a TLS connection. Raises ValueError if only one of `cert` and `key` is given.

    Each is PEM as bytes, or the path of a file, which is read again for each new connection, so that a renewed
    certificate needs no restart.
    """

    ca: Pem | None = None
    """Certificates of the authorities to trust; None: those that gRPC brings along."""
    cert: Pem | None = None
    """The client's own certificate, if the server asks for one; it needs `key`."""
    key: Pem | None = field(default=None, repr=False)
    server_name: str | None = None
    """The name in the server's certificate, if it differs from the address."""

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            raise ValueError("tls: set both cert and key, or neither")

    @property
    def has_files(self) -> bool:
        """Whether any certificate or key is in a file."""
        return any(isinstance(each, (str, os.PathLike)) for each in (self.ca, self.cert, self.key))

    def loaded(self) -> Certificates:
        """Return what the files contain now. Raises OSError."""
        return Certificates(_pem_of(self.ca), _pem_of(self.cert), _pem_of(self.key), self.server_name)


@dataclass(frozen=True)
class Certificates:
    """The certificates of one connection: TlsOptions without files."""

    ca: bytes | None
    cert: bytes | None
    key: bytes | None = field(repr=False)
    server_name: str | None


def _pem_of(pem: Pem | None) -> bytes | None:
    return pem if pem is None or isinstance(pem, bytes) else Path(pem).read_bytes()


@dataclass(frozen=True)
class ConnectionEvent:
    """A connection that opened or ended, for a log."""

    kind: Literal["connected", "disconnected"]
    address: str
    via: Literal["session", "unary"]
    """session: all calls over one stream; unary: single calls, as no stream gets through."""
    replica: str = ""
    """The server's name in its own log; empty if not known."""
    error: Exception | None = None
    """Why the connection was lost, or could not be opened; None for `connected`."""


@dataclass(frozen=True)
class Place:
    """A place in the queue."""

    ahead: int
    """Waiters before this one."""
    permits_ahead: int
    """Permits that the waiters before this one ask for."""
    queue_length: int
    """Waiters in the whole queue, this one included."""
    waited: float
    """Seconds for which this one has waited."""


class LeaseOptions(RecordOptions, total=False):
    """The options of each lease."""

    ttl: float
    """Time to live of the lease; 30 by default. The client renews it after each third of it.

    FOREVER: without end; not for `capture`.
    """
    margin: float
    """How long before the lease may end the client counts it as lost: the time that the work has to stop.

    By default a tenth of the ttl, at most 2, and 0 without end. It must be less than half of the ttl.
    """
    owner: str
    """The owner of this claim; by default that of the client."""
    labels: Mapping[str, str]
    """Labels of this claim, in addition to those of the client."""
    request_id: str
    """The same id always means the same claim: a call that repeats it gets the same lease or place, so a retry is safe.

    A repeated capture gets those of its leases that are still held. Default: a new id for each call.
    """


class TryOptions(LeaseOptions, total=False):
    """The options of `try_lock`."""

    permits: int
    """How many permits to take, all or none; 1 by default."""
    mode: Mode
    """How to hold the lock; `"permit"` by default."""


class AskOptions(TryOptions, total=False):
    """The options of `lock` and `acquire` that go to the server."""

    wait: float
    """The longest wait; 0: do not wait. FOREVER by default."""
    position_interval: float
    """The shortest time between two calls of `on_position`; 1 by default."""


class WaitOptions(AskOptions, total=False):
    """The options of a lock that is waited for."""

    on_position: Callable[[Place], object]
    """Called with each new place in the queue. An exception that it raises ends the wait, and the wait raises it."""


class LockOptions(WaitOptions, total=False):
    """The options of `lock` and `acquire` of the client for threads."""

    cancel: Cancellation
    """Cancels the wait, from another thread."""


class AskCaptureOptions(LeaseOptions, total=False):
    """The options of `capture` that go to the server."""

    prefix: str
    """Choose among locks whose names begin so and that have a record; "": all. Give either `prefix` or `names`."""
    names: Sequence[str]
    """Choose among these locks, at most 1,000; locks that do not exist yet count as free and due."""
    count: int
    """The most locks to take, 1 to 100; 1 by default."""
    wait: float
    """The longest wait for the first lock; 0 by default: do not wait. FOREVER: without end."""


class CaptureOptions(AskCaptureOptions, total=False):
    """The options of `capture` of the client for threads."""

    cancel: Cancellation
    """Cancels the wait, from another thread."""


class AioCaptureOptions(AskCaptureOptions, total=False):
    """The options of `capture` in asyncio. Cancelling the task cancels the wait."""

    cancel_on_loss: bool
    """Whether the loss of a captured lock cancels the task in that lock's own `async with`; True by default."""


class AioTryOptions(TryOptions, total=False):
    """The options of `try_lock` in asyncio."""

    cancel_on_loss: bool
    """Whether the loss of the lock cancels the task in its `async with`, as asyncio.timeout does; True by default."""


class AioLockOptions(WaitOptions, AioTryOptions, total=False):
    """The options of `lock` and `acquire` in asyncio. Cancelling the task cancels the wait."""


@dataclass(frozen=True)
class Settings:
    """The checked options of `connect`, but for headers and callbacks."""

    addresses: tuple[str, ...]
    owner: str
    labels: Mapping[str, str]
    tls: TlsOptions | None
    token: TokenSource | None
    connect_timeout: float
    give_up_after: float


@dataclass(frozen=True)
class Asked:
    """The checked options of one lock."""

    request: lock_service_pb2.AcquireRequest
    """The request without the fields that differ between tries."""
    wait: float
    margin: float
    request_id: str | None
    position_interval: float
    terms: Terms


@dataclass(frozen=True)
class AskedCapture:
    """The checked options of a capture."""

    request: lock_service_pb2.CaptureRequest
    """The request without the fields that differ between tries."""
    wait: float
    margin: float
    request_id: str | None
    terms: Terms


def settings_of(
    addresses: str | Sequence[str],
    *,
    owner: str | None,
    labels: Mapping[str, str] | None,
    tls: bool | TlsOptions,
    token: str | TokenFile | Callable[[], Any] | None,
    allow_token_in_plaintext: bool,
    connect_timeout: float,
    give_up_after: float,
) -> Settings:
    """Return the checked options; raise ValueError if one cannot work."""
    named = tuple(each.strip() for each in ([addresses] if isinstance(addresses, str) else addresses))
    if not named or "" in named:
        raise ValueError("addresses: name at least one server, as host:port")
    for name, seconds in (("connect_timeout", connect_timeout), ("give_up_after", give_up_after)):
        check_seconds_or_forever(name, seconds)
        if seconds <= 0:
            raise ValueError(f"{name}: {seconds} must be above 0")
    remote = [each for each in named if not is_loopback(each)]
    if token is not None and not tls and remote and not allow_token_in_plaintext:
        raise ValueError(
            f"token: the connection to {remote[0]} is not encrypted, so others could read the token; "
            "set tls, or allow_token_in_plaintext if nobody listens on the way"
        )
    return Settings(
        addresses=named,
        owner=f"{socket.gethostname()}:{os.getpid()}" if owner is None else owner,
        labels=dict(labels or {}),
        tls=(TlsOptions() if tls else None) if isinstance(tls, bool) else tls,
        token=None if token is None else TokenSource(token),
        connect_timeout=connect_timeout,
        give_up_after=give_up_after,
    )


def asked_of(
    name: str,
    *,
    wait: float = FOREVER,
    ttl: float = _TTL,
    margin: float | None = None,
    permits: int = 0,
    mode: Mode = "permit",
    owner: str = "",
    labels: Mapping[str, str] | None = None,
    request_id: str | None = None,
    position_interval: float = _POSITION_INTERVAL,
    min_interval: float | None = None,
    lock_delay: float | None = None,
    status_if_lost: str | None = None,
    if_status: str | Sequence[str] = (),
) -> Asked:
    """Return the checked options; raise ValueError or TypeError for values that no request can hold.

    The server checks its own bounds, as it reports all violations at once.
    """
    check_seconds_or_forever("wait", wait)
    check_seconds_or_forever("ttl", ttl)
    check_seconds_or_forever("position_interval", position_interval)
    terms = Terms(min_interval, lock_delay, status_if_lost, if_status)
    request = lock_service_pb2.AcquireRequest(
        name=name,
        mode=proto_mode(mode),
        permits=permits,
        owner=owner,
        labels=labels or {},
    )
    if math.isinf(ttl):
        request.no_expiry = True
    else:
        request.ttl.CopyFrom(duration_of(ttl))
    terms.put_into(request)
    # The protocol takes an empty id as none.
    if request_id is not None:
        request.request_id = request_id
    return Asked(request, wait, _margin_of(ttl, margin), request_id or None, position_interval, terms)


def capture_asked_of(
    *,
    prefix: str | None = None,
    names: Sequence[str] = (),
    count: int = 1,
    wait: float = 0.0,
    ttl: float = _TTL,
    margin: float | None = None,
    owner: str = "",
    labels: Mapping[str, str] | None = None,
    request_id: str | None = None,
    min_interval: float | None = None,
    lock_delay: float | None = None,
    status_if_lost: str | None = None,
    if_status: str | Sequence[str] = (),
) -> AskedCapture:
    """Return the checked options; raise ValueError or TypeError for values that no request can hold."""
    check_seconds_or_forever("wait", wait)
    check_seconds("ttl", ttl)
    if isinstance(names, str):
        # As a sequence, each of its letters would be a name.
        raise TypeError(f"names: pass a list of names instead of {names!r}")
    terms = Terms(min_interval, lock_delay, status_if_lost, if_status)
    request = lock_service_pb2.CaptureRequest(
        prefix=prefix,
        names=names,
        max_leases=count,
        ttl=duration_of(ttl),
        owner=owner,
        labels=labels or {},
    )
    terms.put_into(request)
    if request_id is not None:
        request.request_id = request_id
    return AskedCapture(request, wait, _margin_of(ttl, margin), request_id or None, terms)


def _margin_of(ttl: float, margin: float | None) -> float:
    if margin is None:
        return 0.0 if math.isinf(ttl) else min(ttl * _MARGIN_SHARE, _MARGIN_MAX)
    if math.isinf(ttl) or not 0 <= margin < ttl / 2:
        raise ValueError(f"margin: {margin} s must be less than half of the ttl of {ttl} s")
    return margin
