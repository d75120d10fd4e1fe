"""The conformance driver: it reads commands as lines of JSON from standard input, and writes answers and events.

It passes the commands on to the public API and must have no logic of its own. It drives the client for threads, or,
with --aio, the asyncio client.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
from typing import Any

from aio_side import AioSide
from answers import error_json
from commands import Commands
from thread_side import ThreadSide

# The stack of one thread: with the client for threads, each wait takes a thread.
_STACK_BYTES = 262_144


class Lines:
    """Writes lines of JSON, from any thread."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()

    def write(self, line: dict[str, Any]) -> None:
        with self._mutex:
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()


async def _run(commands: Commands, lines: Lines, command: dict[str, Any]) -> None:
    try:
        await commands.run(command, lambda result: lines.write({"id": command["id"], "result": result}))
    except (Exception, asyncio.CancelledError) as error:
        lines.write({"id": command["id"], "error": error_json(error)})


def _read(loop: asyncio.AbstractEventLoop, queue: asyncio.Queue[str | None]) -> None:
    for line in sys.stdin:
        loop.call_soon_threadsafe(queue.put_nowait, line)
    loop.call_soon_threadsafe(queue.put_nowait, None)


async def _main(is_aio: bool) -> None:
    lines = Lines()
    commands = Commands(AioSide() if is_aio else ThreadSide(), lines.write)
    queue: asyncio.Queue[str | None] = asyncio.Queue()
    reading = threading.Thread(target=_read, args=(asyncio.get_running_loop(), queue), daemon=True)
    reading.start()
    running: set[asyncio.Task[None]] = set()
    while (line := await queue.get()) is not None:
        task = asyncio.create_task(_run(commands, lines, json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)
    await commands.close()


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr)
    threading.stack_size(_STACK_BYTES)
    is_aio = "--aio" in sys.argv[1:] or os.environ.get("ROWLOCK_PYTHON_DRIVER") == "aio"
    asyncio.run(_main(is_aio))
