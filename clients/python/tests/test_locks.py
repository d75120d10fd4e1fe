"""A client with one server: locks, tries, waits, cancellation, and limits."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from conftest import MakeClient
from rowlock_server import RowlockServer, until

import rowlock
from rowlock import FOREVER, ClaimEndView, ForcedRelease, LimitChange, Lock, LockState, Place, Reason, Refusal
from rowlock.options import asked_of
from rowlock.telemetry import LockSpan


def test_is_held_with_its_token_until_its_scope_ends(client: rowlock.Client, name: str) -> None:
    with client.lock(name, labels={"job": "7"}) as lock:
        assert (lock.name, lock.token, lock.mode, lock.permits) == (name, 1, "permit", 1)
        assert lock.state is LockState.HELD
        assert 20 < lock.remaining < 30
        assert not lock.lost.is_set()
        lock.check()
        (holder,) = client.get_lock(name).holders
        assert (holder.owner, holder.labels, holder.token) == ("tester", {"job": "7"}, 1)
    assert client.get_lock(name).holder_count == 0


def test_is_released_once_and_says_whether_it_was_held(client: rowlock.Client, name: str) -> None:
    lock = client.lock(name)
    told: list[LockState] = []
    lock.on_state(told.append)
    assert lock.release()
    assert lock.release()
    assert lock.state is LockState.LOST
    assert lock.lost.error is not None
    assert lock.lost.error.reason == Reason.RELEASED
    assert not client.release(lock.lease_id)
    client.close()
    assert told == []


def test_without_end_has_no_end(client: rowlock.Client, name: str) -> None:
    with client.lock(name, ttl=FOREVER) as lock:
        assert math.isinf(lock.remaining)
        assert client.get_lock(name).holders[0].expires_at is None


def test_that_is_tried_is_none_when_it_is_busy(client: rowlock.Client, name: str) -> None:
    with client.lock(name):
        assert client.try_lock(name) is None
    client.set_limit(0, name=name)
    assert client.try_lock(name) is None


def test_that_is_refused_says_why(client: rowlock.Client, name: str) -> None:
    with client.lock(name):
        busy = client.acquire(name, wait=0)
        assert isinstance(busy, Refusal)
        assert busy.reason == Reason.BUSY
        assert busy.holders[0].owner == "tester"
        with pytest.raises(TimeoutError) as late:
            client.lock(name, wait=0.05)
        assert isinstance(late.value, rowlock.LockTimeout)
        assert late.value.refusal.reason == Reason.TIMED_OUT
        with pytest.raises(rowlock.LockRefused) as never:
            client.try_lock(name, permits=5)
        assert never.value.refusal.limit is not None
        assert never.value.refusal.limit.permits == 1


def test_with_mistakes_is_an_error_that_names_all_of_them(client: rowlock.Client) -> None:
    with pytest.raises(rowlock.RowlockError) as wrong:
        client.lock("", permits=2_000_000, ttl=0.001)
    assert wrong.value.reason == Reason.BAD_REQUEST
    assert {each.field for each in wrong.value.violations} == {
        "request.name",
        "request.permits",
        "request.terms.ttl",
    }


@pytest.mark.parametrize(
    "options",
    [
        {"ttl": 2.0, "margin": 1.0},
        {"mode": "both"},
        {"permits": -1},
        {"wait": math.nan},
        {"ttl": "long"},
        {"x": 1},
    ],
)
def test_options_that_no_request_can_hold_are_refused_at_once(
    client: rowlock.Client, options: dict[str, Any]
) -> None:
    with pytest.raises((ValueError, TypeError)):
        client.lock("never", **options)


@pytest.mark.parametrize("options", [{"addresses": []}, {"give_up_after": 0}, {"connect_timeout": math.nan}])
def test_a_client_that_cannot_work_is_not_made(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"addresses|give_up_after|connect_timeout"):
        rowlock.connect(**{"addresses": "127.0.0.1:1", **options})


def test_waiters_keep_their_order_and_learn_each_place(client: rowlock.Client, name: str) -> None:
    places: list[list[Place]] = [[], []]
    with ThreadPoolExecutor() as pool:
        first = client.lock(name)
        waits = []
        for seen in places:
            waits.append(pool.submit(client.lock, name, on_position=seen.append, position_interval=0.0))
            until(lambda: client.get_lock(name).waiter_count == len(waits))
        first.release()
        second = waits[0].result(10)
        until(lambda: [place.ahead for place in places[1]] == [1, 0])
        second.release()
        assert waits[1].result(10).token == 3
    assert [place.ahead for place in places[0]] == [0]


def test_what_is_raised_on_a_position_ends_the_wait(client: rowlock.Client, name: str) -> None:
    def refuse(_: Place) -> None:
        raise KeyError("enough")

    with client.lock(name):
        with pytest.raises(KeyError, match="enough"):
            client.lock(name, on_position=refuse)
        until(lambda: client.get_lock(name).waiter_count == 0)


def test_another_thread_can_cancel_a_wait(client: rowlock.Client, name: str) -> None:
    cancel = rowlock.Cancellation()
    with client.lock(name), ThreadPoolExecutor() as pool:
        wait = pool.submit(client.lock, name, cancel=cancel)
        until(lambda: client.get_lock(name).waiter_count == 1)
        cancel.cancel()
        with pytest.raises(rowlock.RowlockError) as given_up:
            wait.result(10)
        assert given_up.value.reason == Reason.CANCELLED
        until(lambda: client.get_lock(name).waiter_count == 0)
        with pytest.raises(rowlock.RowlockError):
            client.lock(name, cancel=cancel)


class _TooLate(rowlock.Cancellation):
    """Cancels a wait that has just ended."""

    def _leave(self, give_up: Callable[[], object]) -> None:
        self.cancel()
        super()._leave(give_up)


def test_a_cancellation_that_meets_a_grant_leaves_the_lock_to_its_caller(
    client: rowlock.Client, name: str
) -> None:
    lock = client.lock(name, cancel=_TooLate())
    assert client.get_lock(name).holder_count == 1
    lock.check()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT interrupt the test, even if a shell runs the tests in the background with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_gives_up_the_wait(client: rowlock.Client, name: str) -> None:
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        until(lambda: client.get_lock(name).waiter_count == 1)
        signal.pthread_kill(main, signal.SIGINT)

    with client.lock(name):
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            client.lock(name)
        thread.join()
        until(lambda: client.get_lock(name).waiter_count == 0)


def test_that_an_operator_ends_is_lost_and_its_scope_says_so(client: rowlock.Client, name: str) -> None:
    told: list[LockState] = []
    with pytest.raises(rowlock.LockLost) as lost, client.lock(name) as lock:
        lock.on_state(told.append)
        ended = client.force_release(name, "test").ended
        assert [claim.end and claim.end.reason for claim in ended] == ["FORCE_RELEASED"]
        assert lock.lost.wait(10)
        with pytest.raises(rowlock.LockLost):
            lock.check()
    end = lost.value.end
    assert end is not None
    assert (end.reason, end.note, end.status) == (Reason.FORCE_RELEASED, "test", "")
    assert end.ended_at is not None
    (past,) = client.list_claims(name=name)
    assert past.end == end
    until(lambda: told == [LockState.LOST])


def test_the_end_of_a_scope_reports_an_unnoticed_loss(
    server: RowlockServer, client: rowlock.Client, connect: MakeClient, name: str
) -> None:
    """As if another server had released the lease: the client learns of it only with its next renewal."""
    other = connect(server.address)
    with pytest.raises(rowlock.LockLost), client.lock(name) as lock:
        lock._bridge.engine._keeper.lost = lambda leases: None  # type: ignore[method-assign]
        assert other.release(lock.lease_id)
        assert lock.state is LockState.HELD


def test_what_the_work_raises_is_not_hidden_by_the_loss(client: rowlock.Client, name: str) -> None:
    with pytest.raises(KeyError), client.lock(name) as lock:
        client.force_release(name, "test")
        assert lock.lost.wait(10)
        raise KeyError("work")


def test_is_handed_over_by_its_lease_id_and_outlives_the_client(
    server: RowlockServer, connect: MakeClient, name: str
) -> None:
    first, second = connect(server.address), connect(server.address)
    with first.lock(name) as lock:
        over = lock.hand_over(60)
    # It belongs to somebody else now.
    assert not lock.release()
    first.close()
    renewed = second.renew(over.lease_id)
    assert (renewed.name, renewed.token) == (name, 1)
    assert renewed.ttl is not None
    assert renewed.ttl > 50
    assert second.release(over.lease_id)


def test_asked_for_under_the_same_request_id_is_the_same_claim(
    server: RowlockServer, connect: MakeClient, name: str
) -> None:
    one, two = connect(server.address), connect(server.address)
    first, second = one.lock(name, request_id=name), two.lock(name, request_id=name)
    assert first.lease_id == second.lease_id


def test_asked_for_twice_under_the_same_request_id_is_kept_for_both(
    client: rowlock.Client, name: str
) -> None:
    first = client.lock(name, request_id=name, ttl=1.5)
    second = client.lock(name, request_id=name, ttl=1.5)
    assert not first.lost.wait(2)
    assert (first.state, second.state) == (LockState.HELD, LockState.HELD)
    assert second.release()
    assert first.state is LockState.LOST
    assert not first.release()


def test_limits_are_set_listed_and_taken_away(client: rowlock.Client, name: str) -> None:
    set_to = client.set_limit(3, pattern=f"{name}/*", reason="night")
    assert (set_to.limit, set_to.version) == (3, 1)
    (setting,) = client.list_limits(f"{name}/")
    assert (setting.pattern, setting.name, setting.limit, setting.reason) == (f"{name}/*", None, 3, "night")
    with pytest.raises(rowlock.RowlockError) as mismatch:
        client.set_limit(4, pattern=f"{name}/*", if_version=7)
    assert mismatch.value.reason == Reason.VERSION_MISMATCH
    assert mismatch.value.metadata == {"version": "1"}
    locks = [client.lock(f"{name}/{index}") for index in range(5)]
    found = [lock.name for lock in client.list_locks(f"{name}/", page_size=2)]
    assert found == [lock.name for lock in locks]
    assert client.set_limit(None, pattern=f"{name}/*").limit == 1


def test_the_past_is_listed_and_a_wait_explained(client: rowlock.Client, name: str) -> None:
    with client.lock(name, labels={"job": "7"}) as first:
        token = first.token
    (past,) = client.list_claims(
        name=name, end_reasons=[Reason.RELEASED], labels={"job": "7"}, states=["ended"]
    )
    assert past.end is not None
    ended_at = past.end.ended_at
    assert ended_at is not None
    assert (past.state, past.token) == ("ended", token)
    assert past.end == ClaimEndView(Reason.RELEASED, ended_at)
    assert past.granted_at is not None
    assert list(client.list_claims(name=name, held_at=ended_at)) == []
    assert [claim.token for claim in client.list_claims(name=name, held_at=past.granted_at)] == [token]
    # Times restrict this, too.
    assert list(client.list_claims(name=name, held_at=past.granted_at, until=ended_at)) == []
    assert list(client.list_claims(prefix=name, until=ended_at)) == []
    begins: list[datetime] = []
    list(client.list_claims(name=name, complete_from=begins.append))
    list(client.list_changes(name=name, complete_from=begins.append))
    assert [past.granted_at - begin < timedelta(days=8) for begin in begins] == [True, True]
    assert all(begin < ended_at for begin in begins)
    with pytest.raises(rowlock.LockLost), client.lock(name):
        held = next(client.list_claims(prefix=name))
        assert held.end is None
        assert [claim.state for claim in client.list_claims(prefix=name, page_size=1)] == ["held", "ended"]
        explained = client.explain_wait(name)
        (cause,) = explained.causes
        assert isinstance(cause, rowlock.HeldByOthers)
        assert [claim.lock_name for claim in cause.holders] == [name]
        assert (explained.claim, explained.estimate) == (None, None)
        assert explained.summary.startswith("held by ")
        client.force_release(name, "hung")
    client.set_limit(0, name=name, reason="night")
    forced, limit = reversed(list(client.list_changes(name=name)))
    assert (forced.kind, forced.name, forced.reason) == ("forced release", name, "hung")
    assert forced.what == ForcedRelease(held.ticket_number, "held", "tester", held.principal)
    assert (limit.kind, limit.what, limit.reason) == ("limit", LimitChange(None, 0), "night")
    (paused,) = client.explain_wait(name).causes
    assert isinstance(paused, rowlock.LimitInTheWay)
    assert (paused.limit.permits, paused.set_by) == (0, limit.changed_by)
    with pytest.raises(rowlock.RowlockError) as unknown:
        client.explain_wait(name, ticket_number=99)
    assert unknown.value.reason == Reason.UNKNOWN_CLAIM
    with pytest.raises(ValueError, match="states: 'gone' must be one of waiting, held, ended"):
        next(client.list_claims(states=["gone"]))  # type: ignore[list-item]
    with pytest.raises(ValueError, match="name, ticket_id"):
        client.explain_wait()


def test_readers_share_a_lock_and_a_writer_is_alone(client: rowlock.Client, name: str) -> None:
    with client.lock(name, mode="shared"), client.lock(name, mode="shared") as reader:
        assert reader.mode == "shared"
        assert client.try_lock(name, mode="exclusive") is None


def test_closing_releases_everything_and_ends_all_threads(
    server: RowlockServer, client: rowlock.Client, name: str
) -> None:
    # The shared client starts its threads now.
    client.get_lock(name)
    before = set(threading.enumerate())
    other = rowlock.connect(server.address)
    lock = other.lock(name)
    lock.on_state(lambda _: None)
    with ThreadPoolExecutor(1) as pool:
        wait = pool.submit(other.lock, name)
        until(lambda: client.get_lock(name).waiter_count == 1)
        other.close()
        with pytest.raises(rowlock.RowlockError) as closed:
            wait.result(10)
    assert closed.value.reason == Reason.CLOSED
    seen = client.get_lock(name)
    assert (seen.holder_count, seen.waiter_count) == (0, 0)
    assert lock.state is LockState.LOST
    assert not lock.release()
    with pytest.raises(rowlock.RowlockError):
        other.try_lock(name)
    other.close()
    until(lambda: set(threading.enumerate()) <= before | {threading.current_thread()})


def test_callbacks_that_block_delay_nothing(client: rowlock.Client, name: str) -> None:
    go_on = threading.Event()
    lock = client.lock(name, ttl=2.0)
    lock.on_state(lambda _: go_on.wait())
    other = client.lock(f"{name}/2")
    other.on_state(lambda _: go_on.wait())
    client.force_release(f"{name}/2", "test")
    before = client.get_lock(name).holders[0].expires_at
    assert before is not None
    until(lambda: (client.get_lock(name).holders[0].expires_at or before) > before)
    go_on.set()
    assert isinstance(lock, Lock)


def test_many_grants_at_once_are_not_looked_at_again_for_each(client: rowlock.Client, name: str) -> None:
    looks = 0
    keeper = client._bridge.engine._keeper
    due = keeper._due

    def counted(*args: Any) -> float:
        nonlocal looks
        looks += 1
        return due(*args)

    keeper._due = counted  # type: ignore[method-assign,assignment]
    count = 400
    requests = [asked_of(f"{name}/{index}") for index in range(count)]
    futures = [
        client._bridge.engine.acquire(
            each, client._bridge.run, LockSpan(each.request, client._bridge.engine.telemetry)
        )
        for each in requests
    ]
    for future in futures:
        future.result(30)
    assert looks < 20 * count


def test_asked_for_under_a_request_id_whose_claim_is_over_is_refused_with_its_end(
    client: rowlock.Client, name: str
) -> None:
    # A lease without end may have terms, too.
    client.lock(name, request_id=name, ttl=FOREVER, min_interval=3_600).release()
    for wait in (0.0, 60.0):
        ended = client.acquire(name, request_id=name, ttl=FOREVER, wait=wait)
        assert isinstance(ended, Refusal)
        assert ended.reason == Reason.RELEASED
        assert ended.message
    record = client.get_lock(name).record
    assert record is not None
    assert record.not_before is not None
