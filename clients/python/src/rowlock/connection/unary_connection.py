"""A connection of unary calls, if no stream gets through: with an older server, or a proxy that refuses streams.

Each command is one unary call. A wait polls: it repeats an Acquire under its request id. Each poll is a sign of life,
returns the place, and confirms a grant. Answers are delivered as a session would deliver them, with the time at which
their call was sent as their basis.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import grpc
from google.rpc.status_pb2 import Status

from rowlock.clock import Clock
from rowlock.connection.connection import Listener
from rowlock.connection.polled_wait import PolledWait
from rowlock.connection.preparation import Prepared
from rowlock.errors import RowlockError, of_status, status_of
from rowlock.event_loop import EventLoop, Timer
from rowlock.reason import Reason
from rowlock.times import seconds_of
from rowlock.token_source import TokenSource
from rowlock.v1.lock_pb2 import Ticket
from rowlock.v1.lock_service_pb2 import (
    AcquireRequest,
    AcquireResponse,
    CaptureRequest,
    GetLockRequest,
    RenewedLease,
    RenewedLeases,
    RenewResponse,
    SessionCommand,
    SessionOpened,
    SessionResponse,
    SessionResult,
    WaitInQueueResponse,
    WatchLocksResponse,
)
from rowlock.v1.lock_service_pb2_grpc import LockServiceStub

# Seconds without an answer after which a server counts as gone; a call that waits gets them in addition to its wait.
_ANSWER_WITHIN = 10.0
_COMMANDS_MAX = 100
_WAITS_MAX = 100_000
_BYTES_MAX = 2**31 - 1
# Polls of all waits together.
_POLLS_AT_ONCE = 50
# Seconds for which calls use a token before its source is asked again.
_ASK_AGAIN_AFTER = 1.0
# A read of this lock finds out whether a server is there. It creates no lock.
_PROBED_NAME = "rowlock/client"

_Method = Any
# Takes the answer of a call, or the status with which it failed, and the time at which it was sent.
_Done = Callable[[object, float], None]


class UnaryConnection:
    """Counts as open when a server has answered, unless it refuses the credentials."""

    via: Literal["session", "unary"] = "unary"
    renewals_max = 1

    def __init__(
        self,
        address: str,
        channel: grpc.Channel,
        prepared: Prepared,
        token: TokenSource | None,
        *,
        owner: str,
        labels: Mapping[str, str],
        loop: EventLoop,
        now: Clock,
        listener: Listener,
    ) -> None:
        self.address = address
        self.opened: SessionOpened | None = None
        self._channel = channel
        self._prepared = prepared
        self._metadata = prepared.metadata
        self._token = token if token and not token.is_fixed else None
        self._asked_at = now()
        self._is_asking = False
        self._owner = owner
        self._labels = labels
        self._loop = loop
        self._now = now
        self._listener = listener
        self._stub = LockServiceStub(channel)
        self._waits: dict[int, PolledWait] = {}
        self._captures: dict[int, Any] = {}
        self._watches: dict[int, Any] = {}
        self._knock_timer: Timer | None = None
        self._due: deque[PolledWait] = deque()
        self._polls = 0
        self._is_over = False
        loop.post(self._begin)

    @property
    def command_bytes_max(self) -> int:
        """No bound: the server refuses a call that is too large."""
        return _BYTES_MAX

    def send(self, command: SessionCommand) -> None:
        """Start the call of the command."""
        if self._is_over:
            return
        number, kind = command.call, command.WhichOneof("command")
        if kind == "cancel":
            self._cancel(command.cancel)
        elif kind == "wait_in_queue":
            wait = PolledWait(number, command.wait_in_queue, self._now(), command.traceparent)
            self._complete(wait.request)
            self._waits[number] = wait
            self._poll_soon(wait)
        else:
            self._command(command)

    def acknowledge(self) -> None:
        """Do nothing: the next poll of a wait confirms its grant."""

    def close(self, within: float, closed: Callable[[], None]) -> None:
        """End it at once: unary calls have no graceful close."""
        self.destroy()
        closed()

    def destroy(self) -> None:
        """End it at once, without notifying its listener."""
        self._is_over = True
        for wait in self._waits.values():
            self._leave(wait)
        if self._knock_timer:
            self._knock_timer.cancel()
        # This fails the open calls, whose answers are then ignored.
        self._channel.close()

    def _begin(self) -> None:
        """Ask any question, as only an answer shows whether the server accepts the credentials."""
        self._call(self._stub.GetLock, GetLockRequest(name=_PROBED_NAME), self._begun)

    def _begun(self, answer: object, sent_at: float) -> None:
        if isinstance(answer, Status) and of_status(answer).is_of_credentials:
            return
        self.opened = SessionOpened(
            waits_max=_WAITS_MAX, commands_max=_COMMANDS_MAX, message_bytes_max=_BYTES_MAX
        )
        if not self._is_over:
            self._listener.responded(self, SessionResponse(opened=self.opened), sent_at)

    def _command(self, command: SessionCommand) -> None:
        stub = self._stub
        match command.WhichOneof("command"):
            case "acquire":
                self._complete(command.acquire)
                self._ask(command, stub.Acquire)
            case "renew":
                self._ask(command, stub.Renew)
            case "renew_leases":
                self._renew(command)
            case "release":
                self._ask(command, stub.Release)
            case "set_limit":
                self._ask(command, stub.SetLimit)
            case "get_lock":
                self._ask(command, stub.GetLock)
            case "list_locks":
                self._ask(command, stub.ListLocks)
            case "list_limits":
                self._ask(command, stub.ListLimits)
            case "list_claims":
                self._ask(command, stub.ListClaims)
            case "list_changes":
                self._ask(command, stub.ListChanges)
            case "explain_wait":
                self._ask(command, stub.ExplainWait)
            case "force_release":
                self._ask(command, stub.ForceRelease)
            case "update_record":
                self._ask(command, stub.UpdateRecord)
            case "delete_record":
                self._ask(command, stub.DeleteRecord)
            case "capture":
                self._capture(command)
            case "watch_locks":
                self._watch(command)

    def _complete(self, request: AcquireRequest | CaptureRequest) -> None:
        """Add the owner and the labels, which a session sends once."""
        terms = request.terms
        terms.owner = terms.owner or self._owner
        for key, value in self._labels.items():
            if key not in terms.labels:
                terms.labels[key] = value

    def _ask(self, command: SessionCommand, method: _Method) -> None:
        kind = str(command.WhichOneof("command"))
        answered = self._answered(command.call, kind)
        self._call(method, getattr(command, kind), answered, traceparent=command.traceparent)

    def _answered(self, number: int, result: str) -> _Done:
        def done(answer: object, sent_at: float) -> None:
            field = "error" if isinstance(answer, Status) else result
            self._answer(SessionResult(call=number, **{field: answer}), sent_at)  # type: ignore[arg-type]

        return done

    def _capture(self, command: SessionCommand) -> None:
        """A capture may wait within its one call, and can be cancelled meanwhile."""
        number, request = command.call, command.capture
        self._complete(request)
        within = seconds_of(request.max_wait) + _ANSWER_WITHIN
        answered = self._answered(number, "capture")
        call = self._call(
            self._stub.Capture,
            request,
            answered,
            within,
            is_wanted=lambda: self._captures.pop(number, None),
            traceparent=command.traceparent,
        )
        if call is not None:
            self._captures[number] = call

    def _watch(self, command: SessionCommand) -> None:
        """A watch is a stream, which a thread of its own reads; while it is silent, knocks show whether the server is there."""
        number = command.call
        call = self._stub.WatchLocks(command.watch_locks, metadata=self._metadata)
        self._watches[number] = call

        def news(message: WatchLocksResponse) -> None:
            if number in self._watches:
                self._answer(SessionResult(call=number, watch_locks=message), self._now())

        def ended() -> None:
            if self._watches.pop(number, None) is None:
                return
            answered = self._answered(number, "watch_locks")
            if call.code() is grpc.StatusCode.OK:
                ended = Status(code=grpc.StatusCode.UNAVAILABLE.value[0], message="The watch has ended.")
                answered(ended, self._now())
            else:
                self._done(call, answered, self._now())

        def read() -> None:
            with contextlib.suppress(grpc.RpcError):
                for message in call:
                    self._loop.post(partial(news, message))
            self._loop.post(ended)

        threading.Thread(target=read, name="rowlock-watch", daemon=True).start()
        if self._knock_timer is None:
            self._knock()

    def _knock(self) -> None:
        """Ask any question while watches are open: a server that does not answer in time is gone."""
        self._knock_timer = None
        if self._watches and not self._is_over:
            self._call(self._stub.GetLock, GetLockRequest(name=_PROBED_NAME), lambda *_: None)
            self._knock_timer = self._loop.call_later(_ANSWER_WITHIN, self._knock)

    def _renew(self, command: SessionCommand) -> None:
        """The command has exactly one lease: see `renewals_max`."""

        def done(answer: object, sent_at: float) -> None:
            if isinstance(answer, Status):
                renewed = RenewedLease(error=answer)
            else:
                assert isinstance(answer, RenewResponse)
                renewed = RenewedLease(lease=answer.lease)
            self._answer(
                SessionResult(call=command.call, renew_leases=RenewedLeases(leases=[renewed])), sent_at
            )

        (request,) = command.renew_leases.leases
        self._call(self._stub.Renew, request, done)

    def _cancel(self, number: int) -> None:
        wait = self._waits.pop(number, None)
        if wait:
            self._leave(wait)
        for calls in (self._captures, self._watches):
            call = calls.pop(number, None)
            if call:
                call.cancel()

    def _leave(self, wait: PolledWait) -> None:
        wait.is_over = True
        if wait.timer:
            wait.timer.cancel()

    def _poll_soon(self, wait: PolledWait) -> None:
        self._due.append(wait)
        self._poll()

    def _poll(self) -> None:
        while self._due and self._polls < _POLLS_AT_ONCE:
            wait = self._due.popleft()
            if not wait.is_over:
                self._polls += 1
                polled = self._polled(wait)
                self._call(self._stub.Acquire, wait.request, polled, traceparent=wait.traceparent)

    def _polled(self, wait: PolledWait) -> _Done:
        def done(answer: object, sent_at: float) -> None:
            self._polls -= 1
            self._poll()
            if wait.is_over:
                return
            if isinstance(answer, Status):
                self._last(wait, SessionResult(call=wait.number, error=answer), sent_at)
                return
            assert isinstance(answer, AcquireResponse)
            match answer.WhichOneof("outcome"):
                case "ticket":
                    self._placed(wait, answer.ticket, sent_at)
                case "lease" if answer.lease.provisional:
                    # The next poll confirms the lease.
                    self._poll_soon(wait)
                case _:
                    result = SessionResult(call=wait.number, wait_in_queue=_last_update(answer))
                    self._last(wait, result, sent_at)

        return done

    def _placed(self, wait: PolledWait, ticket: Ticket, sent_at: float) -> None:
        now = self._now()
        if wait.has_news(ticket, now):
            wait.reported, wait.reported_at = ticket, now
            update = WaitInQueueResponse(position=ticket)
            self._answer(SessionResult(call=wait.number, wait_in_queue=update), sent_at)
        if wait.is_over or self._is_over:
            return
        pause = wait.pause(now, len(self._waits), seconds_of(ticket.kept_for))
        wait.timer = self._loop.call_later(pause, lambda: self._poll_soon(wait))

    def _last(self, wait: PolledWait, result: SessionResult, sent_at: float) -> None:
        self._leave(wait)
        self._waits.pop(wait.number, None)
        self._answer(result, sent_at)

    def _call(
        self,
        method: _Method,
        request: object,
        done: _Done,
        within: float = _ANSWER_WITHIN,
        is_wanted: Callable[[], object] = lambda: True,
        traceparent: str = "",
    ) -> Any:
        """Start a gRPC call and return it; None if the connection is over.

        When the call ends, its answer is dropped if `is_wanted` returns false.
        """
        if self._is_over:
            return None
        sent_at = self._now()
        self._renew_token(sent_at)

        def ended(call: Any) -> None:
            if is_wanted():
                self._done(call, done, sent_at)

        context = (("traceparent", traceparent),) if traceparent else ()
        future = method.future(request, timeout=within, metadata=(*self._metadata, *context))
        # gRPC calls it on one of its own threads.
        future.add_done_callback(lambda call: self._loop.post(lambda: ended(call)))
        return future

    def _renew_token(self, now: float) -> None:
        """Ask the source again in the background, so that no renewal waits for it."""
        token = self._token
        if token is None or self._is_asking or now - self._asked_at < _ASK_AGAIN_AFTER:
            return
        self._is_asking = True

        def ask() -> None:
            try:
                text = token.ask()
            except RowlockError:
                # The server says whether the token that is in use is still good.
                text = None
            self._loop.post(lambda: self._renewed_token(text))

        threading.Thread(target=ask, name="rowlock-token", daemon=True).start()

    def _renewed_token(self, text: str | None) -> None:
        self._is_asking = False
        self._asked_at = self._now()
        if text is not None:
            self._metadata = self._prepared.with_token(text)

    def _done(self, ended: Any, done: _Done, sent_at: float) -> None:
        if self._is_over:
            return
        error = ended.exception()
        if error is None:
            done(ended.result(), sent_at)
            return
        status = status_of(ended)
        failure = of_status(status)
        failure.__cause__ = error
        # A server that has another service altogether answers the first call so.
        is_foreign = self.opened is None and failure.code == "UNIMPLEMENTED"
        if is_foreign or _is_of_the_way(failure):
            self.destroy()
            self._listener.ended(self, failure)
            return
        done(status, sent_at)
        # The listener repeats the other open calls at another server, or with other credentials.
        is_left = failure.reason == Reason.SHUTTING_DOWN or failure.is_of_credentials
        if is_left and not self._is_over:
            self.destroy()
            self._listener.ended(self, failure)

    def _answer(self, result: SessionResult, sent_at: float) -> None:
        self._listener.responded(self, SessionResponse(results=[result]), sent_at)


def _last_update(answer: AcquireResponse) -> WaitInQueueResponse:
    """Return the last message of a wait whose poll had this answer."""
    match answer.WhichOneof("outcome"):
        case "lease":
            return WaitInQueueResponse(granted=answer.lease)
        case "refusal":
            return WaitInQueueResponse(refusal=answer.refusal)
        case "ended":
            return WaitInQueueResponse(ended=answer.ended)
        case "spent":
            return WaitInQueueResponse(spent=answer.spent)
        case _:
            return WaitInQueueResponse()


def _is_of_the_way(error: RowlockError) -> bool:
    """Whether the error comes from the connection instead of a server: no call gets through, or no answer in time."""
    return error.reason == Reason.UNKNOWN and error.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED")
