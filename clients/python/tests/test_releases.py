"""The end of a lock is bounded and truthful: refused, late and lost releases, and leases that no server knows."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import MakeClient
from late_proxy import LateProxy
from rowlock_server import RowlockServer, until

import rowlock
from rowlock import LockLost, Reason
from rowlock.errors import RowlockError, no_server


def test_a_release_that_is_refused_for_its_status_gives_the_lock_back(
    client: rowlock.Client, name: str
) -> None:
    lock = client.lock(name)
    with pytest.raises(rowlock.RowlockError, match=r"; the lock was given back$") as refused:
        lock.release(status="x" * 64, attempts_left=7)
    assert refused.value.reason == Reason.BAD_REQUEST
    assert [each.field.rsplit(".", 1)[-1] for each in refused.value.violations] == ["status"]
    after = client.get_lock(name)
    assert after.holder_count == 0
    assert after.record is not None
    assert (after.record.status, after.record.attempts_left) == ("", 7)


def test_leaving_a_scope_of_a_frozen_server_takes_until_the_deadline(
    own_server: RowlockServer, connect: MakeClient
) -> None:
    client = connect(own_server.address)
    margin = 2.4
    with pytest.raises(LockLost, match="was not answered before the end of its lease"):
        with client.lock("frozen", ttl=5.0, margin=margin) as lock:
            own_server.freeze()
            left_at, remaining = time.monotonic(), lock.remaining
    took = time.monotonic() - left_at
    # The lease itself ends a margin later.
    assert took < remaining + margin / 2
    own_server.thaw()


def test_a_release_that_fails_before_the_deadline_is_no_loss(
    server: RowlockServer, connect: MakeClient, name: str
) -> None:
    with LateProxy(server.address) as proxy, ThreadPoolExecutor() as pool:
        client = connect(proxy.address, give_up_after=3_600.0)
        engine = client._bridge.engine
        lock = client.lock(name, ttl=3_600.0)
        proxy.loses_answers = True
        released = pool.submit(lock.release)
        until(lambda: len(engine._calls) == 1)
        engine._loop.post(lambda: engine.hopeless(no_server("Another server answers.", ())))
        with pytest.raises(rowlock.RowlockError) as failed:
            released.result(30)
    assert failed.value.reason == Reason.NO_SERVER


def test_an_exception_of_the_work_passes_a_late_release(
    own_server: RowlockServer, connect: MakeClient
) -> None:
    client = connect(own_server.address)
    with pytest.raises(KeyError):
        with client.lock("frozen", ttl=2.0, margin=0.9):
            own_server.freeze()
            raise KeyError
    own_server.thaw()


def test_a_lease_that_the_server_does_not_know_is_lost(client: rowlock.Client, name: str) -> None:
    engine = client._bridge.engine
    unknown = RowlockError(Reason.UNKNOWN_CLAIM, "NOT_FOUND", "There is no such claim.")
    with pytest.raises(LockLost) as lost:
        with client.lock(name) as lock:
            engine._loop.post(lambda: engine._keeper._failed(lock._lease, unknown))
            assert lock.lost.wait(30)
    # Nobody knows how it ended.
    assert lost.value.end is None
    assert lost.value.__cause__ is unknown


def test_the_second_release_returns_what_the_first_did(client: rowlock.Client, name: str) -> None:
    lock = client.lock(name)
    assert lock.release()
    assert lock.release()
    assert str(lock.state) == "lost"
    assert lock.lost.error is not None
    assert lock.lost.error.reason == Reason.RELEASED
