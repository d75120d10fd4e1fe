"""The way from the engine's thread to an event loop of asyncio, and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Value = TypeVar("Value")


def call_soon(loop: asyncio.AbstractEventLoop, run: Callable[[], object]) -> None:
    """Run it on the loop; from any thread. On a loop that was closed there is nobody left to be told."""
    try:
        loop.call_soon_threadsafe(run)
    except RuntimeError:
        if not loop.is_closed():
            raise


async def finished(future: Future[Value]) -> Value:
    """Wait for it; who is cancelled while waiting leaves it under way."""
    return await asyncio.shield(asyncio.wrap_future(future))
