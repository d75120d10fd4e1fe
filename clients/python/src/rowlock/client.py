"""The client for threads: one connection for all locks of a program."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar, cast

from rowlock.cancellation import Cancellation
from rowlock.captured import Captured
from rowlock.engine.acquisition import Outcome
from rowlock.engine.capture import CapturedLeases
from rowlock.engine.engine import Engine
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.teller import Teller
from rowlock.engine.verbs import Order, Verbs
from rowlock.errors import RowlockError, given_up, refused
from rowlock.lock import Lock
from rowlock.options import (
    AskCaptureOptions,
    AskOptions,
    CaptureOptions,
    ConnectionEvent,
    Headers,
    LockOptions,
    MakeHeaders,
    Settings,
    Tls,
    TryOptions,
    asked_of,
    capture_asked_of,
    settings_of,
)
from rowlock.reasons import Reason
from rowlock.records import LockChanges, RecordView, ReleaseOptions, last_words_of
from rowlock.refusal import Refusal
from rowlock.views import (
    ForceReleased,
    LimitInForce,
    LimitSetting,
    LockView,
    RenewedLease,
    limit_setting,
    lock_view,
)

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

Asked = TypeVar("Asked", Outcome, CapturedLeases)

# For what the user wants called when the client is closed.
_TELL_WITHIN = 1.0


def connect(
    addresses: str | Sequence[str],
    *,
    owner: str | None = None,
    labels: Mapping[str, str] | None = None,
    tls: bool | Tls = False,
    headers: Headers | MakeHeaders | None = None,
    connect_timeout: float = 3.0,
    give_up_after: float = 30.0,
    on_connection: Callable[[ConnectionEvent], object] | None = None,
) -> Client:
    """Make a client. Nothing is sent before something is asked for. Raises a ValueError for what cannot work.

    addresses: `host:port` of each server, in the order in which they are tried.
    owner, labels: who asks, for people who look at a lock; None: this machine and process.
    tls: True: with the authorities that gRPC brings along. False: plain text.
    headers: sent along when a connection is opened; a function is called for each, on a thread of its own.
    connect_timeout: seconds that a server may take to answer a new connection before the next one is tried.
    give_up_after: seconds for which a call is tried before it fails, where no server answers it.
    on_connection: called with each connection that comes and goes, on a thread for that.
    """
    settings = settings_of(
        addresses,
        owner=owner,
        labels=labels,
        tls=tls,
        connect_timeout=connect_timeout,
        give_up_after=give_up_after,
    )
    return Client(settings, headers or {}, on_connection)


class Client:
    """One connection, over which all locks of a program are held and waited for. Any thread may use it.

    What it does runs on a thread of its own: a program that is busy or blocked delays no renewal.
    """

    def __init__(
        self,
        settings: Settings,
        headers: Headers | MakeHeaders,
        on_connection: Callable[[ConnectionEvent], object] | None,
    ) -> None:
        """Made by `connect`."""
        self._teller = Teller()
        self._engine = Engine(settings, headers, self._told)
        self._verbs = Verbs(self._engine)
        self._on_connection = on_connection

    def lock(self, name: str, **options: Unpack[LockOptions]) -> Lock:
        """Wait for the lock and hold it: `with client.lock("etl/load") as lock:`. Renewed until it is released.

        Raises LockRefused where it is refused, LockTimeout where `wait` is over, and CANCELLED where `cancel` was cancelled.
        """
        outcome = self.acquire(name, **options)
        if isinstance(outcome, Refusal):
            raise refused(name, outcome)
        return outcome

    def try_lock(self, name: str, **options: Unpack[TryOptions]) -> Lock | None:
        """Return the lock if it is free and due now; otherwise None."""
        outcome = self.acquire(name, wait=0.0, **options)
        if isinstance(outcome, Lock):
            return outcome
        if outcome.reason in (Reason.BUSY, Reason.PAUSED, Reason.NOT_BEFORE):
            return None
        raise refused(name, outcome)

    def acquire(self, name: str, **options: Unpack[LockOptions]) -> Lock | Refusal:
        """Return the lock, or why not: for those to whom a refusal is an answer."""
        cancel = options.pop("cancel", None)
        on_position = options.pop("on_position", None)
        future = self._engine.acquire(
            asked_of(name, **cast(AskOptions, options)), on_position, self._teller.tell
        )
        outcome = self._waited(future, cancel)
        return Lock(self._engine, outcome, self._teller.tell) if isinstance(outcome, HeldLease) else outcome

    def capture(self, **options: Unpack[CaptureOptions]) -> Captured:
        """Take up to `count` of many locks: those longest due of the free ones that have attempts left and a status of `if_status`.

        Each is kept and renewed like any other until it is released; none is an answer, too. `with client.capture(prefix="task/",
        count=3) as tasks:` releases all that are left at its end.
        """
        cancel = options.pop("cancel", None)
        future = self._engine.capture(capture_asked_of(**cast(AskCaptureOptions, options)))
        captured = self._waited(future, cancel)
        locks = [Lock(self._engine, lease, self._teller.tell) for lease in captured.leases]
        return Captured(locks, captured.retry_after)

    def release(self, lease_id: str, **options: Unpack[ReleaseOptions]) -> bool:
        """End a lease, or give up a place, by its id. Return whether it was this call that ended it.

        The options say what the lock remembers: its `status`, a `cool_down`, and `attempts_left`.
        """
        return self._engine.release_by_id(last_words_of(lease_id, **options)).result().by_this_call

    def renew(self, lease_id: str, ttl: float | None = None) -> RenewedLease:
        """Renew a lease once, by its id; to `ttl` seconds where that is given."""
        return self._verbs.renew(lease_id, ttl).result()

    def set_limit(
        self,
        limit: int | None,
        *,
        name: str | None = None,
        pattern: str | None = None,
        if_version: int | None = None,
        reason: str = "",
    ) -> LimitInForce:
        """Set the limit of a name, or of all names of a pattern such as `etl/*`; None takes the setting away.

        With `if_version` it is changed only if the setting has this version (0: if it was never set), otherwise it fails with
        VERSION_MISMATCH. It is not repeated when its answer is lost, as that could undo what others have set since.
        """
        return self._verbs.set_limit(
            limit, name=name, pattern=pattern, if_version=if_version, reason=reason
        ).result()

    def update_lock(
        self, name: str, *, if_version: int | None = None, **changes: Unpack[LockChanges]
    ) -> RecordView:
        """Set any of what a lock remembers, and make the lock where nobody has named it yet.

        With `if_version` it is changed only if the record has this version (0: if there is none), otherwise it fails with
        VERSION_MISMATCH. It is not repeated when its answer is lost, as that could undo what others have set since.
        """
        return self._verbs.update_lock(name, if_version, **changes).result()

    def delete_lock(self, name: str, *, if_version: int | None = None) -> bool:
        """Take away what a lock remembers. Return whether there was anything. LOCK_IN_USE while it is held or waited for."""
        return self._verbs.delete_lock(name, if_version).result()

    def get_lock(self, name: str) -> LockView:
        """Look at one lock, with its holders and first waiters."""
        return self._verbs.get_lock(name).result()

    def list_locks(
        self,
        prefix: str = "",
        *,
        busy_only: bool = False,
        order: Order = "name",
        page_size: int = 0,
    ) -> Iterator[LockView]:
        """Look at all locks whose names begin with `prefix`, page by page; those that are in use, with `busy_only`."""
        token = ""
        while True:
            page = self._verbs.list_locks(prefix, busy_only, order, page_size, token).result()
            yield from map(lock_view, page.locks)
            token = page.next_page_token
            if not token:
                return

    def list_limits(self, prefix: str = "") -> Iterator[LimitSetting]:
        """Look at the limits that were set, for names and patterns that begin with `prefix`."""
        token = ""
        while True:
            page = self._verbs.list_limits(prefix, token).result()
            yield from map(limit_setting, page.limits)
            token = page.next_page_token
            if not token:
                return

    def force_release(self, name: str, reason: str, *, ticket_number: int | None = None) -> ForceReleased:
        """End all holders of a lock, up to 500 in one call, or one claim: an operator's tool.

        Of a name it is not repeated when its answer is lost, as that would end those who were granted the lock by it.
        """
        return self._verbs.force_release(name, reason, ticket_number).result()

    def close(self) -> None:
        """Give up all waits, release all locks, and close the connection. Can be called twice. Leaves no thread behind."""
        self._engine.close().result()
        self._engine.join()
        self._teller.close(_TELL_WITHIN)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _told(self, event: ConnectionEvent) -> None:
        call = self._on_connection
        if call:
            self._teller.tell(lambda: call(event))

    def _waited(self, future: Future[Asked], cancel: Cancellation | None) -> Asked:
        def give_up() -> None:
            self._engine.give_up(future)

        try:
            if cancel:
                cancel._join(give_up)
            return future.result()
        except concurrent.futures.CancelledError:
            raise given_up() from None
        except RowlockError:
            raise
        except BaseException:
            # An interrupt for one, as by Ctrl-C: nobody is there to take what comes.
            give_up()
            raise
        finally:
            if cancel:
                cancel._leave(give_up)
