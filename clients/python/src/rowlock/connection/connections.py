"""Keeps one connection open while it is needed, and knows nothing of the calls in it.

It connects to the first server that answers, and to another one when the connection is lost or its server stops.
A connection is a session; if a session is refused before the server's first response, it is one of unary calls.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Protocol

from rowlock.backoff import backoff
from rowlock.clock import Clock
from rowlock.connection.channels import open_channel
from rowlock.connection.connection import Connection
from rowlock.connection.diagnoses import Diagnoses
from rowlock.connection.preparation import Preparation, Prepared
from rowlock.connection.session_connection import SessionConnection
from rowlock.connection.unary_connection import UnaryConnection
from rowlock.diagnosis import Diagnosis
from rowlock.errors import RowlockError, no_server
from rowlock.event_loop import EventLoop, Timer
from rowlock.options import ConnectionEvent, Settings
from rowlock.reason import Reason
from rowlock.v1.lock_service_pb2 import SessionResponse

# Request bytes that any server takes: the least that can be configured. It holds until a server reports its bound.
_BYTES_MAX_AT_FIRST = 1_024
# A connection that ends within so many seconds counts as a failure, so that its successor is not opened at once.
_LASTED = 1.0
# A function for the headers or the token that hangs is called again, as the next call may well return, but not for ever:
# each such call costs a thread.
_PREPARING_MAX = 3
# Seconds without a server after which the client looks why, and says so.
_PATIENCE = 1.0
_HOPELESS = "No server answers, and waiting does not help."
_FOREIGN = "a gRPC server answers there, but not a Rowlock server: check the port"
# Another server would answer the same.
_HOPELESS_CODES = ("INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED")
# An older server, or a proxy that lets no stream through, refuses a session with one of these codes: its own one, or
# one that gRPC derives from HTTP (404; 400 and a reset stream; 405 and others; 403).
_SESSION_REFUSED_CODES = ("UNIMPLEMENTED", "INTERNAL", "UNKNOWN", "PERMISSION_DENIED")


class Listener(Protocol):
    """Receives the events of all connections."""

    def is_needed(self) -> bool:
        """Whether a lease is held or a call is open."""

    def begun(self, connection: Connection) -> None:
        """Take a new connection: it takes commands, but its server has not answered yet."""

    def responded(self, connection: Connection, response: SessionResponse, basis: float) -> None:
        """Take a response."""

    def leaving(self, connection: Connection) -> None:
        """Send nothing more to the connection, as its server stops; answers may still come."""

    def ended(self, connection: Connection, error: RowlockError) -> None:
        """Take the end of a connection."""

    def unanswered(self, diagnoses: tuple[Diagnosis, ...]) -> None:
        """Take that no server has answered for a while."""

    def hopeless(self, error: RowlockError) -> None:
        """Take an error that every server would answer with."""

    def notify(self, event: ConnectionEvent) -> None:
        """Notify the user."""


class Connections:
    """For use on the engine's thread only."""

    def __init__(
        self,
        settings: Settings,
        preparation: Preparation,
        loop: EventLoop,
        now: Clock,
        listener: Listener,
    ) -> None:
        """If the preparation may block, it has a separate thread."""
        self._settings = settings
        self._preparation = preparation
        self._loop = loop
        self._now = now
        self._listener = listener
        # All connections that have not ended: the current one, and those whose servers stop.
        self._connections: set[Connection] = set()
        self._current: Connection | None = None
        # The number of the current attempt to open a connection; 0: none.
        self._attempt = 0
        self._attempts = 0
        # How many preparations run.
        self._preparing = 0
        self._prepared = Prepared((), None, None)
        self._pause: Timer | None = None
        self._open_timer: Timer | None = None
        self._address = 0
        self._failures = 0
        self._bytes_max = _BYTES_MAX_AT_FIRST
        self._opened_at = math.inf
        self._is_closed = False
        # Since a server has last answered, a connection was opened at once as the credentials of the one before were
        # refused.
        self._is_asked_again = False
        self.diagnoses = Diagnoses(settings.addresses, loop, now, self._diagnosed)
        # Started while no server answers; whether it is over, and the listener knows why.
        self._patience: Timer | None = None
        self._is_patience_over = False
        self._is_said = False
        # Addresses whose gRPC servers have another service.
        self._foreign: set[str] = set()
        self.last_error: RowlockError | None = None
        """Why the last connection ended, or could not be opened."""

    @property
    def is_open(self) -> bool:
        """Whether there is a connection whose server has answered."""
        return self._current is not None and self._current.opened is not None

    @property
    def renewals_max(self) -> int:
        """The most leases that one command may renew."""
        return self._current.renewals_max if self._current else 1

    def need(self) -> None:
        """Open a connection, unless there is one or one is being opened."""
        if self._current or self._pause or self._attempt or self._is_closed:
            return
        self._attempts += 1
        attempt = self._attempt = self._attempts
        if self._patience is None:
            self._patience = self._loop.call_later(_PATIENCE, self._lose_patience)
        self._open_timer = self._loop.call_later(
            self._settings.connect_timeout, lambda: self._timed_out(attempt)
        )
        # This attempt then takes what one of an earlier attempt gives.
        if self._preparing == _PREPARING_MAX:
            return
        self._preparing += 1
        if self._preparation.may_block:
            threading.Thread(
                target=self._prepare, args=(attempt,), name="rowlock-prepare", daemon=True
            ).start()
        else:
            self._prepare(attempt)

    def leave(self, error: RowlockError) -> None:
        """Move to another server, as this one answers but fails the renewals.

        It stays if there is only one server, or if the connection is still new.
        """
        connection = self._current
        if connection is None or not self._has_lasted(connection) or len(self._settings.addresses) < 2:
            return
        connection.destroy()
        self.ended(connection, error)

    def close(self, within: float, closed: Callable[[], None]) -> None:
        """Close all connections gracefully, within so many seconds; then call `closed`."""
        self._is_closed = True
        self._stop_timers()
        self._be_patient_again()
        connections, self._connections, self._current = self._connections, set(), None
        left = len(connections)
        if left == 0:
            closed()

        def one_closed() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                closed()

        for connection in connections:
            if connection.opened is None:
                connection.destroy()
                one_closed()
            else:
                connection.close(within, one_closed)

    def _lose_patience(self) -> None:
        """Find out why no server answers, if somebody needs one."""
        if not self._listener.is_needed():
            self._be_patient_again()
            return
        self._is_patience_over = True
        self._look()
        self._say()

    def _be_patient_again(self) -> None:
        if self._patience:
            self._patience.cancel()
        self._patience = None
        self._is_patience_over = self._is_said = False
        self._foreign.clear()
        self.diagnoses.clear()

    def _diagnosed(self) -> None:
        if self.is_open or self._is_closed:
            return
        if self.diagnoses.are_lasting:
            self._listener.hopeless(no_server(_HOPELESS, self.diagnoses.all))
        else:
            self._say()

    def _say(self) -> None:
        """Say once why no server answers, when that has taken a while."""
        if self.diagnoses.all and self._is_patience_over and not self._is_said:
            self._is_said = True
            self._listener.unanswered(self.diagnoses.all)

    def _look(self) -> None:
        # Without the certificates, which may still be read, a probe would find something else.
        if self._settings.tls is None or self._prepared.tls is not None:
            self.diagnoses.look(self._prepared.tls)

    def _prepare(self, attempt: int) -> None:
        """Runs on its own thread, if it may block."""
        try:
            prepared = self._preparation.prepare()
        except RowlockError as failure:
            error = failure
            self._loop.post(lambda: self._unprepared(attempt, error))
            return
        self._loop.post(lambda: self._open(prepared))

    def _unprepared(self, attempt: int, error: RowlockError) -> None:
        self._preparing -= 1
        if attempt != self._attempt:
            return
        self._listener.notify(ConnectionEvent("disconnected", self._address_now, "session", error=error))
        is_asking_again = self._asks_again(error)
        self._next(error, at_once=is_asking_again)
        if not is_asking_again:
            self._listener.hopeless(error)

    def _asks_again(self, error: RowlockError) -> bool:
        """Whether a connection was refused for credentials for the first time, and the next one may have others."""
        first = error.is_of_credentials and not self._is_asked_again and self._preparation.may_change
        self._is_asked_again = self._is_asked_again or first
        return first

    def _timed_out(self, attempt: int) -> None:
        """The headers or the server's first answer did not come in time."""
        if self._attempt != attempt:
            return
        address, timeout = self._address_now, self._settings.connect_timeout
        error = RowlockError(
            Reason.UNKNOWN, "UNAVAILABLE", f"{address} did not answer within {timeout:.3g} s."
        )
        connection = self._current
        if connection is None:
            self._next(error)
            return
        connection.destroy()
        self.ended(connection, error)

    @property
    def _address_now(self) -> str:
        return self._settings.addresses[self._address % len(self._settings.addresses)]

    def _open(self, prepared: Prepared) -> None:
        self._preparing -= 1
        # The one of an earlier attempt may have come first.
        if not self._attempt or self._current or self._is_closed:
            return
        settings, address = self._settings, self._address_now
        self._prepared = prepared
        self._begin(
            SessionConnection(
                address,
                open_channel(address, prepared.tls, is_proxied=address in prepared.proxied),
                prepared.metadata,
                owner=settings.owner,
                labels=settings.labels,
                bytes_max=self._bytes_max,
                loop=self._loop,
                now=self._now,
                listener=self,
            )
        )

    def _open_unary(self, address: str) -> None:
        settings, prepared = self._settings, self._prepared
        self._begin(
            UnaryConnection(
                address,
                open_channel(address, prepared.tls, is_proxied=address in prepared.proxied),
                prepared,
                self._preparation.token,
                owner=settings.owner,
                labels=settings.labels,
                loop=self._loop,
                now=self._now,
                listener=self,
            )
        )

    def _begin(self, connection: Connection) -> None:
        self._connections.add(connection)
        self._current = connection
        self._listener.begun(connection)

    def responded(self, connection: Connection, response: SessionResponse, basis: float) -> None:
        """Take a response."""
        if response.HasField("opened") and connection is self._current:
            self._stop_timers()
            self._be_patient_again()
            self._is_asked_again = False
            if isinstance(connection, SessionConnection):
                self._bytes_max = connection.bytes_max
            self._opened_at = self._now()
            replica = response.opened.replica
            self._listener.notify(ConnectionEvent("connected", connection.address, connection.via, replica))
        if response.going_away and connection is self._current:
            self._current = None
            self._listener.leaving(connection)
            message = f"{connection.address} is stopping."
            stopping = RowlockError(Reason.SHUTTING_DOWN, "UNAVAILABLE", message)
            self._next(stopping, has_lasted=self._has_lasted(connection))
        self._listener.responded(connection, response, basis)

    def ended(self, connection: Connection, error: RowlockError) -> None:
        """Take the end of a connection, and open another one if it was the current one."""
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        was_current = connection is self._current
        if was_current:
            self._current = None
        if was_current and _is_no_stream(connection, error):
            self._listener.ended(connection, error)
            self._open_unary(connection.address)
            return
        self._listener.notify(
            ConnectionEvent("disconnected", connection.address, connection.via, error=error)
        )
        is_refused = was_current and connection.opened is None
        is_asking_again = is_refused and self._asks_again(error)
        # Before the listener is notified, as the listener asks for a connection at once.
        if was_current:
            self._next(error, has_lasted=self._has_lasted(connection), at_once=is_asking_again)
        self._listener.ended(connection, error)
        if is_refused and _is_hopeless(error) and not is_asking_again:
            self._listener.hopeless(error)
        if is_refused and error.code == "UNIMPLEMENTED":
            self._foreign.add(connection.address)
            if self._foreign.issuperset(self._settings.addresses):
                found = tuple(
                    Diagnosis(each, "other_protocol", _FOREIGN) for each in self._settings.addresses
                )
                self._listener.hopeless(no_server(_HOPELESS, found))

    def _next(self, error: RowlockError, *, has_lasted: bool = False, at_once: bool = False) -> None:
        """Try the next server: at once, or after a pause when all servers have failed in turn."""
        self._stop_timers()
        count = len(self._settings.addresses)
        self.last_error = error
        self._failures = 0 if has_lasted else self._failures + 1
        self._address = (self._address + 1) % count
        rounds, rest = divmod(self._failures, count)
        if rounds > 0 and rest == 0 and error.code == "UNAVAILABLE" and self._listener.is_needed():
            self._look()
        pause = backoff(rounds) if rounds > 0 and rest == 0 and not at_once else 0.0
        if not self._is_closed:
            self._pause = self._loop.call_later(pause, self._after_pause)

    def _after_pause(self) -> None:
        self._pause = None
        if self._listener.is_needed():
            self.need()

    def _stop_timers(self) -> None:
        """Cancel the current attempt, if any."""
        self._attempt = 0
        for timer in (self._pause, self._open_timer):
            if timer:
                timer.cancel()
        self._pause = self._open_timer = None

    def _has_lasted(self, connection: Connection) -> bool:
        return connection.opened is not None and self._now() - self._opened_at >= _LASTED


def _is_no_stream(connection: Connection, error: RowlockError) -> bool:
    is_answered = connection.opened is not None or connection.via != "session"
    return not is_answered and error.reason == Reason.UNKNOWN and error.code in _SESSION_REFUSED_CODES


def _is_hopeless(error: RowlockError) -> bool:
    return error.code in _HOPELESS_CODES or error.reason == Reason.MESSAGE_TOO_LARGE
