"""The decorator `locked`, for functions and for coroutine functions."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from rowlock_server import RowlockServer

import rowlock
import rowlock.aio
from rowlock import OptionError


def test_each_call_holds_the_lock(client: rowlock.Client, name: str) -> None:
    @client.locked(name, ttl=60)
    def load(rows: int, *, lock: rowlock.Lock) -> tuple[int, int, int]:
        """Load the rows."""
        return rows, lock.token, client.get_lock(name).holder_count

    assert load(7) == (7, 1, 1)
    assert load(rows=8) == (8, 2, 1)
    assert client.get_lock(name).holder_count == 0
    assert (load.__name__, load.__doc__) == ("load", "Load the rows.")
    # Celery and others check the arguments of a call by it.
    assert list(inspect.signature(load).parameters) == ["rows"]


def test_the_name_comes_from_the_arguments(client: rowlock.Client, name: str) -> None:
    @client.locked(f"{name}/{{table}}/{{day}}")
    def load(table: str, day: int = 1) -> None:
        assert client.get_lock(f"{name}/{table}/{day}").holder_count == 1

    @client.locked(lambda table, **_: f"{name}/{table.lower()}")
    def save(table: str, *, lock: rowlock.Lock) -> str:
        return lock.name

    class Job:
        table = "orders"

        @client.locked(name + "/{self.table}")
        def run(self, *, lock: rowlock.Lock) -> str:
            return lock.name

    load("orders")
    load("orders", day=2)
    assert save("ORDERS") == f"{name}/orders"
    assert Job().run() == f"{name}/orders"


def test_a_busy_lock_is_refused_as_by_lock(client: rowlock.Client, name: str) -> None:
    @client.locked(name, wait=0)
    def load() -> None:
        raise AssertionError

    with client.lock(name), pytest.raises(rowlock.LockRefused) as refused:
        load()
    assert refused.value.reason == rowlock.Reason.BUSY


def test_what_cannot_work_is_refused_when_the_module_is_read(client: rowlock.Client) -> None:
    def load(table: str) -> None: ...

    async def load_async() -> None: ...

    with pytest.raises(OptionError, match=r'"etl/{tabel}" needs tabel, which .*load does not take'):
        client.locked("etl/{tabel}")(load)
    with pytest.raises(OptionError, match='unknown option "timeout"; did you mean "wait"'):
        client.locked("etl", timeout=3)  # type: ignore[call-arg]
    with pytest.raises(OptionError, match=r"load_async is a coroutine function: use rowlock\.aio\.connect"):
        client.locked("etl")(load_async)
    with pytest.raises(OptionError, match=r"load is no coroutine function: use rowlock\.connect"):
        rowlock.aio.connect("localhost:1").locked("etl")(load)  # type: ignore[arg-type]


def test_a_coroutine_holds_the_lock_and_is_cancelled_when_it_is_lost(
    server: RowlockServer, client: rowlock.Client, name: str
) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as own:

            @own.locked(f"{name}/{{table}}", ttl=60)
            async def load(table: str, lock: Any) -> str:
                assert (await own.get_lock(lock.name)).holder_count == 1
                if table == "lost":
                    client.force_release(lock.name, "test")
                    await asyncio.Event().wait()
                return str(lock.name)

            assert await load("orders") == f"{name}/orders"
            with pytest.raises(rowlock.LockLost):
                await load("lost")

    asyncio.run(main())
