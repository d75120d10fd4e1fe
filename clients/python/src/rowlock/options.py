"""What can be chosen when connecting, for one lock, and for a capture, with what holds where nothing is said.

All times are seconds.
"""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rowlock.cancellation import Cancellation
from rowlock.modes import Mode, proto_mode
from rowlock.records import RecordOptions, Terms
from rowlock.times import FOREVER, check_seconds, check_seconds_or_forever, duration_of
from rowlock.v1 import lock_service_pb2

Headers = Mapping[str, str]
"""Sent along when a connection is opened, for a proxy or an authority between."""

MakeHeaders = Callable[[], Headers]
MakeHeadersAsync = Callable[[], Headers | Awaitable[Headers]]

_TTL = 30.0
_MARGIN_SHARE = 0.1
_MARGIN_MAX = 2.0
_POSITION_INTERVAL = 1.0


@dataclass(frozen=True)
class Tls:
    """How to trust a server, and to be trusted by it. All in PEM."""

    ca: bytes | None = None
    """Certificates of the authorities to trust; None: those that gRPC brings along."""
    cert: bytes | None = None
    """The client's own certificate and its key, where the server asks for one."""
    key: bytes | None = None
    server_name: str | None = None
    """The name that the server's certificate has, where it is not that of the address."""

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            raise ValueError("tls: cert and key belong together")


@dataclass(frozen=True)
class ConnectionEvent:
    """What happens to the connection, for a log."""

    kind: Literal["connected", "disconnected"]
    address: str
    via: Literal["session", "unary"]
    """All calls over one stream; or calls of their own, where no stream gets through."""
    replica: str = ""
    """The server, as its log names it; empty where that is not known."""
    error: Exception | None = None
    """Why it was lost, or could not be had."""


@dataclass(frozen=True)
class Place:
    """The place in the queue."""

    ahead: int
    """Waiters that stand before this one."""
    permits_ahead: int
    """Permits that they ask for."""
    queue_length: int
    """Waiters in the whole queue."""
    waited: float
    """Seconds for which this one has waited."""


class LeaseOptions(RecordOptions, total=False):
    """What can be chosen for each lease."""

    ttl: float
    """Time to live of the lease, renewed at every third of it; 30. FOREVER: without end, for `lock` and the like alone."""
    margin: float
    """How long before the lease may end it is given up for lost: the time that the work has to stop.

    A tenth of the ttl, and 2 at the most, unless told otherwise; less than half of the ttl.
    """
    owner: str
    """For this claim alone."""
    labels: Mapping[str, str]
    """For this claim, beside those of the client."""
    request_id: str
    """The same id always means the same claim: whoever asks again under it comes back to its lease or place.

    Of a capture: to those of its leases that are held still. Unset: an id of this call's own.
    """


class TryOptions(LeaseOptions, total=False):
    """What can be chosen for a lock that is tried."""

    permits: int
    """How many permits to take, all or none; 1."""
    mode: Mode
    """`"permit"`, unless told otherwise."""


class AskOptions(TryOptions, total=False):
    """What else a server is asked for."""

    wait: float
    """How long to wait at the most; 0: not at all. FOREVER, unless told otherwise."""
    position_interval: float
    """How often at the most `on_position` is called; 1."""


class WaitOptions(AskOptions, total=False):
    """What can be chosen for a lock that is waited for."""

    on_position: Callable[[Place], object]
    """Called with each new place in the queue. What it raises ends the wait."""


class LockOptions(WaitOptions, total=False):
    """What can be chosen for a lock that a thread waits for."""

    cancel: Cancellation
    """Gives up the wait, from another thread."""


class AskCaptureOptions(LeaseOptions, total=False):
    """What a server is asked for that shall choose among many locks."""

    prefix: str
    """Locks whose names begin so, and that have a record; "": all. One of `prefix` and `names` has to be given."""
    names: Sequence[str]
    """Of these locks, 1,000 at the most; also those that nobody has named before."""
    count: int
    """How many at the most, 1 to 100; 1."""
    wait: float
    """How long to wait for the first one; 0, unless told otherwise: not at all. FOREVER: as long as it takes."""


class CaptureOptions(AskCaptureOptions, total=False):
    """What can be chosen for a capture that a thread asks for."""

    cancel: Cancellation
    """Gives up the wait, from another thread."""


class AioCaptureOptions(AskCaptureOptions, total=False):
    """What can be chosen for a capture that a task asks for. A task that is cancelled gives up the wait."""

    cancel_on_loss: bool
    """Whether the task in the scope of one of the locks is cancelled when that is lost; True."""


class AioTryOptions(TryOptions, total=False):
    """What can be chosen for a lock that is tried in asyncio."""

    cancel_on_loss: bool
    """Whether the task in the lock's scope is cancelled when the lock is lost; True."""


class AioLockOptions(WaitOptions, AioTryOptions, total=False):
    """What can be chosen for a lock that a task waits for. A task that is cancelled gives up the wait."""


@dataclass(frozen=True)
class Settings:
    """What was chosen when connecting."""

    addresses: tuple[str, ...]
    owner: str
    labels: Mapping[str, str]
    tls: Tls | None
    connect_timeout: float
    give_up_after: float


@dataclass(frozen=True)
class Asked:
    """What was chosen for one lock."""

    request: lock_service_pb2.AcquireRequest
    """All of it but what differs from one try to the next."""
    wait: float
    margin: float
    request_id: str | None
    position_interval: float
    terms: Terms


@dataclass(frozen=True)
class AskedCapture:
    """What was chosen for a capture."""

    request: lock_service_pb2.CaptureRequest
    """All of it but what differs from one try to the next."""
    wait: float
    margin: float
    request_id: str | None
    terms: Terms


def settings_of(
    addresses: str | Sequence[str],
    *,
    owner: str | None,
    labels: Mapping[str, str] | None,
    tls: bool | Tls,
    connect_timeout: float,
    give_up_after: float,
) -> Settings:
    """Raise a ValueError for what cannot work."""
    named = tuple(each.strip() for each in ([addresses] if isinstance(addresses, str) else addresses))
    if not named or "" in named:
        raise ValueError("addresses: name at least one server, as host:port")
    for name, seconds in (("connect_timeout", connect_timeout), ("give_up_after", give_up_after)):
        check_seconds_or_forever(name, seconds)
        if seconds <= 0:
            raise ValueError(f"{name}: {seconds} must be above 0")
    return Settings(
        addresses=named,
        owner=f"{socket.gethostname()}:{os.getpid()}" if owner is None else owner,
        labels=dict(labels or {}),
        tls=(Tls() if tls else None) if isinstance(tls, bool) else tls,
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
    """Raise a ValueError or a TypeError for what no server could be asked.

    What is out of a server's bounds is for the server to say, of all fields at once.
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
    # An empty one would stand for none.
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
    """Raise a ValueError or a TypeError for what no server could be asked."""
    check_seconds_or_forever("wait", wait)
    check_seconds("ttl", ttl)
    if isinstance(names, str):
        # Each letter of it would be a name.
        raise TypeError(f"names: {names!r} is one name, and not a list of names")
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
