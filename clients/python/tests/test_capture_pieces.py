"""How a capture waits, on a manual clock: in pieces, and without leases left behind when its caller gives up."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from rowlock import FOREVER, Reason, RowlockError
from rowlock.connection.calls import Ask, Call
from rowlock.engine.capture import Capture
from rowlock.engine.held_lease import HeldLease
from rowlock.options import capture_asked_of
from rowlock.records import Terms
from rowlock.times import duration_of, seconds_of
from rowlock.v1.lock_pb2 import Lease
from rowlock.v1.lock_service_pb2 import (
    AcquireRequest,
    CaptureRequest,
    CaptureResponse,
    RenewResponse,
    SessionResult,
)


class Server:
    """Records requests and held leases; the test makes the answers."""

    def __init__(self) -> None:
        self.now = 100.0
        self.asked: list[Ask] = []
        self.requests: list[CaptureRequest] = []
        self.withdrawn = 0
        self.cancelled = 0
        self.held: dict[str, HeldLease] = {}
        self.given_back: list[str] = []

    def begin(self, ask: Ask) -> Call:
        self.asked.append(ask)
        call = Call(ask, len(self.asked))
        command: Any = ask.command(None)  # type: ignore[arg-type]
        call.times_sent = 1
        if command.HasField("capture"):
            self.requests.append(command.capture)
        return call

    def withdraw(self, call: Call) -> None:
        self.withdrawn += 1

    def cancel(self, call: Call) -> None:
        self.cancelled += 1

    def find(self, lease_id: str) -> HeldLease | None:
        return self.held.get(lease_id)

    def own_hold(self, lock_names: Sequence[str]) -> None:
        raise AssertionError(lock_names)

    def keep(self, lease: HeldLease) -> None:
        self.held[lease.id] = lease

    def let_go(self, lease: HeldLease) -> None:
        del self.held[lease.id]
        self.given_back.append(lease.id)

    def give_back(self, claim_id: str, terms: Terms, *, is_endless: bool = False) -> None:
        self.given_back.append(claim_id)

    def give_back_unheard(self, request: AcquireRequest) -> None:
        raise AssertionError("No capture is without end.")

    def capture(self, give_up_after: float = 60.0, **options: Any) -> Capture:
        asked = capture_asked_of(**{"prefix": "", "ttl": 30.0, "margin": 2.0, **options})
        calls: Any = self
        made = Capture(calls, lambda: self.now, asked, give_up_after, self, lambda _: None)
        made.begin()
        return made

    def answer(self, *leases: Lease, which: int = -1) -> None:
        result = SessionResult(capture=CaptureResponse(leases=leases, retry_after=duration_of(7.0)))
        assert self.asked[which].answered(result, self.now)


def lease_of(lease_id: str, ttl: float = 30.0, *, provisional: bool = False) -> Lease:
    return Lease(lease_id=lease_id, lock_name="job", ttl=duration_of(ttl), provisional=provisional)


def test_each_piece_of_a_wait_has_its_own_request_id() -> None:
    server = Server()
    capture = server.capture(wait=40.0)
    for _ in range(2):
        server.now += 15.0
        server.answer()
    assert [round(seconds_of(each.max_wait)) for each in server.requests] == [15, 15, 10]
    assert len({each.request_id for each in server.requests}) == 3
    assert {uuid.UUID(each.request_id).version for each in server.requests} == {7}
    server.now += 10.0
    server.answer()
    taken = capture.outcome.result(0)
    assert (taken.leases, taken.retry_after) == ((), 7.0)


def test_pieces_of_a_wait_do_not_count_as_unanswered_calls() -> None:
    server = Server()
    server.capture(give_up_after=4.0, wait=FOREVER)
    assert seconds_of(server.requests[0].max_wait) == 2.0


def test_each_piece_has_the_chosen_request_id() -> None:
    server = Server()
    server.capture(wait=FOREVER, request_id="run")
    server.answer()
    assert [each.request_id for each in server.requests] == ["run", "run"]


def test_a_capture_without_a_wait_asks_once() -> None:
    server = Server()
    capture = server.capture()
    assert not server.requests[0].HasField("max_wait")
    server.answer(lease_of("a"), lease_of("b"))
    taken = capture.outcome.result(0)
    assert ([lease.id for lease in taken.leases], taken.retry_after) == (["a", "b"], None)
    assert list(server.held) == ["a", "b"]


def test_a_short_lease_is_renewed_before_use() -> None:
    server = Server()
    capture = server.capture(wait=FOREVER, count=2)
    server.answer(lease_of("a", 5.0, provisional=True), lease_of("b"))
    assert list(server.held) == ["b"]
    assert not capture.outcome.done()
    renewal = server.asked[-1]
    assert renewal.kind == "urgent"
    renewal.answered(SessionResult(renew=RenewResponse(lease=lease_of("a"))), server.now)
    # In the order in which the server reported them.
    assert [lease.id for lease in capture.outcome.result(0).leases] == ["a", "b"]


def test_a_provisional_lease_with_terms_is_renewed_before_use() -> None:
    server = Server()
    capture = server.capture(wait=FOREVER, status_if_lost="failed")
    server.answer(lease_of("a", provisional=True))
    assert server.held == {}
    server.asked[-1].answered(SessionResult(renew=RenewResponse(lease=lease_of("a"))), server.now)
    assert [lease.id for lease in capture.outcome.result(0).leases] == ["a"]


def test_a_capture_whose_leases_were_lost_waits_again() -> None:
    server = Server()
    capture = server.capture(wait=FOREVER)
    server.answer(lease_of("a", 5.0, provisional=True))
    server.asked[-1].failed(RowlockError(Reason.LEASE_LOST, "FAILED_PRECONDITION", "gone"))
    assert len(server.requests) == 2
    assert not capture.outcome.done()
    assert server.given_back == []


def test_a_renewal_that_fails_gives_back_all() -> None:
    server = Server()
    capture = server.capture(wait=FOREVER, count=2)
    server.answer(lease_of("a", 5.0, provisional=True), lease_of("b"))
    server.asked[-1].failed(RowlockError(Reason.INTERNAL, "INTERNAL", "a bug"))
    with pytest.raises(RowlockError, match="a bug"):
        capture.outcome.result(0)
    assert sorted(server.given_back) == ["a", "b"]
    assert server.held == {}


def test_a_cancelled_capture_gives_back_late_leases() -> None:
    server = Server()
    capture = server.capture(wait=FOREVER)
    capture.outcome.cancel()
    capture.abandon(None)
    assert server.withdrawn == 1
    server.answer(lease_of("a"), lease_of("b", 5.0, provisional=True))
    assert server.given_back == ["a", "b"]
    assert server.held == {}
    # The capture is not repeated in the next connection either.
    assert server.asked[0].command(None) is None  # type: ignore[arg-type]


def test_a_capture_cancelled_during_a_renewal_gives_back_all() -> None:
    server = Server()
    capture = server.capture(wait=FOREVER, count=2)
    server.answer(lease_of("a", 5.0, provisional=True), lease_of("b"))
    capture.abandon(RowlockError(Reason.CLOSED, "CANCELLED", "closed"))
    assert server.given_back == ["b"]
    server.asked[-1].answered(SessionResult(renew=RenewResponse(lease=lease_of("a"))), server.now)
    assert server.given_back == ["b", "a"]
    with pytest.raises(RowlockError, match="closed"):
        capture.outcome.result(0)


def test_a_lease_that_was_released_meanwhile_is_left_out() -> None:
    server = Server()
    capture = server.capture(request_id="run", count=2)
    capture.released.add("a")
    server.answer(lease_of("a"), lease_of("b"))
    assert [lease.id for lease in capture.outcome.result(0).leases] == ["b"]
    assert list(server.held) == ["b"]


def test_a_lease_that_the_client_already_holds_stays_held() -> None:
    server = Server()
    held = HeldLease(lease_of("a"), server.now, 2.0, lambda: server.now)
    server.keep(held)
    capture = server.capture(request_id="run", count=2)
    server.answer(lease_of("a"), lease_of("b", 5.0, provisional=True))
    capture.abandon(RowlockError(Reason.CLOSED, "CANCELLED", "closed"))
    assert list(server.held) == ["a"]
    assert server.given_back == []
