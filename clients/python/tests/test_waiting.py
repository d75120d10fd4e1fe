"""A wait that takes long says what it waits for, and a client that waits for itself is told so; reentrant locks."""

from __future__ import annotations

import asyncio
import logging
import queue
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import MakeClient
from rowlock_server import RowlockServer, until
from test_telemetry import said

import rowlock
import rowlock.aio
from rowlock import HeldByOthers, OptionError, Waiting


def test_a_long_wait_says_who_holds_the_lock(
    server: RowlockServer,
    client: rowlock.Client,
    connect: MakeClient,
    name: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "rowlock")
    told: queue.SimpleQueue[Waiting] = queue.SimpleQueue()
    patient = connect(server.address, owner="patient", explain_after=0.2)
    with ThreadPoolExecutor() as pool:
        with client.lock(name):
            ahead = pool.submit(connect(server.address).lock, name)
            until(lambda: client.get_lock(name).waiter_count == 1)
            wait = pool.submit(patient.lock, name, on_waiting=told.put)
            waiting = told.get(timeout=30)
        ahead.result(30).release()
        wait.result(30)
    assert (waiting.name, waiting.place.ahead, waiting.held_by_you) == (name, 1, False)
    assert waiting.waited >= 0.2
    assert "tester" in waiting.summary
    held = [each for each in waiting.causes if isinstance(each, HeldByOthers)]
    assert [each.owner for each in held[0].holders] == ["tester"]
    until(lambda: f"with 1 ahead: {waiting.summary}" in "".join(said(caplog, logging.INFO)))
    assert f'Waiting for "{name}" for 0 s' in "".join(said(caplog, logging.INFO))


def test_of_several_waits_for_one_lock_only_the_first_is_in_the_log(
    server: RowlockServer,
    client: rowlock.Client,
    connect: MakeClient,
    name: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "rowlock")
    told: queue.SimpleQueue[Waiting] = queue.SimpleQueue()
    patient = connect(server.address, explain_after=0.2)
    with ThreadPoolExecutor(20) as pool:
        with client.lock(name):
            waits = []
            for waiting in range(1, 20):
                waits.append(pool.submit(patient.lock, name))
                until(lambda waiting=waiting: client.get_lock(name).waiter_count == waiting)  # type: ignore[misc]
            waits.append(pool.submit(patient.lock, name, on_waiting=told.put))
            # It is told after those before it had their turns.
            told.get(timeout=30)
            lines = [line for line in said(caplog, logging.INFO) if f'Waiting for "{name}"' in line]
        for wait in waits:
            wait.result(30).release()
    assert len(lines) == 1


def test_a_client_that_waits_for_itself_is_told_at_once(
    client: rowlock.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    told: queue.SimpleQueue[Waiting] = queue.SimpleQueue()
    lock = client.lock(name)

    def give_back(waiting: Waiting) -> None:
        told.put(waiting)
        lock.release()

    # Without the word at once, this would wait until the test is ended.
    client.lock(name, on_waiting=give_back, wait=60).release()
    assert told.get(timeout=8).held_by_you
    with ThreadPoolExecutor() as pool:
        with client.lock(name):
            wait = pool.submit(client.lock, name)
            refusal = client.acquire(name, wait=0)
            with pytest.raises(rowlock.LockTimeout, match=f'you hold "{name}" yourself'):
                client.lock(name, wait=0.05)
        wait.result(30)
    assert isinstance(refusal, rowlock.Refusal)
    assert refusal.held_by_you
    assert f'you hold "{name}" yourself, since 0 s; locks are not reentrant' in refusal.message
    until(lambda: f'rowlock: you hold "{name}" yourself' in "".join(said(caplog, logging.WARNING)))


def test_threads_that_take_turns_are_not_warned(
    server: RowlockServer, connect: MakeClient, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rowlock")
    client = connect(server.address, explain_after=0.2)
    with ThreadPoolExecutor() as pool:
        for _ in range(3):
            told: queue.SimpleQueue[Waiting] = queue.SimpleQueue()
            with client.lock(name):
                wait = pool.submit(client.lock, name, on_waiting=told.put)
                assert told.get(timeout=8).held_by_you
            wait.result(30).release()
    until(lambda: len([line for line in said(caplog, logging.INFO) if f'Waiting for "{name}"' in line]) == 3)
    held = f'rowlock: other work of this client holds "{name}"'
    assert len([line for line in said(caplog, logging.INFO) if held in line]) == 3
    assert said(caplog, logging.WARNING) == []


def test_tasks_that_take_turns_are_not_warned_and_one_that_waits_for_itself_is(
    server: RowlockServer, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rowlock")

    async def use() -> None:
        async with rowlock.aio.connect(server.address, explain_after=0.2) as client:
            told: asyncio.Queue[Waiting] = asyncio.Queue()
            async with client.lock(name):
                other = asyncio.ensure_future(client.acquire(name, on_waiting=told.put_nowait))
                assert (await told.get()).held_by_you
                assert said(caplog, logging.WARNING) == []
            lock = await other
            assert isinstance(lock, rowlock.aio.Lock)
            await lock.release()
            async with client.lock(name):
                with pytest.raises(rowlock.LockTimeout):
                    await client.lock(name, wait=0.5)

    asyncio.run(use())
    (line,) = [line for line in said(caplog, logging.WARNING) if "yourself" in line]
    assert line.startswith("rowlock: you hold")


def test_a_lock_of_another_client_is_not_held_by_you(
    server: RowlockServer, client: rowlock.Client, connect: MakeClient, name: str
) -> None:
    with client.lock(name):
        refusal = connect(server.address).acquire(name, wait=0)
    assert isinstance(refusal, rowlock.Refusal)
    assert not refusal.held_by_you


def test_a_thread_holds_a_reentrant_lock_until_its_last_release(client: rowlock.Client, name: str) -> None:
    with client.lock(name, reentrant=True) as outer:
        with client.lock(name, reentrant=True) as inner:
            assert (inner.token, inner.lease_id) == (outer.token, outer.lease_id)
            with pytest.raises(OptionError, match="status: the lock is still held outside"):
                inner.release(status="done")
        outer.check()
        assert client.try_lock(name) is None
        with ThreadPoolExecutor() as pool:
            assert pool.submit(client.try_lock, name, reentrant=True).result(30) is None
        with pytest.raises(OptionError, match="but 1 permits of it"):
            client.lock(name, reentrant=True, mode="exclusive")
    assert client.get_lock(name).holder_count == 0
    with client.lock(name, reentrant=True) as again:
        assert again.token == outer.token + 1


def test_a_task_holds_a_reentrant_lock(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            async with client.lock(name, reentrant=True) as outer:
                async with client.lock(name, reentrant=True) as inner:
                    assert inner.lease_id == outer.lease_id
                assert await asyncio.create_task(client.try_lock(name, reentrant=True)) is None
                outer.check()
            assert (await client.get_lock(name)).holder_count == 0

    asyncio.run(main())
