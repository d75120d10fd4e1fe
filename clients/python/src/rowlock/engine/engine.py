"""The engine of a client: one thread, one connection, and all that is held and asked for. Both kinds of client stand on it.

What it is asked for is answered by futures of concurrent.futures; whoever cancels one gives up.
"""

from __future__ import annotations

import atexit
import math
import os
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from rowlock.clock import Clock
from rowlock.clock import now as clock_now
from rowlock.connection.connection import Connection
from rowlock.connection.connections import Connections
from rowlock.engine.acquisition import Acquisition, Outcome
from rowlock.engine.ask_once import Repeat, ask_once
from rowlock.engine.calls import Calls
from rowlock.engine.event_loop import EventLoop
from rowlock.engine.futures import reject, resolve
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.lease_keeper import LeaseKeeper
from rowlock.engine.renewal import renew_command
from rowlock.engine.teller import Latest, Tell
from rowlock.errors import RowlockError, closed, forked
from rowlock.options import Asked, ConnectionEvent, Headers, Place, Settings
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


@dataclass(frozen=True)
class Released:
    """What became of a lease that was given back."""

    by_this_call: bool
    had_ended: bool = False
    """The server says that it had ended before, and no earlier try of this call can have done that."""


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
        self._acquisitions: set[Acquisition] = set()
        self._held: dict[str, HeldLease] = {}
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
            except Exception as error:
                why = error
                self._loop.post(lambda: acquisition.abandon(why))

        acquisition = Acquisition(
            self._calls,
            self._now,
            asked,
            self._settings.give_up_after,
            keep=self._keep,
            give_back=self._give_back,
            ended=self._acquisitions.discard,
            moved=Latest(tell, moved) if on_position else None,
        )

        def begin() -> None:
            if self._closed:
                acquisition.abandon(closed())
                return
            self._acquisitions.add(acquisition)
            acquisition.begin()

        def given_up(future: Future[Outcome]) -> None:
            if future.cancelled():
                self._loop.post(lambda: acquisition.abandon(None))

        acquisition.outcome.add_done_callback(given_up)
        self._loop.post(begin)
        return acquisition.outcome

    def give_up(self, outcome: Future[Outcome]) -> None:
        """Cancel what was asked for, and give back what came in that moment."""
        if not outcome.cancel():
            outcome.add_done_callback(self._give_back_outcome)

    def release(self, lease: HeldLease) -> Future[Released]:
        """Give it back. It is nobody's from now on."""
        self.check_fork()
        future: Future[Released] = Future()

        def begin() -> None:
            if self._is_finished:
                resolve(future, Released(False))
                return
            is_held = lease.loss is None
            # By then it has ended by itself.
            within = lease.remaining + lease.margin
            self._forget(lease, "released")
            if is_held:
                self._release(lease.id, future, within)
                return
            # It was lost by this client's own count, perhaps, and the server keeps it still.
            self._give_back(lease.id)
            resolve(future, Released(False))

        lease.look()
        self._loop.post(begin)
        return future

    def release_by_id(self, lease_id: str) -> Future[Released]:
        """End a lease or give up a place."""
        self._check()
        lease = self._held.get(lease_id)
        if lease:
            return self.release(lease)
        ReleaseRequest(lease_id=lease_id)
        future: Future[Released] = Future()
        self._post(lambda: self._release(lease_id, future), future)
        return future

    def hand_over(self, lease: HeldLease, ttl: float | None) -> Future[Lease]:
        """Renew it once more, and then no more."""
        command = renew_command(lease.id, ttl)

        def read(result: SessionResult) -> Lease:
            self._forget(lease, "handed over")
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
        for lease in self._held.values():
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
        if any(result.wait_in_queue.granted.provisional for result in response.results):
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

    def _keep(self, lease: HeldLease) -> None:
        self._held[lease.id] = lease
        self._keeper.keep(lease)

    def _forget(self, lease: HeldLease, how: str) -> None:
        self._held.pop(lease.id, None)
        self._keeper.drop(lease)
        lease.give_back(how)

    def _give_back(self, claim_id: str) -> None:
        """Of what nobody wants any more. If it does not arrive, it ends by itself."""
        lease = self._held.get(claim_id)
        if lease:
            self._forget(lease, "released")
        self._release(claim_id, Future())

    def _give_back_outcome(self, outcome: Future[Outcome]) -> None:
        if outcome.cancelled() or outcome.exception() is not None:
            return
        result = outcome.result()
        if isinstance(result, HeldLease):
            self._loop.post(lambda: self._give_back(result.id))

    def _release(self, claim_id: str, future: Future[Released], within: float = math.inf) -> None:
        def read(result: SessionResult, times_sent: int) -> Released:
            released = result.release.released
            return Released(released, had_ended=not released and times_sent == 1)

        ask_once(
            self._calls,
            SessionCommand(release=ReleaseRequest(lease_id=claim_id)),
            read,
            future,
            give_up_after=min(self._settings.give_up_after, within),
            kind="urgent",
        )

    def _close(self) -> None:
        for acquisition in list(self._acquisitions):
            acquisition.abandon(closed())
        # Who cannot be told now ends by itself: a lease with its time to live, a place with the grace period.
        for lease in list(self._held.values()):
            self._give_back(lease.id)
        if not self._connections.is_open:
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
        for lease in list(self._held.values()):
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
