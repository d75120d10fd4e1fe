"""The work loop: a handler for each lock that is free and due, so many at once, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import queue
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from conftest import MakeClient
from rowlock_server import RowlockServer, until
from test_telemetry import said

import rowlock
import rowlock.aio
from rowlock import Backoff


def test_works_on_each_lock_and_notes_how_it_went(
    client: rowlock.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    for index in range(6):
        client.update_record(f"{name}/{index}", status="new")
    stop, at_once = rowlock.Cancellation(), threading.Semaphore(2)

    def handle(lock: rowlock.Lock) -> None:
        assert at_once.acquire(blocking=False)
        try:
            lock.check()
            if lock.name.endswith("3"):
                raise ValueError("three is wrong")
        finally:
            at_once.release()

    def statuses() -> list[str]:
        return [each.record.status for each in client.list_locks(f"{name}/") if each.record]

    with ThreadPoolExecutor() as pool:
        working = pool.submit(
            client.work,
            f"{name}/",
            handle,
            concurrency=2,
            if_status="new",
            status_when_done="done",
            status_if_lost="failed",
            cancel=stop,
        )
        until(lambda: statuses().count("new") == 0)
        client.update_record(f"{name}/6", status="new")
        until(lambda: statuses() == [*["done"] * 3, "failed", *["done"] * 3])
        stop.cancel()
        working.result(30)
    assert f'The work at "{name}/3" failed' in said(caplog, logging.ERROR)


def test_a_lock_whose_status_is_refused_rests_longer_with_each_time(
    client: rowlock.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    task = f"{name}/1"
    client.update_record(task, status="new")
    stop = rowlock.Cancellation()
    begun: list[float] = []

    def handle(_: rowlock.Lock) -> None:
        begun.append(time.monotonic())
        if len(begun) == 3:
            stop.cancel()

    options: Any = {"if_status": "new", "status_when_done": "x" * 64, "concurrency": 2}
    client.work(f"{name}/", handle, cancel=stop, **options)
    # By the clock of the database, which begins earlier.
    assert begun[1] - begun[0] > 0.9
    assert begun[2] - begun[1] > 1.9
    record = client.get_lock(task).record
    assert record
    assert record.status == "new"
    warnings = [text for text in said(caplog, logging.WARNING) if "the lock was given back" in text]
    assert [text.rpartition(" It rests ")[2] for text in warnings] == ["for 1 s.", "for 2 s.", "for 4 s."]


@pytest.mark.parametrize(
    ("options", "rest"),
    [({}, 4), ({"backoff": Backoff(3_600, 7_200)}, 7_200), ({"min_interval": 10_800}, 10_800)],
)
def test_a_lock_whose_handler_fails_rests_longer_with_each_time(
    client: rowlock.Client, name: str, options: dict[str, Any], rest: int
) -> None:
    task = f"{name}/1"
    client.update_record(task, status="new")
    # It has failed twice before, so that the test has to wait for no rest.
    for _ in range(2):
        assert client.lock(task).release(failed=True)
    stop = rowlock.Cancellation()

    def handle(_: rowlock.Lock) -> None:
        stop.cancel()
        raise ValueError("it is wrong")

    client.work(f"{name}/", handle, status_if_lost="failed", cancel=stop, **options)
    record = client.get_lock(task).record
    assert record
    assert record.last_run
    assert (record.failures, record.status, record.last_run.end_reason) == (3, "failed", "FAILED")
    since = record.last_run.granted_at if "min_interval" in options else record.last_run.ended_at
    assert since
    assert record.not_before == since + timedelta(seconds=rest)


def test_a_handler_that_exits_has_failed(
    client: rowlock.Client, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    client.update_record(f"{name}/1", status="new")
    stop = rowlock.Cancellation()

    def handle(_: rowlock.Lock) -> None:
        stop.cancel()
        sys.exit("bad input")

    client.work(f"{name}/", handle, if_status="new", status_if_lost="failed", cancel=stop)
    record = client.get_lock(f"{name}/1").record
    assert record
    assert record.status == "failed"
    assert f'The work at "{name}/1" failed' in said(caplog, logging.ERROR)


def test_works_on_more_locks_at_once_than_one_capture_may_take(client: rowlock.Client, name: str) -> None:
    count = 101
    for index in range(count):
        client.update_record(f"{name}/{index}", status="new")
    stop, all_run = rowlock.Cancellation(), threading.Barrier(count)

    def handle(_: rowlock.Lock) -> None:
        all_run.wait(60)
        stop.cancel()

    client.work(f"{name}/", handle, concurrency=count, if_status="new", status_when_done="done", cancel=stop)
    assert [each.record.status for each in client.list_locks(f"{name}/") if each.record] == ["done"] * count


def test_waits_for_its_handlers_when_it_is_stopped(client: rowlock.Client, name: str) -> None:
    client.update_record(f"{name}/1", status="new")
    stop, end = rowlock.Cancellation(), threading.Event()
    began: queue.SimpleQueue[rowlock.Lock] = queue.SimpleQueue()

    def handle(lock: rowlock.Lock) -> None:
        began.put(lock)
        assert end.wait(30)

    with ThreadPoolExecutor() as pool:
        working = pool.submit(client.work, f"{name}/", handle, cancel=stop, concurrency=2)
        lock = began.get(timeout=30)
        stop.cancel()
        lock.check()
        assert not working.done()
        end.set()
        working.result(30)
    assert client.get_lock(f"{name}/1").holder_count == 0


def test_survives_an_outage_and_a_lost_lock_and_ends_with_the_client(
    own_server: RowlockServer, connect: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    client, operator = (connect(own_server.address, give_up_after=0.5) for _ in range(2))
    began: queue.SimpleQueue[rowlock.Lock] = queue.SimpleQueue()

    def handle(lock: rowlock.Lock) -> None:
        began.put(lock)
        if lock.name.endswith("1"):
            assert lock.lost.wait(30)

    with ThreadPoolExecutor() as pool:
        working = pool.submit(
            client.work, "task/", handle, if_status="new", status_when_done="done", status_if_lost="lost"
        )
        own_server.kill()
        until(lambda: any("gets no locks" in text for text in said(caplog, logging.WARNING)))
        own_server.start_again()
        operator.update_record("task/1", status="new")
        assert began.get(timeout=30).name == "task/1"
        operator.force_release("task/1", "test")
        until(lambda: any('The work at "task/1" did not' in text for text in said(caplog, logging.WARNING)))
        operator.update_record("task/2", status="new")
        assert began.get(timeout=30).name == "task/2"
        client.close()
        working.result(30)


def test_a_wrong_port_ends_it(connect: MakeClient) -> None:
    client = connect("127.0.0.1:1", tls=rowlock.TlsOptions(cert="nowhere", key="nowhere"), give_up_after=1.0)
    with pytest.raises(rowlock.RowlockError) as failed:
        client.work("task/", print)
    assert failed.value.reason == rowlock.Reason.CREDENTIALS_MISSING


def test_runs_coroutines_in_asyncio(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            began: asyncio.Queue[str] = asyncio.Queue()
            end = asyncio.Event()

            async def handle(lock: rowlock.aio.Lock) -> None:
                began.put_nowait(lock.name)
                await end.wait()
                if lock.name.endswith("1"):
                    raise ValueError("one is wrong")

            for index in range(2):
                await client.update_record(f"{name}/{index}", status="new")
            working = asyncio.create_task(
                client.work(
                    f"{name}/",
                    handle,
                    concurrency=2,
                    if_status="new",
                    status_when_done="done",
                    status_if_lost="failed",
                )
            )
            assert {await began.get(), await began.get()} == {f"{name}/0", f"{name}/1"}
            working.cancel()
            await asyncio.sleep(0)
            assert (await client.get_lock(f"{name}/0")).holder_count == 1
            end.set()
            with pytest.raises(asyncio.CancelledError):
                await working
            locks = [each async for each in client.list_locks(f"{name}/")]
            assert [each.record.status for each in locks if each.record] == ["done", "failed"]

    asyncio.run(main())


def test_captures_no_more_in_asyncio_than_one_capture_may_take(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:

            async def handle(_: rowlock.aio.Lock) -> None:
                working.cancel()

            await client.update_record(f"{name}/1", status="new")
            working = asyncio.create_task(client.work(f"{name}/", handle, concurrency=101, if_status="new"))
            with pytest.raises(asyncio.CancelledError):
                await working

    asyncio.run(main())
