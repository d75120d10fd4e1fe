"""The client for asyncio: the same names as in `rowlock`, with `await`, `async with` and `async for`.

    import rowlock.aio

    async with rowlock.aio.connect("127.0.0.1:50051") as client:
        async with client.lock("etl/load") as lock:
            print(f"my turn, with fencing token {lock.token}")

The client renews locks on its own thread, so a blocked event loop does not lose them. If a lock is lost inside its
`async with` statement, the statement cancels its task, as asyncio.timeout does, and raises LockLost. If a task is
cancelled while it waits for a lock, the client gives up its place.
"""

from rowlock.aio.bridge import Lost
from rowlock.aio.captured import Captured
from rowlock.aio.client import Client, connect
from rowlock.aio.lock import Lock
from rowlock.aio.request import Request

__all__ = ["Captured", "Client", "Lock", "Lost", "Request", "connect"]
