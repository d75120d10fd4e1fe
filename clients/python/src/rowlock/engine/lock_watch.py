"""A watch of locks, over any number of connections.

It keeps at most one unread state for each lock, so a slow reader gets only the latest state of each lock.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from rowlock.connection.calls import Ask, Call, Calls
from rowlock.connection.connection import Connection
from rowlock.engine.futures import reject
from rowlock.v1.lock_pb2 import Lock
from rowlock.v1.lock_service_pb2 import SessionCommand, SessionResult, WatchLocksRequest, WatchLocksResponse
from rowlock.views import lock_view
from rowlock.watch import WatchUpdate


class LockWatch:
    """For use on the engine's thread only; any thread may wait for an update."""

    def __init__(
        self, calls: Calls, prefix: str, give_up_after: float, ended: Callable[[LockWatch], None]
    ) -> None:
        self._calls = calls
        self._prefix = prefix
        self._give_up_after = give_up_after
        self._on_ended = ended
        self._call: Call | None = None
        # Unread: the current states of locks, and None for those that are gone.
        self._news: dict[str, Lock | None] = {}
        self._began_anew = False
        self._complete = False
        # Whether the current stream has brought a message, and whether any stream has.
        self._is_heard = False
        self._was_heard = False
        self._why: BaseException | None = None
        self._reader: Future[WatchUpdate] | None = None

    def begin(self) -> None:
        """Start to watch."""
        if self._why is None:
            self._call = self._calls.begin(
                Ask("wait", self._command, "always", lambda: self._give_up_after, self._heard, self.abandon)
            )

    def next(self, reader: Future[WatchUpdate]) -> None:
        """Resolve the future with the next update, or fail it if the watch has ended. One may be open at a time."""
        self._reader = reader
        self._pass_on()

    def abandon(self, why: BaseException) -> None:
        """End the watch: the reader gets `why`."""
        if self._why is None:
            self._why = why
            if self._call:
                self._calls.cancel(self._call)
            self._on_ended(self)
        self._pass_on()

    def _command(self, _: Connection) -> SessionCommand:
        self._is_heard = False
        return SessionCommand(watch_locks=WatchLocksRequest(prefix=self._prefix))

    def _heard(self, result: SessionResult, _: float) -> bool:
        news: WatchLocksResponse = result.watch_locks
        if news.began_anew or (self._was_heard and not self._is_heard):
            self._news.clear()
            self._began_anew = True
            self._complete = False
        self._is_heard = self._was_heard = True
        for lock in news.locks:
            self._news[lock.name] = lock
        for name in news.deleted:
            self._news[name] = None
        self._complete = self._complete or news.complete
        self._pass_on()
        return False

    def _pass_on(self) -> None:
        reader = self._reader
        if reader is None:
            return
        if self._why is not None:
            self._reader = None
            reject(reader, self._why)
        elif self._news or self._began_anew or self._complete:
            self._reader = None
            # A reader that was cancelled leaves the news to the next one.
            if reader.set_running_or_notify_cancel():
                reader.set_result(self._take())

    def _take(self) -> WatchUpdate:
        news, self._news = self._news, {}
        update = WatchUpdate(
            began_anew=self._began_anew,
            locks=tuple(lock_view(lock) for lock in news.values() if lock is not None),
            deleted=tuple(name for name, lock in news.items() if lock is None),
            complete=self._complete,
        )
        self._began_anew = self._complete = False
        return update
