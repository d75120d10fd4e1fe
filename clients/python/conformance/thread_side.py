"""The driver's side for the client for threads: each call runs in its own thread."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from answers import AnyLock
from side import Asking, Running, Scope, Workshop

import rowlock

_THREADS_MAX = 4_000


class ThreadSide:
    """Implements Side with the client for threads."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS_MAX)
        self._line = ThreadPoolExecutor(1)

    def connect(self, addresses: list[str], **options: Any) -> Any:
        return rowlock.connect(addresses, **options)

    async def call(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, partial(method, *args, **options))

    async def collect(self, method: Callable[..., Any], *args: Any, **options: Any) -> list[Any]:
        found: list[Any] = await self.call(lambda: list(method(*args, **options)))
        return found

    def ask(self, client: rowlock.Client, name: str, options: dict[str, Any]) -> Asking:
        cancellation = rowlock.Cancellation()
        asking = self.call(client.acquire, name, cancel=cancellation, **options)
        return Asking(asyncio.ensure_future(asking), cancellation.cancel)

    def spend(self, client: rowlock.Client, name: str, options: dict[str, Any]) -> Asking:
        cancellation = rowlock.Cancellation()
        asking = self.call(client.spend, name, cancel=cancellation, **options)
        return Asking(asyncio.ensure_future(asking), cancellation.cancel)

    def ask_in_line(self, client: rowlock.Client, name: str, options: dict[str, Any]) -> Asking:
        cancellation = rowlock.Cancellation()
        asking = self.call_in_line(client.acquire, name, cancel=cancellation, **options)
        return Asking(asyncio.ensure_future(asking), cancellation.cancel)

    async def call_in_line(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._line, partial(method, *args, **options))

    def watch(
        self, client: rowlock.Client, prefix: str, told: Callable[[rowlock.WatchUpdate], None]
    ) -> Running:
        cancellation = rowlock.Cancellation()

        def run() -> None:
            try:
                for update in client.watch(prefix, cancel=cancellation):
                    told(update)
            except rowlock.RowlockError as error:
                if error.reason != rowlock.Reason.CANCELLED:
                    raise

        return Running(cancellation.cancel, asyncio.ensure_future(self.call(run)))

    def work(
        self,
        client: rowlock.Client,
        prefix: str,
        began: Callable[[AnyLock], None],
        options: dict[str, Any],
    ) -> Workshop:
        cancellation = rowlock.Cancellation()
        ends: dict[str, queue.SimpleQueue[bool]] = {}

        def handle(lock: rowlock.Lock) -> None:
            ends[lock.name] = queue.SimpleQueue()
            began(lock)
            if ends[lock.name].get():
                raise ValueError("The handler fails, as it should.")

        working = self.call(client.work, prefix, handle, cancel=cancellation, **options)
        return Workshop(
            lambda name, fails: ends[name].put(fails), cancellation.cancel, asyncio.ensure_future(working)
        )

    def capture(self, client: rowlock.Client, options: dict[str, Any]) -> Asking:
        cancellation = rowlock.Cancellation()
        asking = self.call(client.capture, cancel=cancellation, **options)
        return Asking(asyncio.ensure_future(asking), cancellation.cancel)

    def enter(self, client: rowlock.Client, name: str, options: dict[str, Any]) -> Scope:
        loop = asyncio.get_running_loop()
        entered: asyncio.Future[AnyLock] = loop.create_future()
        leave = threading.Event()
        cancellation = rowlock.Cancellation()

        def hold() -> None:
            with client.lock(name, cancel=cancellation, **options) as lock:
                loop.call_soon_threadsafe(entered.set_result, lock)
                leave.wait()

        return Scope(entered, asyncio.ensure_future(self.call(hold)), leave.set, cancellation.cancel)

    async def block(self, seconds: float) -> None:
        def busy() -> None:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                pass

        await self.call(busy)
