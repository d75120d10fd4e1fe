"""Connects the engine's thread with the threads of the user: requests, callbacks, and the scope of a lock."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from rowlock.cancellation import Cancellation
from rowlock.engine.callbacks import Callbacks
from rowlock.engine.engine import Engine
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.verbs import Verbs
from rowlock.errors import RowlockError, given_up
from rowlock.options import CANCEL, ConnectionEvent, Headers, Settings

Value = TypeVar("Value")

MakeHeaders = Callable[[], Headers]
"""Makes the headers of one connection, on its own thread. It may block."""

MakeToken = Callable[[], str]
"""Gives the token of one connection, on its own thread. It may block."""

# Seconds that `close` waits for callbacks of the user that are still to run.
_CALLBACKS_WITHIN = 1.0


class Lost:
    """Set when the lock is or may be lost, before others can have it, and when it is released.

    It works like a threading.Event.
    """

    def __init__(self, lease: HeldLease) -> None:
        self._lease = lease

    def is_set(self) -> bool:
        """Return whether it is set: whether the holder must not rely on the lock any more. Checks the clock."""
        self._lease.look()
        return self._lease.loss is not None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, at most `timeout` seconds; return whether it is set."""
        return self.is_set() or self._lease.over.wait(timeout) or self.is_set()

    @property
    def error(self) -> RowlockError | None:
        """Why it is set: a LockLost, or a RowlockError with RELEASED. None: it is not set."""
        self._lease.look()
        return self._lease.loss


class Scope:
    """The `with` statement of a lock. A loss does not interrupt the thread in it, as Python cannot do that."""

    def enter(self) -> None:
        """Begin the scope."""

    def leave(self, error: BaseException | None) -> bool:
        """End the scope; return false, as `error` is never from the scope itself."""
        return False


class Bridge:
    """The engine, as threads use it. Any thread may use it."""

    own_option = CANCEL
    is_async = False

    def __init__(
        self,
        settings: Settings,
        headers: Headers | MakeHeaders,
        on_connection: Callable[[ConnectionEvent], object] | None,
    ) -> None:
        self._callbacks = Callbacks()
        self._on_connection = on_connection
        self.engine = Engine(settings, headers, self._notify)
        self.verbs = Verbs(self.engine)

    def open(self) -> Engine:
        """Return the engine for a new request."""
        return self.engine

    def run(self, callback: Callable[[], object]) -> None:
        """Call a callback of the user on the callback thread; from any thread."""
        self._callbacks.run(callback)

    def finished(self, future: Future[Value]) -> Value:
        """Wait for the future."""
        return future.result()

    def waited(self, future: Future[Value], own: Cancellation | None = None) -> Value:
        """Wait for the outcome of a request. If the wait is cancelled or interrupted, the engine gives the request up."""
        try:
            if own:
                # Only cancels: a lock that was granted before goes to the caller, who must get it held.
                own._join(future.cancel)
            return future.result()
        except concurrent.futures.CancelledError:
            raise given_up() from None
        except RowlockError:
            raise
        except BaseException:
            # For example Ctrl-C: nobody is left to take the lock.
            self.engine.give_up(future)
            raise
        finally:
            if own:
                own._leave(future.cancel)

    def who(self) -> object:
        """Return who holds a lock that may be held once more: this thread."""
        return threading.current_thread()

    def lost_of(self, lease: HeldLease) -> Lost:
        """Make the event of a lock."""
        return Lost(lease)

    def scope_of(self, lease: HeldLease, own: Cancellation | None) -> Scope:
        """Make the scope of a lock."""
        return Scope()

    def close(self) -> None:
        """Close the engine, in bounded time, and run the remaining callbacks."""
        self.engine.close().result()
        self.engine.join()
        self._callbacks.close(_CALLBACKS_WITHIN)

    def _notify(self, event: ConnectionEvent) -> None:
        call = self._on_connection
        if call:
            self._callbacks.run(lambda: call(event))
