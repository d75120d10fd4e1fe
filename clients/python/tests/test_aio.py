"""What asyncio adds: cancelled tasks, scopes that end when their lock is lost, and a blocked loop."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

import pytest
from rowlock_server import RowlockServer

import rowlock
import rowlock.aio
from rowlock import LockState, Reason, RecordChange


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async def wait() -> None:
        while not await holds():
            await asyncio.sleep(0.02)

    await asyncio.wait_for(wait(), 30)


async def waiting(client: rowlock.aio.Client, name: str, count: int) -> None:
    async def holds() -> bool:
        return (await client.get_lock(name)).waiter_count == count

    await until(holds)


def test_holds_a_lock_in_a_scope_and_by_await(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        before = set(threading.enumerate())
        async with rowlock.aio.connect(server.address, owner="loop") as client:
            async with client.lock(name) as lock:
                assert (lock.token, lock.state) == (1, LockState.HELD)
                assert await client.try_lock(name) is None
                assert (await client.get_lock(name)).holders[0].owner == "loop"
            again = await client.lock(name)
            assert again.token == 2
            assert [each.name async for each in client.list_locks(name)] == [name]
            assert await again.release()
            with pytest.raises(rowlock.RowlockError) as bad:
                await client.lock("")
            assert bad.value.reason == Reason.BAD_REQUEST
        assert set(threading.enumerate()) <= before

    asyncio.run(main())


def test_a_lock_that_was_handed_over_is_not_released(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            lock = await client.lock(name)
            over = await lock.hand_over(60)
            assert not await lock.release()
            assert (await client.renew(over.lease_id)).name == name
            assert await client.release(over.lease_id)

    asyncio.run(main())


def test_a_task_that_is_cancelled_gives_up_its_place(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client, client.lock(name):
            ahead: asyncio.Queue[int] = asyncio.Queue()
            wait = asyncio.create_task(
                client.acquire(name, on_position=lambda place: ahead.put_nowait(place.ahead))
            )
            assert await ahead.get() == 0
            wait.cancel()
            with pytest.raises(asyncio.CancelledError):
                await wait
            await waiting(client, name, 0)
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.acquire(name), 0.1)
            await waiting(client, name, 0)

    asyncio.run(main())


def test_a_grant_that_comes_as_the_task_is_cancelled_is_given_back(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            acquire, asked = client._bridge.engine.acquire, list[Future[Any]]()

            def noted(*args: Any) -> Future[Any]:
                asked.append(acquire(*args))
                return asked[-1]

            client._bridge.engine.acquire = noted  # type: ignore[method-assign,assignment]
            wait = asyncio.create_task(client.acquire(name))
            await asyncio.sleep(0)
            # Block the loop until the grant has arrived, so that it sees the grant and the cancellation together.
            asked[0].result(30)
            wait.cancel()
            with pytest.raises(asyncio.CancelledError):
                await wait

            async def is_free() -> bool:
                return (await client.get_lock(name)).holder_count == 0

            await until(is_free)

    asyncio.run(main())


def test_the_loss_of_a_lock_cancels_its_scope_and_is_reported(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            with pytest.raises(rowlock.LockLost) as lost:
                async with client.lock(name):
                    await client.force_release(name, "test")
                    await asyncio.sleep(60)
            assert (lost.value.end and lost.value.end.reason) == Reason.FORCE_RELEASED
            # The task continues as if it had not been cancelled.
            await asyncio.sleep(0)

    asyncio.run(main())


def test_a_scope_that_ends_as_its_lock_is_lost_leaves_nothing_cancelled(
    server: RowlockServer, name: str
) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            lock = await client.lock(name)
            with pytest.raises(rowlock.LockLost):
                async with lock:
                    # The task ends its scope in the same turn in which the lock cancels it.
                    lock._lease.lose(rowlock.LockLost(Reason.LEASE_LOST, "FAILED_PRECONDITION", "gone"))
                    lock._scope._cancel_task()
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    asyncio.run(main())


def test_a_cancellation_from_outside_is_not_replaced_by_lock_lost(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            entered = asyncio.Event()

            async def work() -> None:
                async with client.lock(name):
                    entered.set()
                    await asyncio.sleep(60)

            task = asyncio.create_task(work())
            await entered.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await client.get_lock(name)).holder_count == 0

    asyncio.run(main())


def test_the_work_may_check_the_lock_itself(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            told: list[LockState] = []
            with pytest.raises(rowlock.LockLost):
                async with client.lock(name, cancel_on_loss=False) as lock:
                    lock.on_state(told.append)
                    await client.force_release(name, "test")
                    assert isinstance(await lock.lost, rowlock.LockLost)
                    assert lock.lost.is_set()
            assert told == [LockState.LOST]

    asyncio.run(main())


def test_a_blocked_loop_loses_no_lock(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            lock = await client.lock(name, ttl=2.0)
            time.sleep(5)
            assert lock.state is LockState.HELD
            assert not lock.lost.is_set()

    asyncio.run(main())


def test_captures_in_a_scope_and_by_await(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            for task in range(3):
                record = await client.update_record(f"{name}/{task}", status="new", not_before_in=0)
                assert record.status == "new"
            async with client.capture(prefix=f"{name}/", count=2) as tasks:
                assert [task.name[-1] for task in tasks] == ["0", "1"]
                assert len(tasks) == 2
                async with tasks.locks[0] as held:
                    assert await held.release(status="done", attempts_left=2, cool_down=60)
            assert [lock.holder_count async for lock in client.list_locks(name)] == [0, 0, 0]
            record_now = (await client.get_lock(f"{name}/0")).record
            assert record_now is not None
            assert (record_now.status, record_now.attempts_left) == ("done", 2)
            assert await client.try_lock(f"{name}/0") is None
            assert await client.delete_record(f"{name}/0", if_version=record_now.version, reason="old")
            changes = [each async for each in client.list_changes(name=f"{name}/0")]
            deleted = RecordChange(dataclasses.replace(record_now, last_run=None, last_success=None), None)
            assert (changes[0].what, changes[0].reason) == (deleted, "old")
            (one,) = await client.capture(names=[f"{name}/0"])
            assert await client.release(one.lease_id, status="again")
            none = await client.capture(prefix=f"{name}/", if_status="never", wait=0.05)
            assert not none

    asyncio.run(main())


def test_a_scope_of_captured_locks_reports_a_lost_one(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            names = [f"{name}/{task}" for task in range(2)]
            with pytest.raises(rowlock.LockLost):
                async with client.capture(names=names, count=2) as tasks:
                    await client.force_release(names[0], "test")
                    await tasks.locks[0].lost
            assert [lock.holder_count async for lock in client.list_locks(name)] == [0, 0]
            # The scope of one captured lock works like that of any other lock.
            async with client.capture(names=names, count=2) as tasks:
                with pytest.raises(rowlock.LockLost):
                    async with tasks.locks[1] as lock:
                        await client.force_release(lock.name, "test")
                        await asyncio.sleep(60)
                assert tasks.locks[0].state is LockState.HELD

    asyncio.run(main())


def test_a_task_that_is_cancelled_gives_up_its_capture(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            (first,) = await client.capture(names=[name])

            async def work() -> None:
                async with client.capture(names=[name], wait=rowlock.FOREVER):
                    raise AssertionError("nobody is there to work")

            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(work(), 0.2)
            await first.release()
            assert len(await client.capture(names=[name], wait=10)) == 1

    asyncio.run(main())


def test_headers_and_connection_events_run_on_the_loop(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        made: list[bool] = []
        seen: asyncio.Queue[Any] = asyncio.Queue()

        async def headers() -> dict[str, str]:
            made.append(asyncio.get_running_loop() is loop)
            return {"Authorization": "Bearer x"}

        async with rowlock.aio.connect(
            ["127.0.0.1:9", server.address], headers=headers, on_connection=seen.put_nowait
        ) as client:
            await client.lock(name)
            assert made == [True, True]
            events = [await seen.get(), await seen.get()]
            assert [(each.kind, each.address) for each in events] == [
                ("disconnected", "127.0.0.1:9"),
                ("connected", server.address),
            ]

    asyncio.run(main())


def test_a_client_belongs_to_one_loop(server: RowlockServer, name: str) -> None:
    client = rowlock.aio.connect(server.address)

    async def lock() -> None:
        await client.lock(name)

    asyncio.run(lock())
    with pytest.raises(RuntimeError, match="another event loop"):
        asyncio.run(lock())
    asyncio.run(client.close())
