"""Calls that the caller has given up: what the client sends, and what it does with an answer that still comes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from rowlock.engine.calls import Ask, Call, Calls
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
    renewals_at_once = 1

    def __init__(self, *, via_session: bool) -> None:
        self.via_session = via_session
        self.opened = SessionOpened(waits_max=10, commands_max=10)
        self.sent: list[SessionCommand] = []
        self.posted: list[Callable[[], None]] = []

    def send(self, command: SessionCommand) -> None:
        self.sent.append(command)

    def post(self, run: Callable[[], None]) -> None:
        self.posted.append(run)


def calls_over(way: Any) -> Calls:
    calls = Calls(way, lambda: 0.0, [way.address], need=lambda: None, last_error=lambda: None)
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


@pytest.mark.parametrize(("via_session", "late"), [(True, ["x"]), (False, [])])
def test_one_that_is_withdrawn_is_told_what_was_done_by_then_where_that_can_still_come(
    via_session: bool, late: list[str]
) -> None:
    way, told = Way(via_session=via_session), list[str]()
    calls = calls_over(way)
    call = capture(calls, told, [asked()])
    calls.withdraw(call)
    assert [(each.call, each.cancel) for each in way.sent] == [(1, 0), (0, 1)]
    assert len(calls) == len(late)
    calls.results([SessionResult(call=1, capture=CaptureResponse(leases=[Lease(lease_id="x")]))], 0.0)
    assert told == late
    assert len(calls) == 0


def test_one_that_nobody_wants_any_more_is_not_asked_for_again() -> None:
    way, told = Way(via_session=True), list[str]()
    calls = calls_over(way)
    capture(calls, told, [asked(), None])
    calls.ended(way, RuntimeError("cut"))  # type: ignore[arg-type]
    calls.begun(way)  # type: ignore[arg-type]
    assert len(way.sent) == 1
    for run in way.posted:
        run()
    assert len(calls) == 0
