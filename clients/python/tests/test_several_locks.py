"""Claims for several locks at once, without a server: what is asked for, what is granted, and how a refusal is shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from test_calls import Way
from test_claim_ends import acquisition, answer
from test_held_lease import Hands

import rowlock
from rowlock import ClaimedLock, LockRefused, OptionError, QueuedBehind, Refusal, RowlockError, WantedLock
from rowlock.connection.polled_wait import PolledWait
from rowlock.engine.engine import _other_than
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.held_locks import HeldLocks
from rowlock.engine.holder import OwnHold
from rowlock.errors import refused
from rowlock.history import WaitExplanation, explanation_view
from rowlock.lock import Lock
from rowlock.locked_call import LockedCall
from rowlock.options import Place, asked_of, capture_asked_of, spend_asked_of
from rowlock.refusal import refusal_of, refusal_of_end
from rowlock.times import duration_of
from rowlock.v1 import lock_pb2, lock_service_pb2
from rowlock.v1.lock_pb2 import MODE_EXCLUSIVE, MODE_PERMIT, MODE_SHARED, Lease, Ticket
from rowlock.v1.lock_service_pb2 import (
    AcquireResponse,
    ExplainWaitResponse,
    WaitInQueueRequest,
    WaitInQueueResponse,
)
from rowlock.views import claim_end_view, claim_view, renewed_lease
from rowlock.waiting import waiting_of

_ALSO: Any = ["b", WantedLock("c", mode="shared"), WantedLock("d", permits=3)]
_WANTED = [
    lock_service_pb2.WantedLock(name="b", mode=MODE_PERMIT, permits=1),
    lock_service_pb2.WantedLock(name="c", mode=MODE_SHARED, permits=1),
    lock_service_pb2.WantedLock(name="d", mode=MODE_PERMIT, permits=3),
]


def claimed(name: str, token: int, mode: Any = MODE_PERMIT, permits: int = 1) -> lock_pb2.ClaimedLock:
    return lock_pb2.ClaimedLock(lock_name=name, mode=mode, permits=permits, fencing_token=token)


def lease(*also: lock_pb2.ClaimedLock, name: str = "job", provisional: bool = False) -> Lease:
    return Lease(
        lease_id="lease",
        lock_name=name,
        fencing_token=7,
        mode=MODE_PERMIT,
        permits=1,
        ttl=duration_of(30.0),
        provisional=provisional,
        also=also,
    )


_LEASE = lease(claimed("b", 1), claimed("c", 2, MODE_SHARED), claimed("d", 3, permits=3))


def held_lease(message: Lease = _LEASE) -> HeldLease:
    hands = Hands()
    return HeldLease(message, hands.now, 2.0, hands)


def test_each_request_of_a_claim_names_all_its_locks() -> None:
    way = Way(via="session")
    made = acquisition(way, also=_ALSO, request_id="run")
    assert list(way.sent[0].wait_in_queue.request.also) == _WANTED
    answer(made, way, wait_in_queue=WaitInQueueResponse(position=Ticket(ticket_id="t", waits_for="c")))
    # With another connection, the same request again.
    assert made._queue_request() == way.sent[0].wait_in_queue.request
    acquisition(way, also=_ALSO, wait=0)
    assert list(way.sent[-1].acquire.also) == _WANTED
    polled = PolledWait(1, WaitInQueueRequest(request=made._queue_request()), 0.0, "")
    assert (list(polled.request.also), polled.request.request_id) == (_WANTED, "run")


def test_a_claim_whose_place_has_lapsed_asks_for_all_its_locks_again() -> None:
    way = Way(via="session")
    made = acquisition(way, also=_ALSO)
    lapsed = lock_pb2.ClaimEnd(reason=lock_pb2.END_REASON_LAPSED)
    answer(made, way, wait_in_queue=WaitInQueueResponse(ended=lapsed))
    first, second = (each.wait_in_queue.request for each in way.sent)
    assert first.request_id != second.request_id
    assert list(second.also) == _WANTED


def test_a_wait_by_polls_reports_that_it_waits_for_another_lock() -> None:
    wait = PolledWait(1, WaitInQueueRequest(), 0.0, "")
    wait.reported, wait.reported_at = Ticket(ahead=1, waits_for="b"), 0.0
    assert wait.has_news(Ticket(ahead=1, waits_for="c"), 9.0)
    assert not wait.has_news(Ticket(ahead=1, waits_for="b"), 9.0)


def test_all_faults_of_further_locks_are_named_at_once() -> None:
    with pytest.raises(OptionError) as found:
        asked_of("job", also=["caf\ufffd", 3, None, WantedLock("d", mode="write", permits=0)], permits=0)  # type: ignore[arg-type]
    assert found.value.faults == (
        "permits: 0 must be a whole number from 1 on",
        'also[0].name: "caf\ufffd" has U+FFFD, which stands for bytes that were no text, so that two texts could be one',
        "also[1]: 3 must be a str or a rowlock.WantedLock",
        "also[2]: None must be a str or a rowlock.WantedLock",
        'also[3].mode: "write" must be one of permit, shared, exclusive',
        "also[3].permits: 0 must be a whole number from 1 on",
    )
    with pytest.raises(OptionError, match=r"also\[0\]\.name: it must be a str"):
        asked_of("job", also=[WantedLock(None)])  # type: ignore[arg-type]


@pytest.mark.parametrize("also", ["b", {"b", "c"}, WantedLock("b")])
def test_further_locks_are_a_list_as_their_order_counts(also: Any) -> None:
    with pytest.raises(OptionError, match=r"also: .* must be a list of names and rowlock\.WantedLock"):
        asked_of("job", also=also)


def test_captures_and_spends_take_no_further_locks() -> None:
    with pytest.raises(OptionError, match='unknown option "also"'):
        capture_asked_of(prefix="", also=["b"])
    with pytest.raises(OptionError, match='unknown option "also"'):
        spend_asked_of("api", also=["b"])


def test_a_lock_has_a_token_for_each_name() -> None:
    bridge: Any = SimpleNamespace(engine=SimpleNamespace(telemetry=None), lost_of=lambda _: None)
    scope: Any = None
    lock = Lock(bridge, held_lease(), scope)
    assert (lock.token, lock.token_of("job"), lock.token_of("d")) == (7, 7, 3)
    assert lock.tokens == {"job": 7, "b": 1, "c": 2, "d": 3}
    with pytest.raises(
        OptionError, match='name: "e" is no lock of this claim, which has "job", "b", "c", "d"'
    ):
        lock.token_of("e")
    assert renewed_lease(_LEASE).tokens == lock.tokens


def test_a_grant_of_a_server_that_is_too_old_for_several_locks_is_given_back() -> None:
    way, given_back = Way(via="session"), list[str]()
    made = acquisition(way, asked_of, given_back, also=["b"])
    answer(made, way, wait_in_queue=WaitInQueueResponse(granted=lease()))
    with pytest.raises(RowlockError, match="grants one lock at a time"):
        made.outcome.result(0)
    assert given_back == ["lease"]


def test_a_refusal_and_an_end_name_the_lock_in_the_way() -> None:
    busy = refusal_of(lock_pb2.Refusal(reason=lock_pb2.REFUSAL_REASON_BUSY, message="Busy.", lock_name="b"))
    assert busy.lock_name == "b"
    error = refused("job", busy)
    assert isinstance(error, LockRefused)
    assert error.message == 'The lock "b" was not granted: Busy.'
    end = lock_pb2.ClaimEnd(reason=lock_pb2.END_REASON_EXHAUSTED, lock_name="b")
    assert (refusal_of_end(end).lock_name, claim_end_view(end).lock_name) == ("b", "b")
    assert refusal_of(lock_pb2.Refusal()).lock_name is None


def test_a_refusal_says_which_of_its_locks_the_client_holds_itself() -> None:
    way = Way(via="session")
    made = acquisition(way, also=["b"], wait=0)
    holder: Any = made._holder
    holder.own_hold = lambda names: OwnHold(names[1], 12.0)
    answer(
        made,
        way,
        acquire=AcquireResponse(
            refusal=lock_pb2.Refusal(reason=lock_pb2.REFUSAL_REASON_BUSY, message="Busy.")
        ),
    )
    refusal = made.outcome.result(0)
    assert isinstance(refusal, Refusal)
    assert refusal.message == 'Busy; you hold "b" yourself, since 12 s; locks are not reentrant'


def test_a_held_claim_is_found_by_each_of_its_names() -> None:
    keeper: Any = SimpleNamespace(keep=lambda _: None, drop=lambda _: None)
    telemetry: Any = SimpleNamespace(kept=lambda _: None)
    nothing: Any = None
    locks = HeldLocks(nothing, keeper, nothing, 60.0, telemetry, nothing)
    held = held_lease()
    locks.keep(held)
    assert locks.named("x", "d") == [held]
    assert locks.own_hold(["x", "c", "b"]) == OwnHold("c", 0.0)
    locks.forget(held, "released")
    assert (locks.named("job"), locks.named("d"), locks._by_name) == ([], [], {})


@pytest.mark.parametrize(
    ("name", "also", "other"),
    [
        ("job", _ALSO, ""),
        ("job", [], 'with "b" and "c" and "d"'),
        ("b", [], 'with "b" and "c" and "d"'),
        ("job", [*_ALSO[:2], "d"], '3 permits of "d"'),
        ("job", ["b", "c", _ALSO[2]], '"c" in mode shared'),
    ],
)
def test_a_reentrant_claim_is_held_again_only_as_it_is(name: str, also: Any, other: str) -> None:
    assert _other_than(held_lease(), asked_of(name, also=also)) == other
    alone = held_lease(lease())
    assert _other_than(alone, asked_of("job", also=also)) == ("nothing with it" if also else "")


def test_a_place_says_for_which_lock_it_is() -> None:
    way, places = Way(via="session"), list[Place]()
    made = acquisition(way, also=["b"])
    made._moved = places.append
    answer(made, way, wait_in_queue=WaitInQueueResponse(position=Ticket(ahead=2, waits_for="b")))
    answer(made, way, wait_in_queue=WaitInQueueResponse(position=Ticket(ahead=2)))
    assert [each.waits_for for each in places] == ["b", None]


def explanation(*causes: lock_pb2.WaitCause) -> WaitExplanation:
    return explanation_view(ExplainWaitResponse(causes=causes))


def test_the_causes_of_a_wait_name_their_locks_and_the_place_is_that_where_most_are_ahead() -> None:
    explained = explanation(
        lock_pb2.WaitCause(queued=lock_pb2.QueuedBehind(ahead=1, permits_ahead=1), lock_name="job"),
        lock_pb2.WaitCause(queued=lock_pb2.QueuedBehind(ahead=4, permits_ahead=9), lock_name="b"),
        lock_pb2.WaitCause(exhausted=True, lock_name="c"),
        lock_pb2.WaitCause(exhausted=True),
    )
    assert [each.lock_name for each in explained.causes] == ["job", "b", "c", None]
    assert explained.causes[1] == QueuedBehind(4, 9, (), lock_name="b")
    waiting = waiting_of("job", 12.0, Place(1, 1, 2, 12.0, waits_for="job"), explained, held_by_you=False)
    assert (waiting.place.ahead, waiting.place.permits_ahead, waiting.place.waits_for) == (4, 9, "b")


def test_a_listed_claim_has_its_other_locks() -> None:
    waits = claim_view(lock_pb2.Claim(also=[claimed("b", 0, MODE_EXCLUSIVE)]))
    assert waits.also == (ClaimedLock("b", "exclusive", 1, None),)
    assert claim_view(lock_pb2.Claim(also=[claimed("b", 4, permits=2)])).also == (
        ClaimedLock("b", "permit", 2, 4),
    )


def test_a_decorated_function_names_further_locks_by_its_arguments() -> None:
    def move(source: str, target: str) -> None: ...

    also: Any = ["bank/{target}", WantedLock("log", mode="shared")]
    call = LockedCall("bank/{source}", also, move, is_async=False)
    assert call.name_of(("a",), {"target": "b"}) == "bank/a"
    assert call.also_of(("a",), {"target": "b"}) == [WantedLock("bank/b"), WantedLock("log", mode="shared")]
    with pytest.raises(OptionError, match=r'"bank/{to}" needs to, which .*move does not take'):
        LockedCall("bank/{source}", ["bank/{to}"], move, is_async=False)
    with pytest.raises(OptionError, match=r"also\[0\]: 3 must be"):
        rowlock.connect("localhost:1").locked("job", also=[3])  # type: ignore[list-item]
