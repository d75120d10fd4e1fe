"""What the client keeps when servers stop and start, and what it does when it cannot keep it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import MakeClient
from rowlock_server import RowlockServer, until

import rowlock
from rowlock import ClaimEndView, ConnectionEvent, LockState, Reason


def test_locks_and_places_are_kept_when_the_server_dies_and_comes_back(
    own_server: RowlockServer, connect: MakeClient
) -> None:
    client = connect(own_server.address)
    lock = client.lock("kept", ttl=60.0)
    told: list[LockState] = []
    lock.on_state(told.append)
    with ThreadPoolExecutor() as pool:
        waits = []
        for _ in range(3):
            waits.append(pool.submit(client.lock, "kept"))
            until(lambda: client.get_lock("kept").waiter_count == len(waits))
        own_server.kill()
        until(lambda: lock.state is LockState.UNCERTAIN)
        own_server.start_again()
        until(lambda: lock.state is LockState.HELD)
        until(lambda: told == [LockState.UNCERTAIN, LockState.HELD])
        until(lambda: client.get_lock("kept").waiter_count == 3)
        assert lock.release()
        for index, wait in enumerate(waits):
            granted = wait.result(30)
            assert granted.token == index + 2
            assert granted.release()


def test_a_lock_is_lost_before_its_lease_can_have_ended(
    own_server: RowlockServer, connect: MakeClient
) -> None:
    client = connect(own_server.address)
    lock = client.lock("frozen", ttl=3.0, margin=1.0)
    own_server.freeze()
    assert lock.lost.wait(30)
    assert isinstance(lock.lost.error, rowlock.LockLost)
    assert lock.lost.error.end == ClaimEndView(Reason.EXPIRED)
    own_server.thaw()
    assert not lock.release()
    assert client.lock("frozen").token == 2


def test_a_call_without_a_server_fails_with_no_server(connect: MakeClient) -> None:
    seen: list[ConnectionEvent] = []
    client = connect("127.0.0.1:9", give_up_after=0.5, on_connection=seen.append)
    with pytest.raises(rowlock.RowlockError) as none:
        client.lock("nowhere")
    assert (none.value.reason, none.value.code) == (Reason.NO_SERVER, "UNAVAILABLE")
    assert "127.0.0.1:9" in none.value.message
    until(lambda: len(seen) > 0)
    assert seen[0].kind == "disconnected"


def test_what_is_not_safe_to_repeat_is_in_doubt(own_server: RowlockServer, connect: MakeClient) -> None:
    client = connect(own_server.address)
    client.get_lock("limited")
    own_server.freeze()
    with ThreadPoolExecutor() as pool:
        safe = pool.submit(client.get_lock, "limited")
        unsafe = pool.submit(client.set_limit, 4, name="other")
        until(lambda: len(client._bridge.engine._calls._by_number) == 2)
        own_server.kill()
        with pytest.raises(rowlock.RowlockError) as doubt:
            unsafe.result(30)
        assert (doubt.value.reason, doubt.value.code) == (Reason.CONNECTION_LOST, "UNAVAILABLE")
        own_server.start_again()
        assert safe.result(30).name == "limited"


def test_failing_headers_fail_open_calls_and_the_next_call_asks_again(
    server: RowlockServer, connect: MakeClient, name: str
) -> None:
    asked = 0

    def headers() -> dict[str, str]:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise OSError("no token yet")
        return {}

    client = connect(server.address, headers=headers)
    with pytest.raises(rowlock.RowlockError, match="no token yet") as failed:
        client.lock(name)
    assert failed.value.code == "UNAUTHENTICATED"
    assert client.lock(name).token == 1


def test_hanging_headers_delay_no_call_for_ever(
    server: RowlockServer, connect: MakeClient, name: str
) -> None:
    never = threading.Event()
    asked = threading.Semaphore(0)

    def headers() -> dict[str, str]:
        asked.release()
        never.wait()
        return {}

    client = connect(server.address, headers=headers, connect_timeout=0.2, give_up_after=1.0)
    with pytest.raises(rowlock.RowlockError) as none:
        client.lock(name)
    assert none.value.reason == Reason.NO_SERVER
    assert asked.acquire(timeout=1)
    assert asked.acquire(timeout=1)
    never.set()
