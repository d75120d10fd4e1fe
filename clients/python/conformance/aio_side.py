"""The driver's side for the asyncio client: each call runs in its own task."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from answers import AnyLock
from side import Asking, Running, Scope, Workshop

import rowlock.aio


class AioSide:
    """Implements Side with the asyncio client."""

    def __init__(self) -> None:
        self._line: asyncio.Task[None] | None = None
        self._calls: asyncio.Queue[tuple[asyncio.Future[Any], Callable[..., Any]]] = asyncio.Queue()

    def connect(self, addresses: list[str], **options: Any) -> Any:
        return rowlock.aio.connect(addresses, **options)

    async def call(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return await method(*args, **options)

    async def collect(self, method: Callable[..., Any], *args: Any, **options: Any) -> list[Any]:
        return [each async for each in method(*args, **options)]

    def ask(self, client: rowlock.aio.Client, name: str, options: dict[str, Any]) -> Asking:
        asking = asyncio.ensure_future(client.acquire(name, **options))
        return Asking(asking, asking.cancel)

    def spend(self, client: rowlock.aio.Client, name: str, options: dict[str, Any]) -> Asking:
        asking = asyncio.ensure_future(client.spend(name, **options))
        return Asking(asking, asking.cancel)

    def ask_in_line(self, client: rowlock.aio.Client, name: str, options: dict[str, Any]) -> Asking:
        asking = asyncio.ensure_future(self.call_in_line(client.acquire, name, **options))
        return Asking(asking, asking.cancel)

    async def call_in_line(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._line is None:
            self._line = asyncio.create_task(self._run_line())
        self._calls.put_nowait((answer, partial(method, *args, **options)))
        return await answer

    async def _run_line(self) -> None:
        while True:
            answer, call = await self._calls.get()
            try:
                answer.set_result(await call())
            except rowlock.RowlockError as error:
                answer.set_exception(error)

    def watch(
        self, client: rowlock.aio.Client, prefix: str, told: Callable[[rowlock.WatchUpdate], None]
    ) -> Running:
        async def run() -> None:
            async for update in client.watch(prefix):
                told(update)

        return _cancelled_at_its_end(run())

    def work(
        self,
        client: rowlock.aio.Client,
        prefix: str,
        began: Callable[[AnyLock], None],
        options: dict[str, Any],
    ) -> Workshop:
        ends: dict[str, asyncio.Queue[bool]] = {}

        async def handle(lock: rowlock.aio.Lock) -> None:
            ends[lock.name] = asyncio.Queue()
            began(lock)
            if await ends[lock.name].get():
                raise ValueError("The handler fails, as it should.")

        running = _cancelled_at_its_end(client.work(prefix, handle, **options))
        return Workshop(lambda name, fails: ends[name].put_nowait(fails), running.stop, running.end)

    def capture(self, client: rowlock.aio.Client, options: dict[str, Any]) -> Asking:
        asking = asyncio.ensure_future(client.capture(**options))
        return Asking(asking, asking.cancel)

    def enter(self, client: rowlock.aio.Client, name: str, options: dict[str, Any]) -> Scope:
        entered: asyncio.Future[AnyLock] = asyncio.get_running_loop().create_future()
        leave = asyncio.Event()

        async def hold() -> None:
            async with client.lock(name, **options) as lock:
                entered.set_result(lock)
                await leave.wait()

        end = asyncio.ensure_future(hold())
        return Scope(entered, end, leave.set, end.cancel)

    async def block(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            pass


def _cancelled_at_its_end(run: Coroutine[Any, Any, None]) -> Running:
    task = asyncio.create_task(run)

    async def end() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await task

    return Running(task.cancel, asyncio.ensure_future(end()))
