"""The options of `connect`, of a lock and of a capture, with their defaults."""

from __future__ import annotations

import codecs
import math
import os
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

from rowlock.cancellation import Cancellation
from rowlock.checks import (
    Kind,
    OptionError,
    Wrong,
    cancellation,
    checked,
    count_from,
    flag,
    function,
    one_of,
    refuse,
    seconds,
    seconds_or_forever,
    text,
    text_mapping,
    texts,
    time_limit,
    wait_seconds,
)
from rowlock.further_locks import WantedLock, also_list, wanted_locks
from rowlock.mode import MODES, Mode, mode_of, proto_mode
from rowlock.records import RECORD_KINDS, RecordOptions, Terms, terms_of
from rowlock.times import FOREVER, Seconds, duration_of
from rowlock.token_source import TokenFile, TokenSource, is_loopback
from rowlock.v1 import lock_pb2, lock_service_pb2

if TYPE_CHECKING:
    from rowlock.waiting import Waiting

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
    """The certificates of a TLS connection. Raises OptionError if only one of `cert` and `key` is given.

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
            raise OptionError(["tls: set both cert and key, or neither"])

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
    if pem is None:
        return None
    read = pem if isinstance(pem, bytes) else Path(pem).read_bytes()
    # Some editors begin a file with a byte order mark, and PEM must begin with its first line.
    return read.removeprefix(codecs.BOM_UTF8)


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
    """Waiters before this one, at the same pool if it waits at one."""
    permits_ahead: int
    """Permits that the waiters before this one ask for."""
    queue_length: int
    """Waiters in the whole queue, or at the pool, this one included."""
    waited: float
    """Seconds for which this one has waited."""
    rate_wait: float | None = None
    """Seconds for which the lock's rate alone keeps it waiting; None: it has no rate, or the server does not say."""
    pool: str | None = None
    """The pattern of the pool at which it waits, as it has its own lock; None: it waits at none that the caller may see."""
    waits_for: str | None = None
    """Of a claim for several locks: the one at which most are before it, of which all this is; None: it is for one lock."""


class LeaseOptions(RecordOptions, total=False):
    """The options of each lease."""

    ttl: Seconds
    """Time to live of the lease; 30 by default. The client renews it after each third of it.

    FOREVER: without end; not for `capture`.
    """
    margin: Seconds
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
    also: Sequence[str | WantedLock]
    """Further locks of the same claim, at most 7: it gets all of them or none, with one lease.

    `permits` and `mode` are those of the first lock; a further one that wants others is a WantedLock. The rest of the options
    is for all of them. While the claim waits for one of its locks it holds none, but where it is first nobody passes it.
    """
    reentrant: bool
    """If this thread (in asyncio: this task) already holds the lock by a call that was reentrant, too: hold it once more.

    Both locks have one lease, which the last release ends. False by default.
    """


class AskOptions(TryOptions, total=False):
    """The options of `lock` and `acquire` that go to the server."""

    wait: Seconds
    """The longest wait; 0: do not wait. FOREVER by default."""
    head_start: Seconds
    """Queued as if it had come so much earlier, as far as the lock's queue rules allow (`head_start_max`); 0 by default.

    It takes the right `head_start`, and does not go with `also`.
    """
    position_interval: Seconds
    """The shortest time between two calls of `on_position`; 1 by default."""


class WaitOptions(AskOptions, total=False):
    """The options of a lock that is waited for."""

    on_position: Callable[[Place], object]
    """Called with each new place in the queue. An exception that it raises ends the wait, and the wait raises it."""
    on_waiting: Callable[[Waiting], object]
    """Called when a wait takes long, with what it waits for: after `explain_after` of `connect`, and then each minute.

    It is called at once if this client itself holds the lock.
    """


class LockOptions(WaitOptions, total=False):
    """The options of `lock` and `acquire` of the client for threads."""

    cancel: Cancellation
    """Cancels the wait, from another thread."""


class TrySpendOptions(TypedDict, total=False):
    """The options of `try_spend`. They mean the same as for a lock."""

    permits: int
    """How many permits of the rate to take, all or none; 1 by default."""
    owner: str
    """Who spends, shown to people; by default the owner of the client."""
    labels: Mapping[str, str]
    """Labels, in addition to those of the client."""
    if_status: str | Sequence[str]
    """Spend only if the lock has this status, or one of these."""
    request_id: str
    """A call that repeats it gets the same `Spent`, and takes nothing more. Default: a new id for each call."""


class AioSpendOptions(TrySpendOptions, total=False):
    """The options of `spend` in asyncio. Cancelling the task cancels the wait."""

    wait: Seconds
    """The longest wait; 0: do not wait. FOREVER by default."""
    head_start: Seconds
    """As for a lock."""
    position_interval: Seconds
    """The shortest time between two calls of `on_position`; 1 by default."""
    on_position: Callable[[Place], object]
    """As for a lock."""
    on_waiting: Callable[[Waiting], object]
    """As for a lock."""


class SpendOptions(AioSpendOptions, total=False):
    """The options of `spend` of the client for threads."""

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
    wait: Seconds
    """The longest wait for the first lock; 0 by default: do not wait. FOREVER: without end."""


class CaptureOptions(AskCaptureOptions, total=False):
    """The options of `capture` of the client for threads."""

    cancel: Cancellation
    """Cancels the wait, from another thread."""


class AioCaptureOptions(AskCaptureOptions, total=False):
    """The options of `capture` in asyncio. Cancelling the task cancels the wait."""

    cancel_on_loss: bool
    """Whether the loss of a captured lock cancels the task in that lock's own `async with`; True by default."""


class AioWatchOptions(TypedDict, total=False):
    """The options of `watch` in asyncio: none. Cancelling the task cancels the watch."""


class WatchOptions(AioWatchOptions, total=False):
    """The options of `watch` of the client for threads."""

    cancel: Cancellation
    """Ends the watch, from another thread; its loop then raises a RowlockError with CANCELLED."""


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
    named_owner: str | None
    labels: Mapping[str, str]
    tls: TlsOptions | None
    token: TokenSource | None
    connect_timeout: float
    give_up_after: float
    explain_after: float

    @property
    def owner(self) -> str:
        """The owner of claims that name none; a process that was forked has its own."""
        return f"{socket.gethostname()}:{os.getpid()}" if self.named_owner is None else self.named_owner


@dataclass(frozen=True)
class OwnOption:
    """The option that only the client for threads has, or only the one for asyncio."""

    name: str
    kind: Kind
    default: Any


CANCEL = OwnOption("cancel", cancellation, None)
CANCEL_ON_LOSS = OwnOption("cancel_on_loss", flag, True)


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
    is_reentrant: bool = False
    on_position: Callable[[Place], object] | None = None
    on_waiting: Callable[[Waiting], object] | None = None
    own: Any = None
    """The value of the OwnOption."""

    @property
    def locks(self) -> list[WantedLock]:
        """The lock, and the further ones."""
        request = self.request
        first = WantedLock(request.name, mode_of(request.mode), request.permits or 1)
        return [first, *(WantedLock(each.name, mode_of(each.mode), each.permits) for each in request.also)]

    @property
    def names(self) -> list[str]:
        """The names of all locks that are asked for."""
        return [each.name for each in self.locks]


@dataclass(frozen=True)
class AskedCapture:
    """The checked options of a capture."""

    request: lock_service_pb2.CaptureRequest
    """The request without the fields that differ between tries."""
    wait: float
    margin: float
    request_id: str | None
    terms: Terms
    own: Any = None
    """The value of the OwnOption."""


_LEASE_KINDS: dict[str, Kind] = {
    **RECORD_KINDS,
    "margin": seconds,
    "owner": text,
    "labels": text_mapping,
    "request_id": text,
}
_TRY_KINDS: dict[str, Kind] = {
    **_LEASE_KINDS,
    "ttl": seconds_or_forever,
    "permits": count_from(1),
    "mode": one_of(*MODES),
    "also": also_list,
    "reentrant": flag,
}
_LOCK_KINDS: dict[str, Kind] = {
    **_TRY_KINDS,
    "wait": wait_seconds,
    "head_start": seconds,
    "position_interval": wait_seconds,
    "on_position": function,
    "on_waiting": function,
}
_TRY_SPEND_KINDS: dict[str, Kind] = {
    name: _TRY_KINDS[name] for name in ("permits", "owner", "labels", "if_status", "request_id")
}
_SPEND_KINDS: dict[str, Kind] = {
    **_TRY_SPEND_KINDS,
    **{
        name: _LOCK_KINDS[name]
        for name in ("wait", "head_start", "position_interval", "on_position", "on_waiting")
    },
}
_CAPTURE_KINDS: dict[str, Kind] = {
    **_LEASE_KINDS,
    "ttl": seconds,
    "prefix": text,
    "names": texts,
    "count": count_from(1),
    "wait": wait_seconds,
}
_SCHEMES = ("dns:", "unix:", "unix-abstract:", "ipv4:", "ipv6:", "vsock:", "xds:")
_HOST_AND_PORT = re.compile(r"(\[[^\[\]\s]+\]|[^\[\]:/\s]+):(\d{1,5})")
_PORT_MAX = 65_535


def _tls(value: Any) -> Any:
    if not isinstance(value, (bool, TlsOptions)):
        raise Wrong("must be True, False or TlsOptions")
    return value


def _token(value: Any) -> Any:
    if isinstance(value, type):
        raise Wrong("must be a str, a TokenFile or a function")
    return value


def settings_of(
    addresses: str | Sequence[str],
    *,
    owner: str | None,
    labels: Mapping[str, str] | None,
    tls: bool | TlsOptions,
    token: str | TokenFile | Callable[[], Any] | None,
    allow_token_in_plaintext: bool,
    connect_timeout: Seconds,
    give_up_after: Seconds,
    explain_after: Seconds,
) -> Settings:
    """Return the checked options; raise OptionError if one cannot work."""
    faults: list[str] = []
    right = checked(
        {
            "addresses": [addresses] if isinstance(addresses, str) else addresses,
            "tls": tls,
            # A faulty token is not shown.
            "token": token
            if isinstance(token, (str, TokenFile, type(None))) or callable(token)
            else type(token),
            "owner": owner,
            "labels": labels,
            "connect_timeout": connect_timeout,
            "give_up_after": give_up_after,
            "explain_after": explain_after,
            "allow_token_in_plaintext": allow_token_in_plaintext,
        },
        _SETTING_KINDS,
        faults,
    )
    named = tuple(each.strip() for each in right.get("addresses", ()))
    if not named and not faults:
        faults.append("addresses: name at least one server, as host:port")
    faults.extend(
        f'addresses: "{each}" must be host:port, as in "localhost:50051"'
        for each in named
        if not _is_address(each)
    )
    remote = [each for each in named if not is_loopback(each)]
    if token is not None and not tls and remote and not allow_token_in_plaintext:
        faults.append(
            f"token: the connection to {remote[0]} is not encrypted, so others could read the token; "
            "set tls, or allow_token_in_plaintext if nobody listens on the way"
        )
    refuse(faults)
    return Settings(
        addresses=named,
        named_owner=owner,
        labels=right.get("labels", {}),
        tls=(TlsOptions() if tls else None) if isinstance(tls, bool) else tls,
        token=None if token is None else TokenSource(token),
        connect_timeout=right["connect_timeout"],
        give_up_after=right["give_up_after"],
        explain_after=right["explain_after"],
    )


_SETTING_KINDS: dict[str, Kind] = {
    "addresses": texts,
    "owner": text,
    "labels": text_mapping,
    "connect_timeout": time_limit,
    "give_up_after": time_limit,
    "explain_after": time_limit,
    "allow_token_in_plaintext": flag,
    "tls": _tls,
    "token": _token,
}


def _is_address(address: str) -> bool:
    if address.startswith(_SCHEMES):
        return True
    match = _HOST_AND_PORT.fullmatch(address)
    return match is not None and 0 < int(match.group(2)) <= _PORT_MAX


def asked_of(name: str, own: OwnOption = CANCEL, /, *, is_try: bool = False, **options: Any) -> Asked:
    """Return the checked options; raise OptionError for what no request can hold.

    The server checks its own bounds, as it reports all violations at once.
    """
    faults: list[str] = [] if name is not None else ["name: it must be a str"]
    right = checked({"name": name}, {"name": text}, faults)
    kinds = _TRY_KINDS if is_try else _LOCK_KINDS
    right.update(checked(options, {**kinds, own.name: own.kind}, faults))
    ttl = right.get("ttl", _TTL)
    margin = _margin_of(ttl, right.get("margin"), faults)
    also = wanted_locks(right.get("also", ()), faults)
    refuse(faults)
    terms = terms_of(right)
    request = lock_service_pb2.AcquireRequest(terms=_lease_terms(ttl, terms, right), also=also)
    return _asked_for(request, right, margin, terms, own, is_try=is_try)


def spend_asked_of(name: str, own: OwnOption = CANCEL, /, *, is_try: bool = False, **options: Any) -> Asked:
    """Return the checked options of a request that only spends; raise OptionError for what no request can hold."""
    faults: list[str] = [] if name is not None else ["name: it must be a str"]
    right = checked({"name": name}, {"name": text}, faults)
    kinds = _TRY_SPEND_KINDS if is_try else _SPEND_KINDS
    right.update(checked(options, {**kinds, **({own.name: own.kind} if own is CANCEL else {})}, faults))
    refuse(faults)
    terms = terms_of(right)
    asked = lock_pb2.LeaseTerms(owner=right.get("owner", ""), labels=right.get("labels", {}))
    terms.put_into(asked)
    request = lock_service_pb2.AcquireRequest(terms=asked, spend_only=True)
    return _asked_for(request, right, 0.0, terms, own, is_try=is_try)


def _asked_for(
    request: lock_service_pb2.AcquireRequest,
    right: Mapping[str, Any],
    margin: float,
    terms: Terms,
    own: OwnOption,
    *,
    is_try: bool,
) -> Asked:
    """Return the request for one lock, with the fields that each has, and how to wait for it."""
    request.name = right["name"]
    request.mode = proto_mode(right.get("mode", "permit"))
    request.permits = right.get("permits", 0)
    if right.get("head_start"):
        request.head_start.CopyFrom(duration_of(right["head_start"]))
    # The protocol takes an empty id as none.
    request_id = right.get("request_id") or None
    if request_id is not None:
        request.request_id = request_id
    return Asked(
        request,
        0.0 if is_try else right.get("wait", FOREVER),
        margin,
        request_id,
        right.get("position_interval", _POSITION_INTERVAL),
        terms,
        is_reentrant=right.get("reentrant", False),
        on_position=right.get("on_position"),
        on_waiting=right.get("on_waiting"),
        own=right.get(own.name, own.default),
    )


def capture_asked_of(own: OwnOption = CANCEL, /, **options: Any) -> AskedCapture:
    """Return the checked options; raise OptionError for what no request can hold."""
    faults: list[str] = []
    right = checked(options, {**_CAPTURE_KINDS, own.name: own.kind}, faults)
    ttl = right.get("ttl", _TTL)
    margin = _margin_of(ttl, right.get("margin"), faults)
    # A request holds only one of them: the server would not see the other.
    if options.get("prefix") is not None and options.get("names") is not None:
        faults.append("prefix and names: set one of them")
    refuse(faults)
    terms = terms_of(right)
    request = lock_service_pb2.CaptureRequest(
        prefix=right.get("prefix"),
        names=lock_service_pb2.LockNames(names=right["names"]) if "names" in right else None,
        max_leases=right.get("count", 1),
        terms=_lease_terms(ttl, terms, right),
    )
    request_id = right.get("request_id") or None
    if request_id is not None:
        request.request_id = request_id
    return AskedCapture(
        request, right.get("wait", 0.0), margin, request_id, terms, right.get(own.name, own.default)
    )


def _lease_terms(ttl: float, terms: Terms, right: Mapping[str, Any]) -> lock_pb2.LeaseTerms:
    """Return what the checked options ask of a lease."""
    asked = lock_pb2.LeaseTerms(owner=right.get("owner", ""), labels=right.get("labels", {}))
    if math.isinf(ttl):
        asked.no_expiry.SetInParent()
    else:
        asked.ttl.CopyFrom(duration_of(ttl))
    terms.put_into(asked)
    return asked


def watch_asked_of(prefix: str, own: OwnOption, **options: Any) -> Any:
    """Return the value of the OwnOption; raise OptionError for what no request can hold."""
    faults: list[str] = []
    kinds = {"prefix": text, **({own.name: own.kind} if own is CANCEL else {})}
    right = checked({"prefix": prefix, **options}, kinds, faults)
    refuse(faults)
    return right.get(own.name, own.default)


def _margin_of(ttl: float, margin: float | None, faults: list[str]) -> float:
    if margin is None:
        return 0.0 if math.isinf(ttl) else min(ttl * _MARGIN_SHARE, _MARGIN_MAX)
    if math.isinf(ttl) or not 0 <= margin < ttl / 2:
        faults.append(f"margin: {margin:g} s must be less than half of the ttl of {ttl:g} s")
    return margin
