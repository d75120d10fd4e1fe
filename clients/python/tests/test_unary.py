"""If no stream gets through, everything works with unary calls."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from conftest import MakeClient
from refusing_proxy import RefusingProxy
from rowlock_server import RowlockServer, until

import rowlock
from rowlock import ConnectionEvent, LockState, Place, Reason

_CODES = [
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.PERMISSION_DENIED,
]


@pytest.fixture
def proxy(server: RowlockServer) -> Iterator[RefusingProxy]:
    refusing = RefusingProxy(server.address, grpc.StatusCode.UNIMPLEMENTED)
    yield refusing
    refusing.stop()


@pytest.mark.parametrize("code", _CODES, ids=lambda code: code.name)
def test_falls_back_to_unary_calls_if_a_session_is_refused(
    server: RowlockServer, connect: MakeClient, code: grpc.StatusCode
) -> None:
    proxy = RefusingProxy(server.address, code)
    seen: list[ConnectionEvent] = []
    client = connect(proxy.address, labels={"host": "a"}, on_connection=seen.append)
    name = f"refused/{code.name}"
    with client.lock(name, labels={"job": "7"}):
        assert client.try_lock(name) is None
        (holder,) = client.get_lock(name).holders
        assert (holder.owner, holder.labels) == ("tester", {"host": "a", "job": "7"})
    until(lambda: [(each.kind, each.via) for each in seen] == [("connected", "unary")])
    client.close()
    proxy.stop()


def test_waits_report_places_and_get_whole_leases(
    proxy: RefusingProxy, connect: MakeClient, name: str
) -> None:
    client = connect(proxy.address)
    places: list[Place] = []
    first = client.lock(name)
    with ThreadPoolExecutor() as pool:
        second = pool.submit(client.lock, name, on_position=places.append, position_interval=0.1)
        until(lambda: client.get_lock(name).waiter_count == 1)
        third = pool.submit(client.lock, name, wait=0.3)
        with pytest.raises(rowlock.LockTimeout):
            third.result(30)
        assert first.release()
        granted = second.result(30)
    assert [place.ahead for place in places] == [0]
    # The lease is confirmed, so that it has its whole ttl.
    assert granted.remaining > 20
    assert granted.release()


def test_a_cancelled_wait_frees_its_place(proxy: RefusingProxy, connect: MakeClient, name: str) -> None:
    client, cancel = connect(proxy.address), rowlock.Cancellation()
    with client.lock(name), ThreadPoolExecutor() as pool:
        wait = pool.submit(client.lock, name, cancel=cancel)
        until(lambda: client.get_lock(name).waiter_count == 1)
        cancel.cancel()
        with pytest.raises(rowlock.RowlockError):
            wait.result(30)
        until(lambda: client.get_lock(name).waiter_count == 0)


def test_leases_are_renewed_one_by_one_and_their_loss_is_noticed(
    proxy: RefusingProxy, server: RowlockServer, connect: MakeClient, name: str
) -> None:
    client, other = connect(proxy.address), connect(server.address)
    locks = [client.lock(f"{name}/{index}", ttl=2.0) for index in range(3)]
    until(lambda: proxy.calls["Renew"] >= 9)
    assert [lock.state for lock in locks] == [LockState.HELD] * 3
    other.force_release(f"{name}/1", "test")
    assert locks[1].lost.wait(10)
    assert [lock.state for lock in locks] == [LockState.HELD, LockState.LOST, LockState.HELD]


def test_captures_wait_in_long_unary_calls_and_can_be_cancelled(
    proxy: RefusingProxy, connect: MakeClient, name: str
) -> None:
    client, cancel = connect(proxy.address, labels={"host": "a"}), rowlock.Cancellation()
    version = client.update_record(f"{name}/1", status="new").version
    with ThreadPoolExecutor() as pool:
        with client.capture(prefix=f"{name}/", labels={"job": "7"}) as (first,):
            (holder,) = client.get_lock(first.name).holders
            assert (holder.owner, holder.labels) == ("tester", {"host": "a", "job": "7"})
            given_up = pool.submit(client.capture, prefix=f"{name}/", wait=60, cancel=cancel)
            until(lambda: proxy.calls["Capture"] == 2)
            cancel.cancel()
            with pytest.raises(rowlock.RowlockError) as why:
                given_up.result(30)
            assert why.value.reason == Reason.CANCELLED
            # The server hears of it before it hears the next call, so that only that one waits.
            until(lambda: proxy.cancelled["Capture"] == 1)
            wait = pool.submit(client.capture, prefix=f"{name}/", wait=60)
            until(lambda: proxy.calls["Capture"] == 3)
        (second,) = wait.result(30)
    # The first renewal confirms the lease, so that it gets its whole ttl.
    until(lambda: second.remaining > 20)
    with pytest.raises(rowlock.RowlockError) as in_use:
        client.delete_record(second.name)
    assert in_use.value.reason == Reason.LOCK_IN_USE
    assert second.release(status="done")
    record = client.get_lock(second.name).record
    assert record is not None
    assert (record.status, record.version > version) == ("done", True)
    assert client.delete_record(second.name, if_version=record.version)
    # Giving up a capture has not ended the connection.
    assert proxy.calls["Session"] == 1


def test_errors_keep_their_reasons(proxy: RefusingProxy, connect: MakeClient, name: str) -> None:
    client = connect(proxy.address)
    with pytest.raises(rowlock.RowlockError) as bad:
        client.lock("", permits=2_000_000)
    assert bad.value.reason == Reason.BAD_REQUEST
    assert {each.field for each in bad.value.violations} == {"name", "permits"}
    client.set_limit(2, name=name)
    with pytest.raises(rowlock.RowlockError) as mismatch:
        client.set_limit(3, name=name, if_version=9)
    assert mismatch.value.metadata == {"version": "1"}


def test_a_proxy_that_goes_away_is_left_for_another_server(
    proxy: RefusingProxy, server: RowlockServer, connect: MakeClient, name: str
) -> None:
    client = connect(proxy.address, server.address)
    lock = client.lock(name, ttl=10.0)
    with ThreadPoolExecutor() as pool:
        wait = pool.submit(client.lock, name)
        until(lambda: client.get_lock(name).waiter_count == 1)
        proxy.stop()
        assert client.get_lock(name).waiter_count == 1
        until(lambda: lock.state is LockState.HELD)
        assert lock.release()
        assert wait.result(30).token == 2
