"""Calls that the caller has given up: what the client sends, and what it does with an answer that still comes."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from rowlock.connection import session_connection
from rowlock.connection.calls import Ask, Call, Calls, Kind
from rowlock.connection.session_connection import SessionConnection
from rowlock.errors import RowlockError
from rowlock.event_loop import Timer
from rowlock.reason import Reason
from rowlock.v1.lock_pb2 import Lease
from rowlock.v1.lock_service_pb2 import (
    CaptureRequest,
    CaptureResponse,
    SessionCommand,
    SessionOpened,
    SessionResult,
)


class Way:
    """A connection, and the loop on which it is used; the test runs the posted tasks."""

    address = "a:1"
    command_bytes_max = 1_000
    renewals_max = 1

    def __init__(self, *, via: Literal["session", "unary"]) -> None:
        self.via = via
        self.opened = SessionOpened(waits_max=10, commands_max=10)
        self.sent: list[SessionCommand] = []
        self.posted: list[Callable[[], None]] = []
        self.timers: list[Timer] = []
        self.ends_of_turn: list[Callable[[], object]] = []

    def send(self, command: SessionCommand) -> None:
        self.sent.append(command)

    def post(self, run: Callable[[], None]) -> None:
        self.posted.append(run)

    def at_end_of_turn(self, run: Callable[[], object]) -> None:
        self.ends_of_turn.append(run)

    def call_later(self, seconds: float, run: Callable[[], object]) -> Timer:
        self.timers.append(Timer(seconds, run))
        return self.timers[-1]


def calls_over(way: Any) -> Calls:
    calls = Calls(
        way, lambda: 0.0, [way.address], need=lambda: None, last_error=lambda: None, diagnoses=tuple
    )
    calls.begun(way)
    return calls


def capture(calls: Calls, told: list[str], commands: list[SessionCommand | None]) -> Call:
    """Start a capture that sends one of `commands` in each try."""

    def answered(result: SessionResult, _: float) -> bool:
        told.extend(lease.lease_id for lease in result.capture.leases)
        return True

    ask = Ask("wait", lambda _: commands.pop(0), "always", lambda: math.inf, answered, lambda _: None)
    return calls.begin(ask)


def asked() -> SessionCommand:
    return SessionCommand(capture=CaptureRequest(max_leases=1))


@pytest.mark.parametrize(("via", "late"), [("session", ["x"]), ("unary", [])])
def test_a_withdrawn_call_still_takes_an_answer_over_a_session(
    via: Literal["session", "unary"], late: list[str]
) -> None:
    way, told = Way(via=via), list[str]()
    calls = calls_over(way)
    call = capture(calls, told, [asked()])
    calls.withdraw(call)
    assert [(each.call, each.cancel) for each in way.sent] == [(1, 0), (0, 1)]
    assert len(calls) == len(late)
    calls.results([SessionResult(call=1, capture=CaptureResponse(leases=[Lease(lease_id="x")]))], 0.0)
    assert told == late
    assert len(calls) == 0


def test_an_unwanted_call_is_not_repeated() -> None:
    way, told = Way(via="session"), list[str]()
    calls = calls_over(way)
    capture(calls, told, [asked(), None])
    calls.ended(way, RuntimeError("cut"))  # type: ignore[arg-type]
    calls.begun(way)  # type: ignore[arg-type]
    assert len(way.sent) == 1
    for run in way.posted:
        run()
    assert len(calls) == 0


def test_a_call_whose_second_try_would_tell_nothing_is_sent_first_to_a_server_that_has_answered() -> None:
    opening, reached = Way(via="session"), Way(via="session")
    opening.opened = None  # type: ignore[assignment]
    calls = calls_over(opening)
    ask = Ask("urgent", lambda _: asked(), "once open", lambda: math.inf, lambda *_: True, lambda _: None)
    call = calls.begin(ask)
    gone = RowlockError(Reason.UNKNOWN, "UNAVAILABLE", "gone")
    calls.ended(opening, gone)  # type: ignore[arg-type]
    calls.begun(reached)  # type: ignore[arg-type]
    assert (len(opening.sent), len(reached.sent), call.times_sent) == (0, 1, 1)
    calls.ended(reached, gone)  # type: ignore[arg-type]
    calls.begun(reached)  # type: ignore[arg-type]
    assert (len(reached.sent), call.times_sent) == (2, 2)


@pytest.mark.parametrize(("kind", "cancelled"), [("wait", [1]), ("other", [1]), ("urgent", [])])
def test_a_call_that_gets_no_answer_in_time_is_cancelled_unless_it_keeps_or_ends_a_lease(
    kind: Kind, cancelled: list[int]
) -> None:
    way, failures = Way(via="session"), list[RowlockError]()
    ask = Ask(kind, lambda _: asked(), "always", lambda: 1.0, lambda *_: True, failures.append)
    calls_over(way).begin(ask)
    way.timers[0].run()
    assert [each.reason for each in failures] == [Reason.NO_SERVER]
    assert [each.cancel for each in way.sent[1:]] == cancelled


def test_a_cancel_is_not_in_the_request_of_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server handles the cancels of a request first."""
    silent = SimpleNamespace(Session=lambda requests, metadata: iter(()))
    monkeypatch.setattr(session_connection, "LockServiceStub", lambda _: silent)
    way: Any = Way(via="session")
    connection = SessionConnection(
        *("a:1", way, ()), owner="", labels={}, bytes_max=1_000, loop=way, now=lambda: 0.0, listener=way
    )
    for number in (1, 2):
        command = asked()
        command.call = number
        connection.send(command)
    connection.send(SessionCommand(cancel=1))
    connection.send(SessionCommand(cancel=2))
    for run in way.ends_of_turn:
        run()
    sent = [connection._requests.get(timeout=0) for _ in range(connection._requests.qsize())]
    assert [[each.call for each in request.commands] for request in sent if request] == [[1, 2], [0, 0]]


def test_an_answered_call_is_let_go_of_before_its_timer_ends() -> None:
    way: Any = Way(via="session")
    calls = calls_over(way)
    call = calls.begin(Ask("other", lambda _: asked(), "always", lambda: 30.0, lambda *_: True, print))
    gone = weakref.ref(call)
    calls.results([SessionResult(call=1, capture=CaptureResponse())], 0.0)
    del call
    gc.collect()
    assert gone() is None
    assert [timer.is_cancelled for timer in way.timers] == [True]


@pytest.mark.parametrize(("bytes_max", "count"), [(100, 1), (1_024, 15), (1_000_000, 500)])
def test_a_renewal_stays_within_the_bytes_of_a_command(bytes_max: int, count: int) -> None:
    connection = SessionConnection.__new__(SessionConnection)
    connection._bytes_max = bytes_max
    assert connection.renewals_max == count
