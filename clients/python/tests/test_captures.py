"""Captures: taking some of many locks, waiting for them, releasing them one by one or together, and giving up."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from conftest import MakeClient
from rowlock_server import RowlockServer, until

import rowlock
from rowlock import FOREVER, Captured, LockState, Reason


def put(client: rowlock.Client, name: str, *tasks: int) -> str:
    """Make tasks that are due in this order, and return their prefix."""
    for task in tasks:
        client.update_record(f"{name}/{task}", status="new", not_before_in=0)
    return f"{name}/"


def names_of(captured: Iterable[rowlock.Lock]) -> list[int]:
    return [int(lock.name.rsplit("/", 1)[1]) for lock in captured]


def status_of(client: rowlock.Client, name: str) -> str:
    record = client.get_lock(name).record
    assert record is not None
    return record.status


def test_takes_the_longest_due_locks_first_and_renews_them(
    server: RowlockServer, connect: MakeClient, name: str
) -> None:
    client = connect(server.address, labels={"host": "a"})
    prefix = put(client, name, 2, 1, 3)
    asked: dict[str, Any] = {"prefix": prefix, "if_status": "new", "ttl": 1.5}
    taken = client.capture(**asked, count=2, labels={"job": "7"})
    assert (names_of(taken), len(taken), taken.retry_after) == ([2, 1], 2, None)
    (holder,) = client.get_lock(f"{prefix}2").holders
    assert (holder.owner, holder.labels) == ("tester", {"host": "a", "job": "7"})
    first = holder.expires_at
    assert first is not None
    # This takes several ttls.
    later = first + timedelta(seconds=4)
    until(lambda: (client.get_lock(f"{prefix}2").holders[0].expires_at or first) > later)
    assert [lock.state for lock in taken] == [LockState.HELD] * 2
    assert names_of(client.capture(**asked, count=2)) == [3]
    none = client.capture(**asked)
    assert not none
    assert list(none) == []
    assert taken.locks[0].release(status="done")
    assert names_of(client.capture(names=[f"{prefix}2", f"{prefix}4"], count=9)) == [4, 2]


def test_waits_for_a_free_lock_and_returns_empty_if_none_becomes_free(
    client: rowlock.Client, name: str
) -> None:
    prefix = put(client, name, 1)
    (first,) = client.capture(prefix=prefix)
    with ThreadPoolExecutor() as pool:
        wait = pool.submit(client.capture, prefix=prefix, wait=FOREVER)
        assert not client.capture(prefix=prefix, wait=0.05)
        first.release()
        (second,) = wait.result(30)
    assert second.token == 2
    until(lambda: second.remaining > 20)
    assert second.state is LockState.HELD


def test_a_cancelled_capture_takes_nothing(client: rowlock.Client, name: str) -> None:
    prefix = put(client, name, 1)
    cancel = rowlock.Cancellation()
    (first,) = client.capture(prefix=prefix)
    with ThreadPoolExecutor() as pool:
        wait = pool.submit(client.capture, prefix=prefix, wait=60, min_interval=3_600, cancel=cancel)
        until(lambda: len(client._bridge.engine._acquisitions) == 1)
        # The wait has reached the server when this call is answered.
        client.capture(prefix=prefix)
        cancel.cancel()
        with pytest.raises(rowlock.RowlockError) as given_up:
            wait.result(30)
    assert given_up.value.reason == Reason.CANCELLED
    first.release()
    assert names_of(client.capture(prefix=prefix, wait=10)) == [1]
    until(lambda: len(client._bridge.engine._calls) == 0)


def test_a_grant_that_meets_a_cancellation_is_given_back_without_a_trace(
    client: rowlock.Client, name: str
) -> None:
    prefix = put(client, name, 1, 2)
    asked = rowlock.options.capture_asked_of(prefix=prefix, count=2, min_interval=3_600)
    future = client._bridge.engine.capture(asked, "")
    assert len(future.result(30).leases) == 2
    client._bridge.engine.give_up(future)
    assert len(client.capture(prefix=prefix, count=2, wait=10)) > 0


def test_the_same_request_id_gets_the_same_leases_and_no_others(
    server: RowlockServer, client: rowlock.Client, connect: MakeClient, name: str
) -> None:
    prefix = put(client, name, 1, 2)
    asked: dict[str, Any] = {"prefix": prefix, "request_id": name, "ttl": 1.5}
    (lock,) = client.capture(**asked)
    (elsewhere,) = connect(server.address).capture(**asked)
    (again,) = client.capture(**asked)
    assert lock.lease_id == elsewhere.lease_id == again.lease_id
    # The client has one lease for both, and renews it once.
    assert lock._lease is again._lease
    assert again.release()
    assert lock.state is LockState.LOST
    assert list(client.capture(**asked)) == []


def test_its_scope_releases_what_is_left(client: rowlock.Client, name: str) -> None:
    prefix = put(client, name, 1, 2, 3)
    with client.capture(prefix=prefix, count=3) as tasks:
        one, two, three = tasks
        one.release(status="done")
        three.hand_over()
    assert [lock.holder_count for lock in client.list_locks(prefix)] == [0, 0, 1]
    assert [status_of(client, f"{prefix}{task}") for task in (1, 2)] == ["done", "new"]
    assert two.state is LockState.LOST
    assert client.release(three.lease_id)


def test_each_can_be_held_in_a_scope_of_its_own(client: rowlock.Client, name: str) -> None:
    prefix = put(client, name, 1, 2)
    with client.capture(prefix=prefix, count=2, status_if_lost="lost") as tasks:
        for task in tasks:
            if task.name.endswith("1"):
                with pytest.raises(rowlock.LockLost), task:
                    client.force_release(task.name, "test")
                    assert task.lost.wait(10)
            else:
                with task:
                    assert task.release(status="done")
    assert [status_of(client, f"{prefix}{task}") for task in (1, 2)] == ["lost", "done"]


def test_its_scope_reports_a_lost_lock_and_releases_the_others(client: rowlock.Client, name: str) -> None:
    prefix = put(client, name, 1, 2)
    with pytest.raises(rowlock.LockLost) as lost, client.capture(prefix=prefix, count=2) as tasks:
        client.force_release(f"{prefix}1", "test")
        assert tasks.locks[0].lost.wait(10)
        # Also if nobody has looked at the lock.
        assert not tasks.locks[0].release(status="done")
    assert (lost.value.end and lost.value.end.reason) == Reason.FORCE_RELEASED
    assert [lock.holder_count for lock in client.list_locks(prefix)] == [0, 0]


def test_what_the_work_raises_is_not_hidden(client: rowlock.Client, name: str) -> None:
    prefix = put(client, name, 1)
    with pytest.raises(KeyError), client.capture(prefix=prefix) as tasks:
        client.force_release(f"{prefix}1", "test")
        assert tasks.locks[0].lost.wait(10)
        raise KeyError("work")


def test_goes_on_when_the_server_dies_and_comes_back(own_server: RowlockServer, connect: MakeClient) -> None:
    client = connect(own_server.address)
    prefix = put(client, "task", 1)
    (first,) = client.capture(prefix=prefix, ttl=60.0)
    with ThreadPoolExecutor() as pool:
        wait = pool.submit(client.capture, prefix=prefix, wait=FOREVER)
        until(lambda: len(client._bridge.engine._calls._by_number) == 1)
        own_server.kill()
        own_server.start_again()
        until(lambda: first.state is LockState.HELD)
        assert first.release()
        assert names_of(wait.result(30)) == [1]


def test_closing_the_client_cancels_captures_and_releases_their_locks(
    server: RowlockServer, client: rowlock.Client, connect: MakeClient, name: str
) -> None:
    prefix = put(client, name, 1, 2)
    before = set(threading.enumerate())
    other = connect(server.address)
    taken = other.capture(prefix=prefix, count=2)
    with ThreadPoolExecutor(1) as pool:
        wait = pool.submit(other.capture, prefix=prefix, wait=FOREVER)
        until(lambda: len(other._bridge.engine._calls) > 0)
        other.close()
        with pytest.raises(rowlock.RowlockError) as closed:
            wait.result(10)
    assert closed.value.reason == Reason.CLOSED
    assert [lock.state for lock in taken] == [LockState.LOST] * 2
    assert names_of(client.capture(prefix=prefix, count=2)) == [1, 2]
    until(lambda: set(threading.enumerate()) <= before | {threading.current_thread()})


def test_mistakes_are_named_all_at_once(client: rowlock.Client) -> None:
    with pytest.raises(rowlock.RowlockError) as wrong:
        client.capture(names=["a", "b", "x" * 256], count=101, if_status="x" * 64)
    assert wrong.value.reason == Reason.BAD_REQUEST
    assert {each.field for each in wrong.value.violations} == {
        "terms.if_status[0]",
        "max_leases",
        "names.names[2]",
    }
    with pytest.raises(rowlock.RowlockError) as missing:
        client.capture()
    assert [each.field for each in missing.value.violations] == ["from"]
    with pytest.raises(rowlock.RowlockError) as empty:
        client.capture(names=[])
    assert [each.field for each in empty.value.violations] == ["names.names"]


@pytest.mark.parametrize(
    "options",
    [
        {"ttl": 2.0, "margin": 1.0},
        {"ttl": FOREVER},
        {"names": "task/1"},
        {"count": -1},
        {"wait": "long"},
        {"permits": 2},
    ],
)
def test_options_that_no_request_can_hold_are_refused_at_once(
    client: rowlock.Client, options: dict[str, Any]
) -> None:
    with pytest.raises((ValueError, TypeError)):
        client.capture(**{"prefix": "never/", **options})


def test_is_seen_in_full() -> None:
    assert repr(Captured([], 1.5)) == "<rowlock.Captured []>"
