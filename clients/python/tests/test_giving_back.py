"""Leases that no caller received or wants are given back, even if the connection breaks meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import MakeClient
from late_proxy import LateProxy
from rowlock_server import RowlockServer, until

import rowlock
from rowlock import FOREVER, Place, Reason

# A ttl that is too short for renewals if an answer takes 0.25 s.
_TTL = 1.0
_MARGIN = 0.49


@pytest.fixture
def proxy(server: RowlockServer) -> Iterator[LateProxy]:
    """A proxy before the shared server."""
    with LateProxy(server.address) as made:
        yield made


def _unheard(client: rowlock.Client, proxy: LateProxy, name: str, **options: str) -> rowlock.RowlockError:
    """Ask for a lease without end whose grant is lost, and return the error."""
    client.get_lock(name)
    proxy.loses_answers = True
    with pytest.raises(rowlock.RowlockError) as failed:
        client.lock(name, ttl=FOREVER, **options)  # type: ignore[arg-type]
    assert failed.value.reason == Reason.NO_SERVER
    return failed.value


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_lease_without_end_whose_grant_got_lost_is_released(
    client: rowlock.Client, connect: MakeClient, proxy: LateProxy, name: str, is_closed: bool
) -> None:
    asking = connect(proxy.address, give_up_after=0.5, connect_timeout=0.5)
    error = _unheard(asking, proxy, name)
    assert f'"{name}" may be held, under the request id {error.metadata["request_id"]}' in error.message
    assert client.get_lock(name).holder_count == 1
    if is_closed:
        asking.close()
    proxy.loses_answers = False
    until(lambda: client.get_lock(name).holder_count == 0)


def test_a_lease_without_end_of_a_client_closed_before_its_answer_is_released(
    client: rowlock.Client, connect: MakeClient, proxy: LateProxy, name: str
) -> None:
    asking = connect(proxy.address, connect_timeout=0.5)
    asking.get_lock(name)
    proxy.loses_answers = True
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(asking.lock, name, ttl=FOREVER)
        until(lambda: client.get_lock(name).holder_count == 1)
        asking.close()
        with pytest.raises(rowlock.RowlockError):
            asked.result(10)
    assert client.get_lock(name).holder_count == 1
    proxy.loses_answers = False
    until(lambda: client.get_lock(name).holder_count == 0)


def test_a_lease_without_end_whose_release_got_lost_is_released(
    client: rowlock.Client, connect: MakeClient, own_server: RowlockServer, name: str
) -> None:
    asking, looking = (connect(own_server.address, give_up_after=0.5, connect_timeout=0.5) for _ in range(2))
    lock = asking.lock(name, ttl=FOREVER)
    own_server.kill()
    with pytest.raises(rowlock.RowlockError) as failed:
        lock.release()
    assert failed.value.reason == Reason.NO_SERVER
    asking.close()
    own_server.start_again()
    until(lambda: looking.get_lock(name).holder_count == 0)


def test_a_lease_under_the_callers_request_id_waits_for_its_caller(
    server: RowlockServer, client: rowlock.Client, connect: MakeClient, proxy: LateProxy, name: str
) -> None:
    asking = connect(proxy.address, give_up_after=0.5, connect_timeout=0.5)
    error = _unheard(asking, proxy, name, request_id=name)
    assert f'"{name}" may be held, under the request id {name}: acquire it again' in error.message
    assert connect(server.address).lock(name, ttl=FOREVER, request_id=name).token == 1


def _sets(event: threading.Event) -> Callable[[Place], None]:
    return lambda _: event.set()


def test_cancelling_one_of_several_waits_with_one_request_id_keeps_the_place(
    server: RowlockServer, client: rowlock.Client, connect: MakeClient, name: str
) -> None:
    asking = connect(server.address)
    cancels = [rowlock.Cancellation() for _ in range(3)]
    placed = [threading.Event() for _ in cancels]
    with client.lock(name), ThreadPoolExecutor() as pool:
        waits = [
            pool.submit(asking.lock, name, request_id=name, cancel=cancel, on_position=_sets(at))
            for cancel, at in zip(cancels, placed, strict=True)
        ]
        assert all(at.wait(10) for at in placed)
        cancels[0].cancel()
        with pytest.raises(rowlock.RowlockError):
            waits[0].result(10)
        asking.get_lock(name)
        assert client.get_lock(name).waiter_count == 1
        cancels[1].cancel()
        with pytest.raises(rowlock.RowlockError):
            waits[1].result(10)
        asking.get_lock(name)
        assert client.get_lock(name).waiter_count == 1
        asking.close()
        assert client.get_lock(name).waiter_count == 0
        with pytest.raises(rowlock.RowlockError):
            waits[2].result(10)


def test_a_lock_that_is_released_while_another_call_asks_under_its_request_id_is_not_held(
    server: RowlockServer, connect: MakeClient, name: str
) -> None:
    with LateProxy(server.address, 0.3) as late, ThreadPoolExecutor() as pool:
        asking = connect(late.address)
        lock = asking.lock(name, request_id=name)
        again = pool.submit(asking.acquire, name, request_id=name)
        until(lambda: len(asking._bridge.engine._acquisitions) == 1)
        # The server has still to answer the second call that the lock is held.
        assert lock.release()
        refusal = again.result(30)
        assert isinstance(refusal, rowlock.Refusal)
        assert refusal.reason == Reason.RELEASED
        with connect(server.address).lock(name) as next_one:
            assert next_one.token == lock.token + 1


def test_a_ttl_too_short_for_the_round_trip_is_an_error(
    server: RowlockServer, client: rowlock.Client, connect: MakeClient, name: str
) -> None:
    with LateProxy(server.address, 0.25) as slow:
        asking = connect(slow.address)
        with pytest.raises(rowlock.RowlockError) as failed:
            asking.lock(name, ttl=_TTL, margin=_MARGIN)
        assert failed.value.reason == Reason.TTL_TOO_SHORT
        asking.close()
        assert client.get_lock(name).holder_count == 0
        assert connect(slow.address).lock(name).state is rowlock.LockState.HELD


def test_a_capture_with_a_ttl_too_short_for_the_round_trip_is_an_error(
    server: RowlockServer, client: rowlock.Client, connect: MakeClient, name: str
) -> None:
    for each in range(2):
        client.update_record(f"{name}/{each}", status="new")
    with LateProxy(server.address, 0.25) as slow:
        asking = connect(slow.address)
        with pytest.raises(rowlock.RowlockError) as failed:
            asking.capture(prefix=f"{name}/", count=2, wait=FOREVER, ttl=_TTL, margin=_MARGIN)
        assert failed.value.reason == Reason.TTL_TOO_SHORT
        asking.close()
        assert [each.name for each in client.list_locks(prefix=f"{name}/", busy_only=True)] == []
