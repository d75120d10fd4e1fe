"""The driver's side for the asyncio client: each call runs in its own task."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from answers import AnyLock
from side import Asking, Scope

import rowlock.aio


class AioSide:
    """Implements Side with the asyncio client."""

    def connect(self, addresses: list[str], **options: Any) -> Any:
        return rowlock.aio.connect(addresses, **options)

    async def call(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return await method(*args, **options)

    async def collect(self, method: Callable[..., Any], *args: Any, **options: Any) -> list[Any]:
        return [each async for each in method(*args, **options)]

    def ask(self, client: rowlock.aio.Client, name: str, options: dict[str, Any]) -> Asking:
        asking = asyncio.ensure_future(client.acquire(name, **options))
        return Asking(asking, asking.cancel)

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
