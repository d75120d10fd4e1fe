"""The engine of a client: one thread, one connection, and all that is held and asked for. Both kinds of client stand on it.

What it is asked for is answered by futures of concurrent.futures; whoever cancels one gives up.
"""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from rowlock.clock import Clock
from rowlock.clock import now as clock_now
from rowlock.connection.connection import Connection
from rowlock.connection.connections import Connections
from rowlock.engine.acquisition import Acquisition, Outcome
from rowlock.engine.ask_once import Repeat, ask_once
from rowlock.engine.calls import Calls
from rowlock.engine.capture import Capture, CapturedLeases
from rowlock.engine.event_loop import EventLoop
from rowlock.engine.futures import reject, resolve
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.held_leases import HeldLeases, Released
from rowlock.engine.lease_keeper import LeaseKeeper
from rowlock.engine.left_behind import LeftBehind
from rowlock.engine.renewal import renew_command
from rowlock.engine.teller import Latest, Tell
from rowlock.errors import RowlockError, closed, forked
from rowlock.options import Asked, AskedCapture, ConnectionEvent, Headers, Place, Settings
from rowlock.reasons import Reason
from rowlock.v1.lock_pb2 import Lease
from rowlock.v1.lock_service_pb2 import (
    ReleaseRequest,
    SessionCommand,
    SessionResponse,
    SessionResult,
)

# What closing may take: to give back what is held, and then to close the connection in good order.
_GIVE_BACK_WITHIN = 2.0
_CLOSE_WITHIN = 1.0
_JOIN_WITHIN = _GIVE_BACK_WITHIN + _CLOSE_WITHIN + 1.0

Value = TypeVar("Value")


class Engine:
    """Begins with the first thing that is asked for. Its methods may be called on any thread, and do not wait."""

    def __init__(
        self,
        settings: Settings,
        headers: Headers | Callable[[], Headers],
        tell: Callable[[ConnectionEvent], None],
        now: Clock = clock_now,
    ) -> None:
        """`headers`, where they are a function, may block; `tell` must not."""
        self._settings = settings
        self._now = now
        self._tell = tell
        self._loop = EventLoop("rowlock", now, self._crashed)
        self._calls = Calls(
            self._loop,
            now,
            settings.addresses,
            need=lambda: self._connections.need(),
            last_error=lambda: self._connections.last_error,
        )
        self._keeper = LeaseKeeper(self._calls, self._loop, now)
        self._connections = Connections(settings, headers, self._loop, now, self)
        self._keeper.connections = self._connections
        self._left_behind = LeftBehind(
            settings, headers, lambda lease_id: self._held.find(lease_id) is not None
        )
        self._held = HeldLeases(self._calls, self._keeper, self._left_behind, settings.give_up_after)
        self._acquisitions: set[Acquisition | Capture] = set()
        self._closed: Future[None] | None = None
        self._is_finished = False
        # Read on any thread.
        self._refuse: Callable[[], RowlockError] | None = None
        _engines.add(self)

    def acquire(
        self, asked: Asked, on_position: Callable[[Place], object] | None, tell: Tell
    ) -> Future[Outcome]:
        """Ask for a lock; `on_position` is called where `tell` has it run, until there is an outcome."""
        self._check()

        def moved(place: Place) -> None:
            if on_position is None or acquisition.outcome.done():
                return
            try:
                on_position(place)
            # SystemExit, too: it is raised where the lock is waited for.
            except BaseException as error:
                why = error
                self._loop.post(lambda: acquisition.abandon(why))

        acquisition = Acquisition(
            self._calls,
            self._now,
            asked,
            self._settings.give_up_after,
            self._held,
            ended=self._acquisitions.discard,
            moved=Latest(tell, moved) if on_position else None,
            is_shared=self._is_shared,
        )
        if asked.request_id:
            self._left_behind.forget(asked.request_id)
        self._begin(acquisition, acquisition.outcome)
        return acquisition.outcome

    def capture(self, asked: AskedCapture) -> Future[CapturedLeases]:
        """Ask for some of many locks."""
        self._check()
        capture = Capture(
            self._calls,
            self._now,
            asked,
            self._settings.give_up_after,
            self._held,
            ended=self._acquisitions.discard,
        )
        self._begin(capture, capture.outcome)
        return capture.outcome

    def give_up(self, outcome: Future[Outcome] | Future[CapturedLeases]) -> None:
        """Cancel what was asked for, and give back what came in that moment."""
        if not outcome.cancel():
            outcome.add_done_callback(self._let_go_of)

    def release(self, lease: HeldLease, request: ReleaseRequest) -> Future[Released]:
        """Give it back, with what the lock remembers of it. It is nobody's from now on."""
        future: Future[Released] = Future()
        if self._refuse is forked:
            reject(future, forked())
            return future

        def begin() -> None:
            if self._is_finished:
                resolve(future, Released(False))
            else:
                self._held.release(lease, request, future)

        lease.look()
        self._loop.post(begin)
        return future

    def release_by_id(self, request: ReleaseRequest) -> Future[Released]:
        """End a lease or give up a place."""
        self._check()
        lease = self._held.find(request.lease_id)
        if lease:
            return self.release(lease, request)
        future: Future[Released] = Future()
        self._post(lambda: self._held.end(request, future), future)
        return future

    def hand_over(self, lease: HeldLease, ttl: float | None) -> Future[Lease]:
        """Renew it once more, and then no more."""
        command = renew_command(lease.id, ttl)

        def read(result: SessionResult) -> Lease:
            self._held.forget(lease, "handed over")
            return result.renew.lease

        return self.ask(command, read, is_urgent=True)

    def ask(
        self,
        command: SessionCommand,
        read: Callable[[SessionResult], Value],
        *,
        repeat: Repeat = "always",
        is_urgent: bool = False,
    ) -> Future[Value]:
        """Ask for what is answered once."""
        self._check()
        future: Future[Value] = Future()
        self._post(
            lambda: ask_once(
                self._calls,
                command,
                lambda result, _: read(result),
                future,
                give_up_after=self._settings.give_up_after,
                repeat=repeat,
                kind="urgent" if is_urgent else "other",
            ),
            future,
        )
        return future

    def close(self) -> Future[None]:
        """Give up all waits, release all locks, and close the connection. Never fails, and ends in bounded time."""
        self.check_fork()
        if self._closed is None:
            self._closed = Future()
            self._refuse = closed
            self._loop.post(self._close)
        return self._closed

    def join(self) -> None:
        """Wait for the end of the thread of a client that was closed."""
        self._loop.join(_JOIN_WITHIN)

    def check_fork(self) -> None:
        """Raise in the child of a fork."""
        if self._refuse is forked:
            raise forked()

    def forked(self) -> None:
        """Take note that this is the child of a fork: there is no thread here, and the locks belong to the parent."""
        self._refuse = forked
        for lease in self._held:
            lease.disown(forked())

    # What the connections tell.

    def is_needed(self) -> bool:
        """Whether anything is held or asked for."""
        return len(self._calls) > 0 or len(self._keeper) > 0

    def begun(self, connection: Connection) -> None:
        """Send what there is."""
        self._keeper.begun(connection)
        self._calls.begun(connection)

    def responded(self, connection: Connection, response: SessionResponse, basis: float) -> None:
        """Tell everybody whom it concerns."""
        self._keeper.confirmed(response.confirmed, basis)
        self._calls.results(response.results, basis)
        self._keeper.lost(response.lost)
        if response.HasField("opened"):
            self._calls.opened()
        if any(map(_is_provisional, response.results)):
            connection.acknowledge()

    def leaving(self, connection: Connection) -> None:
        """Send nothing there any more."""
        self._keeper.orphaned()
        self._calls.leaving(connection)

    def ended(self, connection: Connection, error: RowlockError) -> None:
        """Go on elsewhere."""
        self._keeper.orphaned()
        self._calls.ended(connection, error)

    def hopeless(self, error: RowlockError) -> None:
        """Fail what was asked for."""
        self._calls.fail_all(error)

    def told(self, event: ConnectionEvent) -> None:
        """Tell the user."""
        self._tell(event)

    # On the thread of the engine.

    def _begin(
        self, acquisition: Acquisition | Capture, outcome: Future[Outcome] | Future[CapturedLeases]
    ) -> None:
        """On any thread."""

        def begin() -> None:
            if self._closed:
                acquisition.abandon(closed())
                return
            self._acquisitions.add(acquisition)
            acquisition.begin()

        def given_up(future: Future[Any]) -> None:
            if future.cancelled():
                self._loop.post(lambda: acquisition.abandon(None))

        outcome.add_done_callback(given_up)
        self._loop.post(begin)

    def _is_shared(self, acquisition: Acquisition) -> bool:
        """Of two calls under one request id, the one that is given up leaves the claim to the other."""
        shared = acquisition.shared_id
        return shared is not None and any(
            isinstance(each, Acquisition) and each is not acquisition and each.shared_id == shared
            for each in self._acquisitions
        )

    def _let_go_of(self, outcome: Future[Any]) -> None:
        if outcome.cancelled() or outcome.exception() is not None:
            return
        result: Outcome | CapturedLeases = outcome.result()
        if isinstance(result, HeldLease):
            self._post_let_go((result,))
        elif isinstance(result, CapturedLeases):
            self._post_let_go(result.leases)

    def _post_let_go(self, leases: Iterable[HeldLease]) -> None:
        def let_go() -> None:
            for lease in leases:
                self._held.let_go(lease)

        self._loop.post(let_go)

    def _close(self) -> None:
        for acquisition in list(self._acquisitions):
            acquisition.abandon(closed())
        # What cannot be told now ends by itself, a lease with its time to live, a place with the grace period, or is left behind.
        self._held.release_all()
        # The first request of a connection has commands, too, before anything was heard of its server.
        if not self._calls.is_owed:
            self._finish()
            return
        late = self._loop.call_later(_GIVE_BACK_WITHIN, self._finish)

        def idle() -> None:
            if not late.is_cancelled:
                late.cancel()
                self._finish()

        self._calls.when_idle(idle)

    def _finish(self) -> None:
        self._keeper.stop()
        self._calls.fail_all(closed())
        self._connections.close(_CLOSE_WITHIN, self._finished)

    def _finished(self) -> None:
        _engines.discard(self)
        self._is_finished = True
        self._loop.stop()
        if self._closed:
            resolve(self._closed, None)

    def _crashed(self, bug: Exception) -> None:
        """Nothing is known for certain any more, so nothing is held."""
        error = RowlockError(Reason.UNKNOWN, "INTERNAL", f"A bug in this client: {bug!r}")
        error.__cause__ = bug
        for lease in self._held:
            lease.lose(error)
        self._calls.fail_all(error)

    # On any thread.

    def _check(self) -> None:
        if self._refuse:
            raise self._refuse()

    def _post(self, begin: Callable[[], None], future: Future[Value]) -> None:
        """Run it on the thread, unless it was closed by then."""

        def run() -> None:
            if self._is_finished:
                reject(future, closed())
            else:
                begin()

        self._loop.post(run)


def _is_provisional(result: SessionResult) -> bool:
    """Whether it brings a lease that is to be acknowledged."""
    return result.wait_in_queue.granted.provisional or any(
        lease.provisional for lease in result.capture.leases
    )


# Those whose thread may run.
_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


def _in_child() -> None:
    for engine in list(_engines):
        engine.forked()
    _engines.clear()


def _at_exit() -> None:
    """Release what a program that ends has left held: nobody works under it any more."""
    engines = list(_engines)
    for engine in engines:
        engine.close()
    for engine in engines:
        engine.join()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
