"""The engine of a client: one thread, one connection, and all leases and calls. Both clients are built on it.

It answers with futures of concurrent.futures; cancelling a future cancels its wait.
"""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from rowlock.checks import OptionError, shown
from rowlock.clock import Clock
from rowlock.clock import now as clock_now
from rowlock.connection.calls import Calls
from rowlock.connection.connection import Connection
from rowlock.connection.connections import Connections
from rowlock.connection.preparation import Preparation
from rowlock.diagnosis import Diagnosis
from rowlock.engine.acquisition import Acquisition, Outcome
from rowlock.engine.ask_once import Repeat, ask_once
from rowlock.engine.callbacks import Latest, Run
from rowlock.engine.capture import Capture, CapturedLeases
from rowlock.engine.futures import reject, resolve
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.held_locks import HeldLocks, Released
from rowlock.engine.lease_keeper import LeaseKeeper
from rowlock.engine.left_behind import LeftBehind
from rowlock.engine.lock_watch import LockWatch
from rowlock.engine.renewal import renew_command
from rowlock.engine.wait_notices import WaitLedger, WaitNotices
from rowlock.errors import RowlockError, closed, forked, given_up, lost_by
from rowlock.event_loop import EventLoop
from rowlock.options import Asked, AskedCapture, ConnectionEvent, Headers, Place, Settings
from rowlock.reason import Reason
from rowlock.telemetry import LockSpan, Telemetry, traceparent
from rowlock.times import Seconds
from rowlock.v1.lock_pb2 import Lease
from rowlock.v1.lock_service_pb2 import (
    ReleaseRequest,
    SessionCommand,
    SessionResponse,
    SessionResult,
)
from rowlock.watch import WatchUpdate

# Seconds that closing may take to give back the leases, and then to close the connection gracefully.
_GIVE_BACK_WITHIN = 2.0
_CLOSE_WITHIN = 1.0
_JOIN_WITHIN = _GIVE_BACK_WITHIN + _CLOSE_WITHIN + 1.0

Value = TypeVar("Value")


class Engine:
    """Starts its thread with the first call. Any thread may call its methods, which do not block unless they say so."""

    def __init__(
        self,
        settings: Settings,
        headers: Headers | Callable[[], Headers],
        notify: Callable[[ConnectionEvent], None],
        now: Clock = clock_now,
    ) -> None:
        """`headers` may block if it is a function; `notify` must not block."""
        self._settings = settings
        self._now = now
        self._notify = notify
        self._loop = EventLoop("rowlock", now, self._crashed)
        self._calls = Calls(
            self._loop,
            now,
            settings.addresses,
            need=lambda: self._connections.need(),
            last_error=lambda: self._connections.last_error,
            diagnoses=lambda: self._connections.diagnoses.all,
        )
        self.telemetry = Telemetry(held=lambda: len(self._keeper))
        self._keeper = LeaseKeeper(self._calls, self._loop, now, self.telemetry.late)
        self._preparation = Preparation(settings, headers)
        self._connections = Connections(settings, self._preparation, self._loop, now, self)
        self._keeper.connections = self._connections
        self._left_behind = LeftBehind(
            settings, self._preparation, lambda lease_id: self._held.find(lease_id) is not None
        )
        self._waits = WaitLedger()
        self._held = HeldLocks(
            self._calls,
            self._keeper,
            self._left_behind,
            settings.give_up_after,
            self.telemetry,
            self._released,
        )
        # All that a caller waits for, over any number of connections.
        self._acquisitions: set[Acquisition | Capture | LockWatch] = set()
        self._closed: Future[None] | None = None
        self._is_finished = False
        # Makes the error of all further calls; any thread reads it.
        self._refuse: Callable[[], RowlockError] | None = None
        _engines.add(self)

    def acquire(self, asked: Asked, run: Run, span: LockSpan, who: object = None) -> Future[Outcome]:
        """Ask for a lock. `run` decides where the caller's functions are called, which ends with the outcome."""
        self._check()
        on_position = asked.on_position

        def moved(place: Place) -> None:
            if on_position is None or acquisition.outcome.done():
                return
            try:
                on_position(place)
            # SystemExit, too: the wait for the lock raises it.
            except BaseException as error:
                why = error
                self._loop.post(lambda: acquisition.abandon(why))

        acquisition = Acquisition(
            self._calls,
            self._loop,
            self._now,
            asked,
            self._settings.give_up_after,
            self._held,
            ended=self._acquisitions.discard,
            moved=Latest(run, moved) if on_position else None,
            is_shared=self._is_shared,
            span=span,
            notices=WaitNotices(
                asked,
                self._calls,
                self._loop,
                self._now,
                self._held,
                self.telemetry,
                self._waits,
                explain_after=self._settings.explain_after,
                run=run,
                is_own=lambda: (
                    who is not None and any(each.taken_by is who for each in self._held.named(*asked.names))
                ),
            ),
        )
        if asked.request_id:
            self._left_behind.forget(asked.request_id)
        self._begin(acquisition, acquisition.outcome)
        return acquisition.outcome

    def hold_again(self, asked: Asked, who: object) -> HeldLease | None:
        """Return the lease that this thread or task may hold once more. Raises OptionError if it holds another kind."""
        self._check()
        for lease in self._held.named(*asked.names) if asked.is_reentrant else ():
            if lease.reentrant_for is not who:
                continue
            other = _other_than(lease, asked)
            if other:
                raise OptionError([f'reentrant: you hold "{lease.lock_name}", but {other}: ask for the same'])
            if lease.hold_again():
                return lease
        return None

    def capture(self, asked: AskedCapture, caller: str) -> Future[CapturedLeases]:
        """Ask for some of many locks. `caller` is the trace context of the request."""
        self._check()
        capture = Capture(
            self._calls,
            self._now,
            asked,
            self._settings.give_up_after,
            self._held,
            ended=self._acquisitions.discard,
            traceparent=caller,
        )
        self._begin(capture, capture.outcome)
        return capture.outcome

    def watch(self, prefix: str) -> LockWatch:
        """Begin to watch locks."""
        self._check()
        watch = LockWatch(self._calls, prefix, self._settings.give_up_after, self._acquisitions.discard)

        def begin() -> None:
            if self._closed:
                watch.abandon(closed())
                return
            self._acquisitions.add(watch)
            watch.begin()

        self._loop.post(begin)
        return watch

    def next_of(self, watch: LockWatch) -> Future[WatchUpdate]:
        """Wait for the next update of a watch."""
        update: Future[WatchUpdate] = Future()
        self._post(lambda: watch.next(update), update)
        return update

    def unwatch(self, watch: LockWatch) -> None:
        """End a watch."""
        self._loop.post(lambda: watch.abandon(given_up()))

    def give_up(self, outcome: Future[Any]) -> None:
        """Cancel a request, and give back the leases if it succeeds at the same moment."""
        if not outcome.cancel():
            outcome.add_done_callback(self._let_go_of)

    def release(self, lease: HeldLease, request: ReleaseRequest) -> Future[Released]:
        """Give a lease back, with the changes to the lock's record. The client counts it as released from now on."""
        future: Future[Released] = Future()
        if self._refuse is forked:
            reject(future, forked())
            return future
        caller = traceparent()

        def begin() -> None:
            if self._is_finished:
                resolve(future, Released(False))
            else:
                self._held.release(lease, request, future, caller)

        lease.look()
        self._loop.post(begin)
        return future

    def release_by_id(self, request: ReleaseRequest) -> Future[Released]:
        """End a lease or give up a place, by its id."""
        self._check()
        lease = self._held.find(request.lease_id)
        if lease:
            return self.release(lease, request)
        future: Future[Released] = Future()
        caller = traceparent()
        self._post(lambda: self._held.end(request, future, traceparent=caller), future)
        return future

    def hand_over(self, lease: HeldLease, ttl: Seconds | None) -> Future[Lease]:
        """Renew a lease once more, and stop renewing it."""
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
        """Send a command with one answer, which `read` converts."""
        self._check()
        future: Future[Value] = Future()
        caller = traceparent()
        self._post(
            lambda: ask_once(
                self._calls,
                command,
                lambda result, _: read(result),
                future,
                give_up_after=self._settings.give_up_after,
                repeat=repeat,
                kind="urgent" if is_urgent else "other",
                traceparent=caller,
            ),
            future,
        )
        return future

    def close(self) -> Future[None]:
        """Give up all waits, release all locks, and close the connection. It never fails, and ends in bounded time."""
        self.check_fork()
        if self._closed is None:
            self._closed = Future()
            self._refuse = closed
            self._loop.post(self._close)
        return self._closed

    def join(self) -> None:
        """Wait for the end of the thread, after `close`. This blocks, at most some seconds."""
        self._loop.join(_JOIN_WITHIN)
        self.telemetry.close()

    def check_fork(self) -> None:
        """Raise CLOSED in the child of a fork."""
        if self._refuse is forked:
            raise forked()

    def forked(self) -> None:
        """Refuse all calls in the child of a fork: its engine has no thread, and the locks belong to the parent.

        An engine that was not used before the fork is as good as new.
        """
        if self._loop.is_untouched:
            return
        _engines.discard(self)
        self._refuse = forked
        self.telemetry.disown()
        for lease in self._held:
            lease.disown(forked())

    # Events of the connections.

    def is_needed(self) -> bool:
        """Whether a lease is held or a call is open."""
        return len(self._calls) > 0 or len(self._keeper) > 0

    def begun(self, connection: Connection) -> None:
        """Send the renewals and the open calls to a new connection."""
        self._keeper.begun(connection)
        self._calls.begun(connection)

    def responded(self, connection: Connection, response: SessionResponse, basis: float) -> None:
        """Pass a response to the keeper and the calls, and acknowledge provisional leases."""
        self._keeper.confirmed(response.confirmed, basis)
        self._calls.results(response.results, basis)
        self._keeper.lost(response.lost)
        if response.HasField("opened"):
            self._calls.opened()
        if any(map(_is_provisional, response.results)):
            connection.acknowledge()

    def leaving(self, connection: Connection) -> None:
        """Send nothing more to this connection."""
        # A server that stops also refuses each new try with this.
        if connection.opened:
            self.telemetry.going_away(connection.address)
        self._keeper.orphaned()
        self._calls.leaving(connection)

    def ended(self, connection: Connection, error: RowlockError) -> None:
        """Repeat the calls of an ended connection in the next one."""
        self._keeper.orphaned()
        self._calls.ended(connection, error)

    def unanswered(self, diagnoses: tuple[Diagnosis, ...]) -> None:
        """Take that no server answers, and that the client tries again."""
        self.telemetry.unanswered(diagnoses)

    def hopeless(self, error: RowlockError) -> None:
        """Fail all open calls, as every server would.

        Calls with a place stay if another server may come, or other credentials: the server keeps a place for a while.
        """
        self.telemetry.hopeless(error)
        is_elsewhere = error.reason == Reason.NO_SERVER
        may_pass = is_elsewhere or (error.is_of_credentials and self._preparation.may_change)
        self._calls.fail_all(error, but_placed=may_pass)

    def notify(self, event: ConnectionEvent) -> None:
        """Notify the user."""
        self.telemetry.connection(event)
        self._notify(event)

    # Internals, on the engine's thread unless they say otherwise.

    def _begin(
        self, acquisition: Acquisition | Capture, outcome: Future[Outcome] | Future[CapturedLeases]
    ) -> None:
        """Start a request; on any thread."""

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
        """Whether another call waits under the same request id, so that giving up this one must leave the claim."""
        shared = acquisition.shared_id
        return shared is not None and any(
            isinstance(each, Acquisition) and each is not acquisition and each.shared_id == shared
            for each in self._acquisitions
        )

    def _released(self, lease: HeldLease) -> None:
        """Tell the calls under the same request id, as an answer on its way may still say that the lease is held."""
        if lease.shared_id is None:
            return
        for each in self._acquisitions:
            if not isinstance(each, LockWatch) and each.shared_id == lease.shared_id:
                each.released.add(lease.id)

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
        # If no server hears it, a lease ends with its time to live and a place with the grace period; a lease without
        # end is left behind: see LeftBehind.
        self._held.release_all()
        # Calls may be on their way before any server has answered: the first request of a connection holds commands.
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
        """Lose all leases and fail all calls after a bug, as the state is no longer reliable."""
        error = RowlockError(Reason.UNKNOWN, "INTERNAL", f"A bug in this client: {bug!r}")
        error.__cause__ = bug
        for lease in self._held:
            lease.lose(lost_by(lease.lock_name, error))
        self._calls.fail_all(error)

    # Internals, on any thread.

    def _check(self) -> None:
        if self._refuse:
            raise self._refuse()

    def _post(self, begin: Callable[[], None], future: Future[Value]) -> None:
        """Run `begin` on the engine's thread, or fail the future if the client is closed by then."""

        def run() -> None:
            if self._is_finished:
                reject(future, closed())
            else:
                begin()

        self._loop.post(run)


def _other_than(lease: HeldLease, asked: Asked) -> str:
    """Return what a lease has that is not what is asked for; empty if they are the same."""
    names = list(lease.tokens)
    if names != asked.names:
        return f"with {' and '.join(map(shown, names[1:]))}" if len(names) > 1 else "nothing with it"
    for has, wanted in zip(lease.locks, asked.locks, strict=True):
        is_counted = has.mode == "permit"
        if has.mode != wanted.mode or (is_counted and has.permits != wanted.permits):
            of = "it" if has.name == lease.lock_name else shown(has.name)
            return f"{has.permits} permits of {of}" if is_counted else f"{of} in mode {has.mode}"
    return ""


def _is_provisional(result: SessionResult) -> bool:
    """Whether the result holds a provisional lease, which the client must acknowledge."""
    return result.wait_in_queue.granted.provisional or any(
        lease.provisional for lease in result.capture.leases
    )


# The engines whose threads may run.
_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


def _in_child() -> None:
    for engine in list(_engines):
        engine.forked()


def _at_exit() -> None:
    """Release the locks that the program still holds at its end, as no work under them goes on."""
    engines = list(_engines)
    for engine in engines:
        engine.close()
    for engine in engines:
        engine.join()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
