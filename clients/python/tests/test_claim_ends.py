"""How the end of a claim is shown: in errors, in answers to requests for a lock, and in listings."""

from __future__ import annotations

import uuid
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from test_calls import Way, calls_over
from test_held_lease import Hands, lease_of

from rowlock import FOREVER, ClaimEndView, LockLost, Rate, RateView, Reason, Refusal, RowlockError, Spent
from rowlock.connection.unary_connection import UnaryConnection
from rowlock.engine.acquisition import Acquisition
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.lease_keeper import LeaseKeeper
from rowlock.errors import of_status
from rowlock.history import changes_request, claims_request
from rowlock.options import asked_of, spend_asked_of
from rowlock.times import duration_of, timestamp_of
from rowlock.v1 import lock_pb2
from rowlock.v1.lock_pb2 import Claim, ClaimEnd, Limit, RateInForce, Ticket
from rowlock.v1.lock_pb2 import Rate as RateMessage
from rowlock.v1.lock_pb2 import Refusal as RefusalMessage
from rowlock.v1.lock_pb2 import Spent as SpentMessage
from rowlock.v1.lock_service_pb2 import (
    AcquireResponse,
    LostLease,
    QueueRequest,
    SessionCommand,
    SessionResult,
    WaitInQueueRequest,
    WaitInQueueResponse,
)
from rowlock.views import claim_view

_NOON = datetime(2030, 1, 1, 12, tzinfo=timezone.utc)
_FORCED = ClaimEnd(
    reason=lock_pb2.END_REASON_FORCE_RELEASED, ended_at=timestamp_of(_NOON), ended_by="anna", note="hung"
)
_FORCED_VIEW = ClaimEndView(Reason.FORCE_RELEASED, _NOON, "anna", "hung")
_TIMED_OUT = ClaimEnd(
    reason=lock_pb2.END_REASON_TIMED_OUT,
    message="Too late.",
    holders=[Claim(owner="anna")],
    retry_after=duration_of(7.0),
    limit=Limit(permits=3),
)
_LAPSED = ClaimEnd(reason=lock_pb2.END_REASON_LAPSED)


def packed(*messages: Any) -> list[AnyMessage]:
    details = [AnyMessage() for _ in messages]
    for detail, message in zip(details, messages, strict=True):
        detail.Pack(message)
    return details


def acquisition(
    way: Any, asking: Any = asked_of, given_back: list[str] | None = None, **options: Any
) -> Acquisition:
    span: Any = SimpleNamespace(traceparent="", has_waited=False)
    notices: Any = SimpleNamespace(stop=lambda: None, placed=lambda *_: None)
    unwanted = [] if given_back is None else given_back
    holder: Any = SimpleNamespace(
        own_hold=lambda _: None, give_back=lambda claim_id, *_, **__: unwanted.append(claim_id)
    )
    asked = asking("job", **options)
    made = Acquisition(
        calls_over(way),
        *(way, lambda: 0.0, asked, 60.0, holder),
        *(lambda _: None, None, lambda _: False, span, notices),
    )
    made.begin()
    return made


def answer(made: Acquisition, way: Way, **result: Any) -> None:
    made._calls.results([SessionResult(call=way.sent[-1].call, **result)], 0.0)


def test_a_lost_lease_has_its_end_from_the_typed_detail() -> None:
    info = ErrorInfo(reason="LEASE_LOST", domain="rowlock")
    lost = of_status(Status(code=9, message="It has ended.", details=packed(info, _FORCED)))
    assert isinstance(lost, LockLost)
    assert (lost.reason, lost.end, lost.metadata) == (Reason.LEASE_LOST, _FORCED_VIEW, {})
    assert of_status(Status(code=9, details=packed(info))).end is None
    newer = of_status(Status(code=9, details=packed(info, ClaimEnd.FromString(b"\x08\x63"))))
    assert newer.end == ClaimEndView("99")


def test_a_lease_that_a_session_reports_as_lost_has_its_end() -> None:
    way: Any = Way(via="session")
    hands = Hands()
    keeper = LeaseKeeper(calls_over(way), way, hands, late=lambda _: None)
    held = HeldLease(lease_of(30.0), hands.now, 2.0, hands)
    keeper.keep(held)
    keeper.lost([LostLease(lease_id=held.id, lock_name="job", end=_FORCED)])
    assert held.loss is not None
    assert held.loss.end == _FORCED_VIEW
    late = HeldLease(lease_of(30.0), hands.now, 2.0, hands)
    hands.now += 30.0
    late.look()
    assert late.loss is not None
    assert late.loss.end == ClaimEndView(Reason.EXPIRED)


@pytest.mark.parametrize(
    ("options", "result"),
    [
        ({"wait": 0}, {"acquire": AcquireResponse(ended=_TIMED_OUT)}),
        ({}, {"wait_in_queue": WaitInQueueResponse(ended=_TIMED_OUT)}),
    ],
)
def test_an_ended_claim_is_a_refusal_with_the_reason_of_its_end(
    options: dict[str, Any], result: dict[str, Any]
) -> None:
    way = Way(via="session")
    made = acquisition(way, **options)
    answer(made, way, **result)
    refusal = made.outcome.result(0)
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.message, refusal.retry_after) == (Reason.TIMED_OUT, "Too late.", 7.0)
    assert [holder.owner for holder in refusal.holders] == ["anna"]
    assert refusal.limit is not None
    assert refusal.limit.permits == 3


@pytest.mark.parametrize(
    ("reason", "words"), [(lock_pb2.REFUSAL_REASON_QUEUE_FULL, Reason.QUEUE_FULL), (99, "99")]
)
def test_a_wait_may_be_refused(reason: Any, words: str) -> None:
    way = Way(via="session")
    made = acquisition(way)
    refused = RefusalMessage.FromString(bytes([8, reason]))
    answer(made, way, wait_in_queue=WaitInQueueResponse(refusal=refused))
    refusal = made.outcome.result(0)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == words


def test_a_place_that_has_lapsed_is_asked_for_again_unless_the_caller_chose_the_request_id() -> None:
    way = Way(via="session")
    made = acquisition(way)
    answer(made, way, wait_in_queue=WaitInQueueResponse(position=Ticket(ticket_id="t")))
    answer(made, way, wait_in_queue=WaitInQueueResponse(ended=_LAPSED))
    first, second = (each.wait_in_queue.request for each in way.sent)
    assert first.request_id != second.request_id
    assert {uuid.UUID(each.request_id).version for each in (first, second)} == {7}
    assert not made.outcome.done()
    way = Way(via="session")
    made = acquisition(way, request_id="run")
    answer(made, way, wait_in_queue=WaitInQueueResponse(ended=_LAPSED))
    refusal = made.outcome.result(0)
    assert isinstance(refusal, Refusal)
    assert refusal.reason == Reason.LAPSED


def test_a_request_holds_its_terms_and_how_to_wait() -> None:
    way = Way(via="session")
    acquisition(way, wait=9.0, ttl=FOREVER, min_interval=60.0, permits=2, owner="anna")
    asked = way.sent[0].wait_in_queue.request
    assert (asked.name, asked.permits, asked.max_wait.seconds) == ("job", 2, 9)
    assert asked.terms.WhichOneof("lasting") == "no_expiry"
    assert (asked.terms.min_interval.seconds, asked.terms.owner) == (60, "anna")
    acquisition(way, wait=0)
    assert way.sent[1].acquire.WhichOneof("when_busy") is None
    assert way.sent[1].acquire.terms.ttl.seconds == 30


_SPENT = SpentMessage(
    lock_name="job", permits=3, fencing_token=7, spent_at=timestamp_of(_NOON), request_id="run"
)
_SPENT_VIEW = Spent("job", 3, 7, _NOON, "run")


def test_a_request_that_only_spends_asks_again_under_its_id_and_holds_nothing() -> None:
    way = Way(via="session")
    made = acquisition(way, spend_asked_of, request_id="run", permits=3)
    ticket = Ticket(ticket_id="t", rate_wait=duration_of(1.5))
    answer(made, way, wait_in_queue=WaitInQueueResponse(position=ticket))
    asked = made._queue_request()
    assert (asked.spend_only, asked.permits, asked.request_id) == (True, 3, "run")
    assert asked == way.sent[0].wait_in_queue.request
    answer(made, way, wait_in_queue=WaitInQueueResponse(spent=_SPENT))
    assert made.outcome.result(0) == _SPENT_VIEW
    assert len(made._calls) == 0


def test_so_it_does_without_a_wait() -> None:
    way = Way(via="session")
    made = acquisition(way, spend_asked_of, is_try=True)
    assert way.sent[0].acquire.spend_only
    answer(made, way, acquire=AcquireResponse(spent=_SPENT))
    assert made.outcome.result(0) == _SPENT_VIEW


def test_a_lease_from_a_server_that_is_too_old_to_spend_is_given_back() -> None:
    way, given_back = Way(via="session"), list[str]()
    made = acquisition(way, spend_asked_of, given_back)
    answer(made, way, wait_in_queue=WaitInQueueResponse(granted=lease_of(30.0)))
    with pytest.raises(RowlockError, match="cannot spend"):
        made.outcome.result(0)
    assert given_back == [lease_of(30.0).lease_id]


def test_a_place_of_a_spend_that_is_given_up_is_given_back() -> None:
    way, given_back = Way(via="session"), list[str]()
    made = acquisition(way, spend_asked_of, given_back)
    answer(made, way, wait_in_queue=WaitInQueueResponse(position=Ticket(ticket_id="t")))
    made.abandon(None)
    assert given_back == ["t"]


def test_a_refusal_by_a_rate_says_which_one_and_when_to_try_again() -> None:
    way = Way(via="session")
    made = acquisition(way, wait=0)
    rate = RateInForce(
        rate=RateMessage(permits=5, per=duration_of(2.0), burst=9),
        source=lock_pb2.LIMIT_SOURCE_PATTERN,
        pattern="job*",
        version=4,
    )
    refused = RefusalMessage(reason=lock_pb2.REFUSAL_REASON_RATE, retry_after=duration_of(0.25), rate=rate)
    answer(made, way, acquire=AcquireResponse(refusal=refused))
    refusal = made.outcome.result(0)
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.retry_after) == (Reason.RATE, 0.25)
    assert refusal.rate == RateView(Rate(5, 2.0, 9), "pattern", "job*", 4, "")


@pytest.mark.parametrize(
    ("polled", "passed_on"),
    [
        (AcquireResponse(ended=_TIMED_OUT), WaitInQueueResponse(ended=_TIMED_OUT)),
        (AcquireResponse(spent=_SPENT), WaitInQueueResponse(spent=_SPENT)),
        (
            AcquireResponse(refusal=RefusalMessage(message="Full.")),
            WaitInQueueResponse(refusal=RefusalMessage(message="Full.")),
        ),
    ],
)
def test_a_wait_by_polls_ends_as_one_in_a_session(
    polled: AcquireResponse, passed_on: WaitInQueueResponse
) -> None:
    heard: list[SessionResult] = []
    polls: list[Any] = []
    way: Any = Way(via="unary")
    listener: Any = SimpleNamespace(responded=lambda _, response, __: heard.extend(response.results))
    connection = UnaryConnection(
        "a:1",
        SimpleNamespace(**dict.fromkeys(("unary_unary", "unary_stream", "stream_stream"), _method)),  # type: ignore[arg-type]
        SimpleNamespace(metadata=()),  # type: ignore[arg-type]
        None,
        owner="tester",
        labels={"job": "7"},
        loop=way,
        now=lambda: 0.0,
        listener=listener,
    )
    connection._call = lambda _, request, done, **__: polls.append((request, done))  # type: ignore[method-assign]
    queued = QueueRequest(name="job", request_id="run", max_wait=duration_of(9.0), spend_only=True)
    connection.send(SessionCommand(call=1, wait_in_queue=WaitInQueueRequest(request=queued)))
    ((request, done),) = polls
    assert request.spend_only
    assert (request.name, request.request_id, request.enqueue.max_wait.seconds) == ("job", "run", 9)
    assert (request.terms.owner, dict(request.terms.labels)) == ("tester", {"job": "7"})
    done(polled, 0.0)
    assert [each.wait_in_queue for each in heard] == [passed_on]


def test_a_listed_claim_has_its_end() -> None:
    ended = claim_view(Claim(state=lock_pb2.CLAIM_STATE_ENDED, fencing_token=4, end=_FORCED))
    assert (ended.state, ended.token, ended.end) == ("ended", 4, _FORCED_VIEW)
    held = claim_view(Claim(state=lock_pb2.CLAIM_STATE_HELD, provisional=True))
    assert (held.end, held.provisional, ended.provisional) == (None, True, False)
    assert claim_view(Claim(spend_only=True)).spend_only


def test_a_listing_is_of_one_lock_or_of_one_prefix() -> None:
    held = claims_request({"name": "job", "held_at": _NOON, "until": _NOON})
    assert held.WhichOneof("locks") == "held_at"
    assert (held.held_at.lock_name, held.held_at.at, held.until) == ("job", *[timestamp_of(_NOON)] * 2)
    assert claims_request({"name": "job", "prefix": ""}).WhichOneof("locks") == "lock_name"
    assert changes_request({"prefix": "job/"}).WhichOneof("locks") == "prefix"
    assert changes_request({}).WhichOneof("locks") is None
    with pytest.raises(ValueError, match="held_at: needs the name of the lock"):
        claims_request({"prefix": "job/", "held_at": _NOON})
    for request in (claims_request, changes_request):
        with pytest.raises(ValueError, match="name, prefix: set only one of them"):
            request({"name": "job", "prefix": "job/"})
    with pytest.raises(ValueError, match="end_reasons: 'BUSY' must be one of RELEASED, EXPIRED"):
        claims_request({"end_reasons": [Reason.BUSY]})


def _method(*_: object, **__: object) -> None:
    """Stand for a method of a stub that nobody calls."""
