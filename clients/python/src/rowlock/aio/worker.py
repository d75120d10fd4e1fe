"""The work loop of the client for asyncio: captures locks, and runs a handler for each, in tasks of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from rowlock.aio.captured import Captured
from rowlock.aio.lock import Lock
from rowlock.errors import RowlockError
from rowlock.work_options import Work, failed, is_stop, pause_after


async def run_work(
    capture: Callable[..., Awaitable[Captured]],
    handler: Callable[[Lock], Awaitable[object]],
    work: Work,
) -> None:
    """Work until the task is cancelled or the client closed, and then wait for the handlers that run.

    Another cancellation of the task cancels the handlers.
    """
    running: set[asyncio.Task[None]] = set()
    failures = 0
    try:
        while True:
            if len(running) == work.concurrency:
                await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                continue
            try:
                locks = await capture(**work.capture, count=work.count(len(running)))
                failures = 0
            except RowlockError as error:
                if is_stop(error):
                    return
                failures += 1
                await asyncio.sleep(pause_after(error, failures))
                continue
            for lock in locks:
                task = asyncio.create_task(_run(lock, handler, work))
                running.add(task)
                task.add_done_callback(running.discard)
    finally:
        await _end_of(running)


async def _end_of(running: set[asyncio.Task[None]]) -> None:
    try:
        if running:
            await asyncio.wait(running)
    except asyncio.CancelledError:
        for task in running:
            task.cancel()
        raise


async def _run(lock: Lock, handler: Callable[[Lock], Awaitable[object]], work: Work) -> None:
    work.begin(lock._lease)
    try:
        async with lock:
            try:
                await handler(lock)
            except Exception as error:
                failed(lock.name, error)
                await lock.release(**work.when_failed)
            else:
                await lock.release(**work.when_done)
        work.released(lock.name)
    except RowlockError as error:
        work.unreleased(lock.name, error)
