"""The client for asyncio: one connection for all locks of a program."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar, cast

from rowlock.aio.captured import Captured
from rowlock.aio.lock import Lock
from rowlock.aio.loops import call_soon, finished
from rowlock.aio.request import Request
from rowlock.engine.acquisition import Outcome
from rowlock.engine.capture import CapturedLeases
from rowlock.engine.engine import Engine
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.verbs import Order, Verbs
from rowlock.errors import refused
from rowlock.options import (
    AioCaptureOptions,
    AioLockOptions,
    AioTryOptions,
    AskCaptureOptions,
    AskOptions,
    ConnectionEvent,
    Headers,
    MakeHeadersAsync,
    Settings,
    Tls,
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


def connect(
    addresses: str | Sequence[str],
    *,
    owner: str | None = None,
    labels: Mapping[str, str] | None = None,
    tls: bool | Tls = False,
    headers: Headers | MakeHeadersAsync | None = None,
    connect_timeout: float = 3.0,
    give_up_after: float = 30.0,
    on_connection: Callable[[ConnectionEvent], object] | None = None,
) -> Client:
    """Make a client. It connects with the first call. Raises ValueError if an option cannot work.

    addresses: `host:port` of each server, in the order in which the client tries them.
    owner, labels: shown to people who look at a lock; an owner of None means `hostname:pid`.
    tls: True: trust the authorities that gRPC brings along. False: plain text.
    headers: sent with each new connection; a function is called for each of them, on the loop, and may be a
        coroutine function.
    connect_timeout: seconds to wait for a server's first answer before the client tries the next address.
    give_up_after: seconds without any server's answer after which a call fails.
    on_connection: called on the loop with each connection that opens or ends.
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
    """One connection for all locks of a program. It belongs to the loop that uses it first.

    The client renews locks on its own thread, so a blocked loop does not delay renewals. If a task is cancelled
    while it waits, the client gives up its place.
    """

    def __init__(
        self,
        settings: Settings,
        headers: Headers | MakeHeadersAsync,
        on_connection: Callable[[ConnectionEvent], object] | None,
    ) -> None:
        """For `connect` only."""
        self._headers = headers
        self._on_connection = on_connection
        self._loop: asyncio.AbstractEventLoop | None = None
        self._engine = Engine(settings, self._made_headers if callable(headers) else headers, self._told)
        self._verbs = Verbs(self._engine)

    def lock(self, name: str, **options: Unpack[AioLockOptions]) -> Request[Lock]:
        """Wait for the lock and hold it: `async with client.lock("etl/load") as lock:`.

        The client renews the lease until the lock is released. Raises LockRefused if the server refuses, and
        LockTimeout when `wait` is over.
        """

        async def ask() -> Lock:
            outcome = await self.acquire(name, **options)
            if isinstance(outcome, Refusal):
                raise refused(name, outcome)
            return outcome

        return Request(ask)

    async def try_lock(self, name: str, **options: Unpack[AioTryOptions]) -> Lock | None:
        """Return the lock, or None if it is busy, paused or not due now.

        Raises LockRefused for any other refusal, such as EXHAUSTED, STATUS_MISMATCH and NEVER_FITS.
        """
        outcome = await self.acquire(name, wait=0.0, **options)
        if isinstance(outcome, Lock):
            return outcome
        if outcome.reason in (Reason.BUSY, Reason.PAUSED, Reason.NOT_BEFORE):
            return None
        raise refused(name, outcome)

    async def acquire(self, name: str, **options: Unpack[AioLockOptions]) -> Lock | Refusal:
        """Return the lock, or the refusal: like `lock`, but a refusal is a value instead of an exception."""
        loop = self._running_loop()
        on_position = options.pop("on_position", None)
        cancel_on_loss = options.pop("cancel_on_loss", True)
        asked = asked_of(name, **cast(AskOptions, options))
        future = self._engine.acquire(asked, on_position, lambda run: call_soon(loop, run))
        outcome = await self._waited(future)
        if isinstance(outcome, HeldLease):
            return Lock(self._engine, outcome, loop, cancel_on_loss)
        return outcome

    def capture(self, **options: Unpack[AioCaptureOptions]) -> Request[Captured]:
        """Take up to `count` of many locks, longest due first.

        A lock qualifies if it is free and due, has attempts left, and has a status of `if_status`. The client
        renews each lease until its lock is released. The result may be empty. `async with client.capture(
        prefix="task/", count=3) as tasks:` releases the remaining locks at its end; `await` leaves that to you.
        """

        async def ask() -> Captured:
            loop = self._running_loop()
            cancel_on_loss = options.pop("cancel_on_loss", True)
            future = self._engine.capture(capture_asked_of(**cast(AskCaptureOptions, options)))
            captured = await self._waited(future)
            locks = [Lock(self._engine, lease, loop, cancel_on_loss) for lease in captured.leases]
            return Captured(locks, captured.retry_after)

        return Request(ask)

    async def release(self, lease_id: str, **options: Unpack[ReleaseOptions]) -> bool:
        """End a lease, or give up a place in the queue, by its id. Return whether this call ended it.

        The options set what the lock remembers: its `status`, a `cool_down`, and `attempts_left`. A retry is safe.
        """
        self._running_loop()
        request = last_words_of(lease_id, **options)
        return (await finished(self._engine.release_by_id(request))).by_this_call

    async def renew(self, lease_id: str, ttl: float | None = None) -> RenewedLease:
        """Renew a lease once, by its id; a new `ttl` in seconds replaces the last one. A retry is safe.

        Fails with LEASE_LOST (a LockLost) or UNKNOWN_CLAIM if the lease has ended.
        """
        self._running_loop()
        return await finished(self._verbs.renew(lease_id, ttl))

    async def set_limit(
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
        self._running_loop()
        return await finished(
            self._verbs.set_limit(limit, name=name, pattern=pattern, if_version=if_version, reason=reason)
        )

    async def update_lock(
        self, name: str, *, if_version: int | None = None, **changes: Unpack[LockChanges]
    ) -> RecordView:
        """Change what a lock remembers; the server makes the lock if it does not exist. Return the new record.

        With `if_version`, the server changes the record only if it has this version (0: there is none), and
        otherwise fails the call with VERSION_MISMATCH. If the answer is lost, the call fails with
        CONNECTION_LOST: the client does not repeat it, as that could undo what others have set since. A retry
        with `if_version` is safe.
        """
        self._running_loop()
        return await finished(self._verbs.update_lock(name, if_version, **changes))

    async def delete_lock(self, name: str, *, if_version: int | None = None) -> bool:
        """Delete what a lock remembers. Return whether there was anything.

        Fails with LOCK_IN_USE while the lock is held or waited for. `if_version` and lost answers are as for
        `update_lock`.
        """
        self._running_loop()
        return await finished(self._verbs.delete_lock(name, if_version))

    async def get_lock(self, name: str) -> LockView:
        """Return one lock, with its first holders and waiters, up to 100 of each."""
        self._running_loop()
        return await finished(self._verbs.get_lock(name))

    async def list_locks(
        self,
        prefix: str = "",
        *,
        busy_only: bool = False,
        order: Order = "name",
        page_size: int = 0,
    ) -> AsyncIterator[LockView]:
        """Iterate over the locks whose names begin with `prefix`; with `busy_only`, those that are in use.

        It fetches page after page. page_size: at most 1,000 locks; 0 means 100.
        """
        self._running_loop()
        token = ""
        while True:
            page = await finished(self._verbs.list_locks(prefix, busy_only, order, page_size, token))
            for lock in page.locks:
                yield lock_view(lock)
            token = page.next_page_token
            if not token:
                return

    async def list_limits(self, prefix: str = "") -> AsyncIterator[LimitSetting]:
        """Iterate over the limits that were set for names and patterns that begin with `prefix`, page by page."""
        self._running_loop()
        token = ""
        while True:
            page = await finished(self._verbs.list_limits(prefix, token))
            for setting in page.limits:
                yield limit_setting(setting)
            token = page.next_page_token
            if not token:
                return

    async def force_release(
        self, name: str, reason: str, *, ticket_number: int | None = None
    ) -> ForceReleased:
        """End all holders of a lock, at most 500 in one call; with `ticket_number`, end that one claim.

        This is for operators. For one claim a retry is safe. For all holders, if the answer is lost, the call
        fails with CONNECTION_LOST: the client does not repeat it, as that would also end those who were granted
        the lock meanwhile.
        """
        self._running_loop()
        return await finished(self._verbs.force_release(name, reason, ticket_number))

    async def close(self) -> None:
        """Give up all waits, release all locks, and close the connection. A second call has no effect.

        It ends within seconds, also if no server answers: a lock whose release was not heard ends with its lease.
        """
        await finished(self._engine.close())
        # The thread is about to end, so this blocks only briefly.
        self._engine.join()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _waited(self, future: Future[Asked]) -> Asked:
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._engine.give_up(future)
            raise

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        if self._loop is not loop:
            raise RuntimeError("This client is used in another event loop: make one for each.")
        return loop

    def _told(self, event: ConnectionEvent) -> None:
        call = self._on_connection
        if call and self._loop:
            call_soon(self._loop, lambda: call(event))

    def _made_headers(self) -> Headers:
        """Runs on its own thread, which waits for the loop."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(self._make_headers(), self._loop).result()

    async def _make_headers(self) -> Headers:
        assert callable(self._headers)
        made = self._headers()
        return await made if inspect.isawaitable(made) else made
