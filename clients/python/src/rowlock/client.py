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

# Seconds that `close` waits for callbacks of the user that are still to run.
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
    """Make a client. It connects with the first call. Raises ValueError if an option cannot work.

    addresses: `host:port` of each server, in the order in which the client tries them.
    owner, labels: shown to people who look at a lock; an owner of None means `hostname:pid`.
    tls: True: trust the authorities that gRPC brings along. False: plain text.
    headers: sent with each new connection; a function is called for each of them, on its own thread.
    connect_timeout: seconds to wait for a server's first answer before the client tries the next address.
    give_up_after: seconds without any server's answer after which a call fails.
    on_connection: called with each connection that opens or ends, on the callback thread.
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
    """One connection for all locks of a program. Any thread may use it.

    The client renews locks on its own thread, so a busy or blocked program does not delay renewals.
    """

    def __init__(
        self,
        settings: Settings,
        headers: Headers | MakeHeaders,
        on_connection: Callable[[ConnectionEvent], object] | None,
    ) -> None:
        """For `connect` only."""
        self._teller = Teller()
        self._engine = Engine(settings, headers, self._told)
        self._verbs = Verbs(self._engine)
        self._on_connection = on_connection

    def lock(self, name: str, **options: Unpack[LockOptions]) -> Lock:
        """Wait for the lock and hold it: `with client.lock("etl/load") as lock:`.

        The client renews the lease until the lock is released. Raises LockRefused if the server refuses,
        LockTimeout when `wait` is over, and a RowlockError with CANCELLED when `cancel` is cancelled.
        """
        outcome = self.acquire(name, **options)
        if isinstance(outcome, Refusal):
            raise refused(name, outcome)
        return outcome

    def try_lock(self, name: str, **options: Unpack[TryOptions]) -> Lock | None:
        """Return the lock, or None if it is busy, paused or not due now.

        Raises LockRefused for any other refusal, such as EXHAUSTED, STATUS_MISMATCH and NEVER_FITS.
        """
        outcome = self.acquire(name, wait=0.0, **options)
        if isinstance(outcome, Lock):
            return outcome
        if outcome.reason in (Reason.BUSY, Reason.PAUSED, Reason.NOT_BEFORE):
            return None
        raise refused(name, outcome)

    def acquire(self, name: str, **options: Unpack[LockOptions]) -> Lock | Refusal:
        """Return the lock, or the refusal: like `lock`, but a refusal is a value instead of an exception."""
        cancel = options.pop("cancel", None)
        on_position = options.pop("on_position", None)
        future = self._engine.acquire(
            asked_of(name, **cast(AskOptions, options)), on_position, self._teller.tell
        )
        outcome = self._waited(future, cancel)
        return Lock(self._engine, outcome, self._teller.tell) if isinstance(outcome, HeldLease) else outcome

    def capture(self, **options: Unpack[CaptureOptions]) -> Captured:
        """Take up to `count` of many locks, longest due first.

        A lock qualifies if it is free and due, has attempts left, and has a status of `if_status`. The client
        renews each lease until its lock is released. The result may be empty. `with client.capture(prefix="task/",
        count=3) as tasks:` releases the remaining locks at its end.
        """
        cancel = options.pop("cancel", None)
        future = self._engine.capture(capture_asked_of(**cast(AskCaptureOptions, options)))
        captured = self._waited(future, cancel)
        locks = [Lock(self._engine, lease, self._teller.tell) for lease in captured.leases]
        return Captured(locks, captured.retry_after)

    def release(self, lease_id: str, **options: Unpack[ReleaseOptions]) -> bool:
        """End a lease, or give up a place in the queue, by its id. Return whether this call ended it.

        The options set what the lock remembers: its `status`, a `cool_down`, and `attempts_left`. A retry is safe.
        """
        return self._engine.release_by_id(last_words_of(lease_id, **options)).result().by_this_call

    def renew(self, lease_id: str, ttl: float | None = None) -> RenewedLease:
        """Renew a lease once, by its id; a new `ttl` in seconds replaces the last one. A retry is safe.

        Fails with LEASE_LOST (a LockLost) or UNKNOWN_CLAIM if the lease has ended.
        """
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
        """Set the limit of a name, or of each name that matches a pattern such as `etl/*`; None unsets it.

        With `if_version`, the server changes the setting only if it has this version (0: it was never set), and
        otherwise fails the call with VERSION_MISMATCH. If the answer is lost, the call fails with
        CONNECTION_LOST: the client does not repeat it, as that could undo what others have set since. A retry
        with `if_version` is safe.
        """
        return self._verbs.set_limit(
            limit, name=name, pattern=pattern, if_version=if_version, reason=reason
        ).result()

    def update_lock(
        self, name: str, *, if_version: int | None = None, **changes: Unpack[LockChanges]
    ) -> RecordView:
        """Change what a lock remembers; the server makes the lock if it does not exist. Return the new record.

        With `if_version`, the server changes the record only if it has this version (0: there is none), and
        otherwise fails the call with VERSION_MISMATCH. If the answer is lost, the call fails with
        CONNECTION_LOST: the client does not repeat it, as that could undo what others have set since. A retry
        with `if_version` is safe.
        """
        return self._verbs.update_lock(name, if_version, **changes).result()

    def delete_lock(self, name: str, *, if_version: int | None = None) -> bool:
        """Delete what a lock remembers. Return whether there was anything.

        Fails with LOCK_IN_USE while the lock is held or waited for. `if_version` and lost answers are as for
        `update_lock`.
        """
        return self._verbs.delete_lock(name, if_version).result()

    def get_lock(self, name: str) -> LockView:
        """Return one lock, with its first holders and waiters, up to 100 of each."""
        return self._verbs.get_lock(name).result()

    def list_locks(
        self,
        prefix: str = "",
        *,
        busy_only: bool = False,
        order: Order = "name",
        page_size: int = 0,
    ) -> Iterator[LockView]:
        """Iterate over the locks whose names begin with `prefix`; with `busy_only`, those that are in use.

        It fetches page after page. page_size: at most 1,000 locks; 0 means 100.
        """
        token = ""
        while True:
            page = self._verbs.list_locks(prefix, busy_only, order, page_size, token).result()
            yield from map(lock_view, page.locks)
            token = page.next_page_token
            if not token:
                return

    def list_limits(self, prefix: str = "") -> Iterator[LimitSetting]:
        """Iterate over the limits that were set for names and patterns that begin with `prefix`, page by page."""
        token = ""
        while True:
            page = self._verbs.list_limits(prefix, token).result()
            yield from map(limit_setting, page.limits)
            token = page.next_page_token
            if not token:
                return

    def force_release(self, name: str, reason: str, *, ticket_number: int | None = None) -> ForceReleased:
        """End all holders of a lock, at most 500 in one call; with `ticket_number`, end that one claim.

        This is for operators. For one claim a retry is safe. For all holders, if the answer is lost, the call
        fails with CONNECTION_LOST: the client does not repeat it, as that would also end those who were granted
        the lock meanwhile.
        """
        return self._verbs.force_release(name, reason, ticket_number).result()

    def close(self) -> None:
        """Give up all waits, release all locks, and close the connection. A second call has no effect.

        It ends within seconds, also if no server answers: a lock whose release was not heard ends with its lease.
        """
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
            # For example Ctrl-C: nobody is left to take the lock.
            give_up()
            raise
        finally:
            if cancel:
                cancel._leave(give_up)
