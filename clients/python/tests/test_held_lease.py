"""A held lease and its deadline, on a manual clock."""

from __future__ import annotations

import math
import time

import pytest

from rowlock import Backoff, LockLost, LockState, clock
from rowlock.engine.held_lease import HeldLease
from rowlock.options import asked_of
from rowlock.records import Terms
from rowlock.times import duration_of
from rowlock.v1.lock_pb2 import Lease


class Hands:
    """A manual clock."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lease_of(ttl: float, *, provisional: bool = False) -> Lease:
    return Lease(lease_id="a", lock_name="job", ttl=duration_of(ttl), provisional=provisional)


def test_is_uncertain_when_its_renewal_is_overdue_and_lost_a_margin_before_its_end() -> None:
    hands = Hands()
    held = HeldLease(lease_of(30.0), hands.now, 2.0, hands)
    told: list[LockState] = []
    held.listen(told.append)
    hands.now = 119.9
    assert held.state.value == LockState.HELD
    assert held.remaining == pytest.approx(8.1)
    hands.now = 120.0
    assert held.state.value == LockState.UNCERTAIN
    hands.now = 128.0
    assert held.state.value == LockState.LOST
    assert held.over.is_set()
    assert isinstance(held.loss, LockLost)
    assert held.remaining == 0.0
    assert told == [LockState.LOST]


def test_a_lost_lease_stays_lost() -> None:
    hands = Hands()
    held = HeldLease(lease_of(10.0), hands.now, 1.0, hands)
    hands.now = 109.5
    held.prolonged(lease_of(10.0), 109.0)
    assert held.state.value == LockState.LOST


def test_its_ttl_counts_from_the_request() -> None:
    hands = Hands()
    held = HeldLease(lease_of(10.0), hands.now - 8.0, 1.0, hands)
    assert held.remaining == pytest.approx(1.0)
    assert held.is_too_early


def test_without_its_connection_is_uncertain_until_it_is_renewed() -> None:
    hands = Hands()
    held = HeldLease(lease_of(10.0), hands.now, 1.0, hands)
    told: list[LockState] = []
    held.listen(told.append)
    held.orphaned()
    held.prolonged(lease_of(10.0), hands.now)
    assert told == [LockState.UNCERTAIN, LockState.HELD]


def test_that_is_provisional_is_not_relied_on_where_its_time_is_short() -> None:
    hands = Hands()
    assert HeldLease(lease_of(6.0, provisional=True), hands.now, 2.0, hands).is_too_early
    assert not HeldLease(lease_of(10.0, provisional=True), hands.now, 2.0, hands).is_too_early


@pytest.mark.parametrize(
    "terms",
    [
        Terms(min_interval=1.0),
        Terms(lock_delay=1.0),
        Terms(status_if_lost=""),
        Terms(if_status="new"),
        Terms(backoff=Backoff(1.0)),
    ],
)
def test_that_has_terms_is_not_relied_on_while_it_is_provisional(terms: Terms) -> None:
    hands = Hands()
    assert HeldLease(lease_of(10.0, provisional=True), hands.now, 2.0, hands, terms).is_too_early
    assert not HeldLease(lease_of(10.0), hands.now, 2.0, hands, terms).is_too_early


@pytest.mark.parametrize(("statuses", "are_set"), [((), False), ([], False), ("", True), ([""], True)])
def test_an_empty_list_of_statuses_is_no_term(statuses: str | list[str], are_set: bool) -> None:
    assert asked_of("job", if_status=statuses).terms.are_set is are_set


def test_without_end_is_never_overdue() -> None:
    hands = Hands()
    held = HeldLease(Lease(lease_id="a"), hands.now, 0.0, hands)
    hands.now = 1e12
    assert held.state.value == LockState.HELD
    assert math.isinf(held.remaining)


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this system has no such clock")
def test_the_clock_counts_sleep() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    now = clock.now()
    assert before <= now <= time.clock_gettime(time.CLOCK_BOOTTIME)
