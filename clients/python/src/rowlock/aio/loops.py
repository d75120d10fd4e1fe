"""Passes calls and results between the engine's thread and an asyncio event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Value = TypeVar("Value")


def call_soon(loop: asyncio.AbstractEventLoop, run: Callable[[], object]) -> None:
    """Call `run` on the loop, from any thread. Does nothing if the loop is closed."""
    try:
        loop.call_soon_threadsafe(run)
    except RuntimeError:
        if not loop.is_closed():
            raise


async def finished(future: Future[Value]) -> Value:
    """Wait for the future. If the waiting task is cancelled, the future continues."""
    return await asyncio.shield(asyncio.wrap_future(future))
