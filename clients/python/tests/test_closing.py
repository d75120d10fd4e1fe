"""A client that is closed at any moment leaves nothing held: neither its locks nor those that it is asking for."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from conftest import MakeClient
from late_proxy import LateProxy
from rowlock_server import RowlockServer, until

import rowlock
from rowlock import FOREVER

_CLIENTS = 40
_LOCKS = 8
_CLOSED_WITHIN = 0.04
# The proxy delays answers so long that a client closes after the server has its request and before the answer arrives.
_ANSWERED_AFTER = 0.3


def test_clients_closed_before_their_first_answer_leave_no_lock(
    server: RowlockServer, client: rowlock.Client, connect: MakeClient, name: str
) -> None:
    def hasty(address: str, index: int) -> None:
        closed = connect(address)

        def ask(at: int) -> None:
            with contextlib.suppress(rowlock.RowlockError):
                closed.lock(f"{name}/{index}/{at}", ttl=FOREVER if at % 2 else 600)

        asking = [threading.Thread(target=ask, args=(at,)) for at in range(_LOCKS)]
        for thread in asking:
            thread.start()
        until(lambda: client.get_lock(f"{name}/{index}/0").holder_count == 1)
        threading.Event().wait(index * _CLOSED_WITHIN / _CLIENTS)
        closed.close()
        for thread in asking:
            thread.join()

    with LateProxy(server.address, _ANSWERED_AFTER) as proxy, ThreadPoolExecutor(_CLIENTS) as pool:
        list(pool.map(partial(hasty, proxy.address), range(_CLIENTS)))
    assert [lock.name for lock in client.list_locks(prefix=f"{name}/", busy_only=True)] == []
