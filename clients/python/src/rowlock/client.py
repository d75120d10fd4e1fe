# Made from aio/client.py by scripts/threads.py. Change that file instead.
"""The client for threads: one connection for all locks of a program."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from rowlock.bridge import Bridge, MakeHeaders, MakeToken
from rowlock.captured import Captured
from rowlock.lock import Lock
from rowlock.worker import run_work
from rowlock.changes import ChangeView, change_view
from rowlock.engine.acquisition import Outcome
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.verbs import ListOrder
from rowlock.errors import refused
from rowlock.history import (
    ListChangesOptions,
    ListClaimsOptions,
    WaitExplanation,
    changes_request,
    claims_request,
    report_begin,
)
from rowlock.locked_call import LockedCall, LockName
from rowlock.options import (
    CaptureOptions,
    LockOptions,
    SpendOptions,
    TryOptions,
    WatchOptions,
    Asked,
    ConnectionEvent,
    Headers,
    TlsOptions,
    TrySpendOptions,
    asked_of,
    capture_asked_of,
    settings_of,
    spend_asked_of,
    watch_asked_of,
)
from rowlock.queue_rules import QueueRules
from rowlock.rates import Rate, Spent
from rowlock.reason import Reason
from rowlock.records import RecordChanges, RecordView, ReleaseOptions, last_words_of
from rowlock.refusal import Refusal
from rowlock.telemetry import CaptureSpan, LockSpan
from rowlock.times import Seconds
from rowlock.token_source import TokenFile
from rowlock.views import (
    ClaimView,
    ForceReleased,
    LimitInForce,
    LimitSetting,
    LockView,
    RenewedLease,
    claim_view,
    limit_setting,
    lock_view,
)
from rowlock.watch import WatchUpdate
from rowlock.work_options import WorkOptions, work_of

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

Result = TypeVar("Result")

# Refusals of a request that does not wait, after which the same request may be granted.
_LATER = (Reason.BUSY, Reason.PAUSED, Reason.NOT_BEFORE, Reason.RATE)


def connect(
    addresses: str | Sequence[str],
    *,
    owner: str | None = None,
    labels: Mapping[str, str] | None = None,
    tls: bool | TlsOptions = False,
    token: str | TokenFile | MakeToken | None = None,
    allow_token_in_plaintext: bool = False,
    headers: Headers | MakeHeaders | None = None,
    connect_timeout: Seconds = 3.0,
    give_up_after: Seconds = 30.0,
    explain_after: Seconds = 10.0,
    on_connection: Callable[[ConnectionEvent], object] | None = None,
) -> Client:
    """Make a client. It connects with the first call. Raises OptionError if an option cannot work.

    addresses: `host:port` of each server, in the order in which the client tries them.
    owner, labels: shown to people who look at a lock; an owner of None means `hostname:pid`.
    tls: True: trust the authorities that gRPC brings along. False: plain text.
    token: by which the servers know who calls. A function is called for each new connection, and about once a second where
        no session gets through, on its own thread; it may block.
    allow_token_in_plaintext: send the token without TLS to other machines, where everybody on the way can read it.
    headers: sent with each new connection; a function is called for each of them, on its own thread; it may block.
    connect_timeout: how long to wait for a server's first answer before the client tries the next address.
    give_up_after: how long without any server's answer until a call fails.
    explain_after: how long a wait may take before the log says what it waits for.
    on_connection: called on the callback thread with each connection that opens or ends.
    """
    settings = settings_of(
        addresses,
        owner=owner,
        labels=labels,
        tls=tls,
        token=token,
        allow_token_in_plaintext=allow_token_in_plaintext,
        connect_timeout=connect_timeout,
        give_up_after=give_up_after,
        explain_after=explain_after,
    )
    return Client(Bridge(settings, headers or {}, on_connection))


class Client:
    """One connection for all locks of a program. Any thread may use it.

    The client renews locks on its own thread, so a busy or blocked program does not delay renewals.
    """

    def __init__(self, bridge: Bridge) -> None:
        """For `connect` only."""
        self._bridge = bridge

    def lock(self, name: str, **options: Unpack[LockOptions]) -> Lock:
        """Wait for the lock, with `also` for several at once, and hold it: `with client.lock("etl/load") as lock:`.

        The client renews the lease until the lock is released. Raises LockRefused if the server refuses, LockTimeout
        when `wait` is over, and a RowlockError with CANCELLED if `cancel` is cancelled, which gives up the place.
        """
        outcome = self.acquire(name, **options)
        if isinstance(outcome, Refusal):
            raise refused(name, outcome)
        return outcome

    def try_lock(self, name: str, **options: Unpack[TryOptions]) -> Lock | None:
        """Return the lock, or None if it is busy, paused or not due now, or its rate does not allow the grant yet.

        Raises LockRefused for any other refusal, such as EXHAUSTED, STATUS_MISMATCH and NEVER_FITS.
        """
        outcome = self._ask(asked_of(name, self._bridge.own_option, is_try=True, **options))
        if isinstance(outcome, Lock):
            return outcome
        if outcome.reason in _LATER:
            return None
        raise refused(name, outcome)

    def acquire(self, name: str, **options: Unpack[LockOptions]) -> Lock | Refusal:
        """Return the lock, or the refusal: like `lock`, but a refusal is a value instead of an exception."""
        return self._ask(asked_of(name, self._bridge.own_option, **options))

    def spend(self, name: str, **options: Unpack[SpendOptions]) -> Spent:
        """Wait until the lock's rate allows it, take permits of the rate, and hold nothing.

        It waits its turn in the queue, but holders are not in its way. There is nothing to renew or release, and nothing
        is given back. Raises LockRefused, LockTimeout and the other errors as `lock` does, and with `wait=0` also
        LockRefused with RATE, whose `retry_after` says when. A retry with the same `request_id` takes nothing more.
        """
        outcome = self._spend(spend_asked_of(name, self._bridge.own_option, **options))
        if isinstance(outcome, Refusal):
            raise refused(name, outcome)
        return outcome

    def try_spend(self, name: str, **options: Unpack[TrySpendOptions]) -> Spent | None:
        """Return what it has spent, or None if the lock is busy, paused or not due, or its rate does not allow it yet.

        Raises LockRefused for any other refusal, such as NEVER_FITS.
        """
        outcome = self._spend(spend_asked_of(name, self._bridge.own_option, is_try=True, **options))
        if isinstance(outcome, Spent):
            return outcome
        if outcome.reason in _LATER:
            return None
        raise refused(name, outcome)

    def capture(self, **options: Unpack[CaptureOptions]) -> Captured:
        """Take up to `count` of many locks, longest due first.

        A lock qualifies if it is free and due, has attempts left, and has a status of `if_status`. The client
        renews each lease until its lock is released. The result may be empty. At its end, a `with` statement
        of the result releases the remaining locks.
        """
        asked = capture_asked_of(self._bridge.own_option, **options)
        with CaptureSpan() as span:
            future = self._bridge.open().capture(asked, span.traceparent)
            captured = self._bridge.waited(future, asked.own)
            span.ended(len(captured.leases))
        locks = [
            Lock(self._bridge, lease, self._bridge.scope_of(lease, asked.own)) for lease in captured.leases
        ]
        return Captured(locks, captured.retry_after)

    def work(
        self, prefix: str, handler: Callable[[Lock], object], **options: Unpack[WorkOptions]
    ) -> None:
        """Run the handler for each lock under `prefix` as soon as it is free and due, `concurrency` of them at once.

        Each lock is released when its handler has returned, with `status_when_done`, or has raised an exception, which
        is logged, as `failed` and with `status_if_lost`. It goes on until it is cancelled, or the client is closed, and
        then waits for the handlers that run. Outages only delay it. Raises OptionError, and a RowlockError that no
        waiting heals.
        """
        run_work(self.capture, handler, work_of(prefix, self._bridge.own_option, options))

    def locked(
        self, name: LockName, **options: Unpack[LockOptions]
    ) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
        """Decorate a function so that each call holds a lock: `@client.locked("etl/load", wait=0)`.

        The name may use the arguments of the call, as in "etl/{table}", or be a function of them; the names in `also` may
        use them, too. If the decorated function has a parameter `lock`, it gets the lock. The options and errors are those
        of `lock`. Raises OptionError at once if this cannot work.
        """
        asked_of("", self._bridge.own_option, **options)

        def decorate(
            function: Callable[..., Result],
        ) -> Callable[..., Result]:
            call = LockedCall(name, options.get("also") or (), function, is_async=self._bridge.is_async)

            @functools.wraps(function)
            def under_lock(*args: Any, **arguments: Any) -> Result:
                asked: LockOptions = {**options, "also": call.also_of(args, arguments)}
                with self.lock(call.name_of(args, arguments), **asked) as lock:
                    return function(*args, **call.given(arguments, lock))

            under_lock.__signature__ = call.signature  # type: ignore[attr-defined]
            return under_lock

        return decorate

    def release(self, lease_id: str, **options: Unpack[ReleaseOptions]) -> bool:
        """End a lease, or give up a place in the queue, by its id. Return whether this call ended it.

        The options set what the lock remembers: its `status`, a `cool_down`, `attempts_left`, and that its work has `failed`.
        A retry is safe.
        """
        request = last_words_of(lease_id, **options)
        released = self._bridge.finished(self._bridge.open().release_by_id(request))
        return released.by_this_call

    def renew(self, lease_id: str, ttl: Seconds | None = None) -> RenewedLease:
        """Renew a lease once, by its id; a new `ttl` replaces the last one. A retry is safe.

        Fails with LEASE_LOST (a LockLost) or UNKNOWN_CLAIM if the lease has ended.
        """
        return self._bridge.finished(self._bridge.verbs.renew(lease_id, ttl))

    def set_limit(
        self,
        limit: int | None,
        *,
        name: str | None = None,
        pattern: str | None = None,
        pool: str | None = None,
        if_version: int | None = None,
        reason: str = "",
    ) -> LimitInForce:
        """Set the limit of a name, or of each name that matches a pattern such as `etl/*`; None unsets it.

        The limit of a pool such as `openai/*` is that of all matching names together. A pool with neither a limit nor a rate is
        removed.

        With `if_version`, the server changes the setting only if it has this version (0: it was never set), and
        otherwise fails the call with VERSION_MISMATCH. If the answer is lost, the call fails with
        CONNECTION_LOST: the client does not repeat it, as that could undo what others have set since. A retry
        with `if_version` is safe. `reason` is for people: `list_changes` shows it.
        """
        return self._bridge.finished(
            self._bridge.verbs.set_limit(
                limit, name=name, pattern=pattern, pool=pool, if_version=if_version, reason=reason
            )
        )

    def set_rate(
        self,
        rate: Rate | None,
        *,
        name: str | None = None,
        pattern: str | None = None,
        pool: str | None = None,
        if_version: int | None = None,
        reason: str = "",
    ) -> LimitInForce:
        """Set the rate of a name, of each name that matches a pattern, or of a pool; None unsets it. The limit stays as it is.

        All else is as for `set_limit`, whose versions it shares.
        """
        return self._bridge.finished(
            self._bridge.verbs.set_rate(
                rate, name=name, pattern=pattern, pool=pool, if_version=if_version, reason=reason
            )
        )

    def set_queue_rules(
        self,
        queue_rules: QueueRules | None,
        *,
        name: str | None = None,
        pattern: str | None = None,
        if_version: int | None = None,
        reason: str = "",
    ) -> LimitInForce:
        """Set who may wait for a name, or for each name that matches a pattern; None unsets it. Limit and rate stay as they are.

        All else is as for `set_limit`, whose versions it shares.
        """
        return self._bridge.finished(
            self._bridge.verbs.set_queue_rules(
                queue_rules, name=name, pattern=pattern, if_version=if_version, reason=reason
            )
        )

    def update_record(
        self,
        name: str,
        *,
        if_version: int | None = None,
        reason: str = "",
        **changes: Unpack[RecordChanges],
    ) -> RecordView:
        """Change what a lock remembers; the server makes the lock if it does not exist. Return the new record.

        With `if_version`, the server changes the record only if it has this version (0: there is none), and
        otherwise fails the call with VERSION_MISMATCH. If the answer is lost, the call fails with
        CONNECTION_LOST: the client does not repeat it, as that could undo what others have set since. A retry
        with `if_version` is safe. `reason` is for people: `list_changes` shows it.
        """
        return self._bridge.finished(
            self._bridge.verbs.update_record(name, if_version=if_version, reason=reason, **changes)
        )

    def delete_record(self, name: str, *, if_version: int | None = None, reason: str = "") -> bool:
        """Delete what a lock remembers. Return whether there was anything.

        Fails with LOCK_IN_USE while the lock is held or waited for. `if_version`, `reason` and lost answers are as
        for `update_record`.
        """
        return self._bridge.finished(
            self._bridge.verbs.delete_record(name, if_version=if_version, reason=reason)
        )

    def get_lock(self, name: str) -> LockView:
        """Return one lock, with its first holders and waiters, up to 100 of each."""
        return self._bridge.finished(self._bridge.verbs.get_lock(name))

    def list_locks(
        self,
        prefix: str = "",
        *,
        busy_only: bool = False,
        status: str | Sequence[str] = (),
        exhausted_only: bool = False,
        order: ListOrder = "name",
        page_size: int = 0,
    ) -> Iterator[LockView]:
        """Iterate over the locks whose names begin with `prefix`; with `busy_only`, those that are in use.

        With `status`, those whose records have this status, or one of these, and with `exhausted_only` those whose records
        have no attempts left: along an index, so others cost nothing; by the folder of their names, by status, and then as
        they are due. Not with `busy_only` or `order`.

        It fetches page after page. page_size: at most 1,000 locks; 0 means 100.
        """
        token = ""
        while True:
            asked = self._bridge.verbs.list_locks(
                prefix, busy_only, status, exhausted_only, order, page_size, token
            )
            page = self._bridge.finished(asked)
            for lock in page.locks:
                yield lock_view(lock)
            token = page.next_page_token
            if not token:
                return

    def list_limits(self, prefix: str = "") -> Iterator[LimitSetting]:
        """Iterate over the settings of patterns, pools and names that begin with `prefix`, in this order, page by page."""
        token = ""
        while True:
            page = self._bridge.finished(self._bridge.verbs.list_limits(prefix, token))
            for setting in page.limits:
                yield limit_setting(setting)
            token = page.next_page_token
            if not token:
                return

    def list_claims(self, **options: Unpack[ListClaimsOptions]) -> Iterator[ClaimView]:
        """Iterate over claims: live ones first, then those that have ended, newest first, page by page.

        `list_claims(name="etl/load", held_at=...)` says who held a lock at a time. The server's history decides how
        far back the listing goes.
        """
        request = claims_request(options)
        while True:
            page = self._bridge.finished(self._bridge.verbs.list_claims(request))
            report_begin(page, options)
            for claim in page.claims:
                yield claim_view(claim)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    def list_changes(self, **options: Unpack[ListChangesOptions]) -> Iterator[ChangeView]:
        """Iterate over changes of limits, rates, queue rules, records and policies, and forced releases, newest first, in pages."""
        request = changes_request(options)
        while True:
            page = self._bridge.finished(self._bridge.verbs.list_changes(request))
            report_begin(page, options)
            for change in page.changes:
                yield change_view(change)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    def explain_wait(
        self, name: str | None = None, *, ticket_number: int | None = None, ticket_id: str | None = None
    ) -> WaitExplanation:
        """Say why a request for the lock `name` would not be granted now, or why a waiter waits, and about how long.

        The waiter is the one with this `ticket_number` at the lock `name`, or with this `ticket_id`. Raises a
        RowlockError with UNKNOWN_CLAIM if it does not wait.
        """
        return self._bridge.finished(self._bridge.verbs.explain_wait(name, ticket_number, ticket_id))

    def watch(self, prefix: str = "", **options: Unpack[WatchOptions]) -> Iterator[WatchUpdate]:
        """Iterate over the states of all locks whose names begin with `prefix`, and then over their changes.

        It goes on until the loop over it ends, also over other connections. A slow reader gets only the latest state of
        each lock. Raises a RowlockError if no server answers for `give_up_after`, and when the client is closed.
        """
        own = watch_asked_of(prefix, self._bridge.own_option, **options)
        engine = self._bridge.open()
        watch = engine.watch(prefix)
        try:
            while True:
                yield self._bridge.waited(engine.next_of(watch), own)
        finally:
            engine.unwatch(watch)

    def force_release(
        self, name: str, reason: str, *, ticket_number: int | None = None
    ) -> ForceReleased:
        """End all holders of a lock, at most 500 in one call; with `ticket_number`, end that one claim.

        This is for operators. For one claim a retry is safe. For all holders, if the answer is lost, the call
        fails with CONNECTION_LOST: the client does not repeat it, as that would also end those who were granted
        the lock meanwhile.
        """
        return self._bridge.finished(self._bridge.verbs.force_release(name, reason, ticket_number))

    def close(self) -> None:
        """Give up all waits, release all locks, and close the connection. A second call has no effect.

        It ends within seconds, also if no server answers: a lock whose release was not heard ends with its lease.
        """
        self._bridge.close()

    def _ask(self, asked: Asked) -> Lock | Refusal:
        outcome: Outcome | None = self._bridge.open().hold_again(asked, self._bridge.who())
        if outcome is None:
            outcome = self._outcome(asked)
            if isinstance(outcome, HeldLease):
                outcome.taken_by = self._bridge.who()
                outcome.reentrant_for = self._bridge.who() if asked.is_reentrant else None
        if isinstance(outcome, HeldLease):
            return Lock(self._bridge, outcome, self._bridge.scope_of(outcome, asked.own))
        assert isinstance(outcome, Refusal)
        return outcome

    def _spend(self, asked: Asked) -> Spent | Refusal:
        outcome = self._outcome(asked)
        assert not isinstance(outcome, HeldLease)
        return outcome

    def _outcome(self, asked: Asked) -> Outcome:
        with LockSpan(asked.request, self._bridge.open().telemetry) as span:
            future = self._bridge.open().acquire(asked, self._bridge.run, span, self._bridge.who())
            outcome = self._bridge.waited(future, asked.own)
            span.ended(outcome)
        return outcome

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
