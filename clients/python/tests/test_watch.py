"""Watches: a snapshot, then each change, over any connection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from conftest import MakeClient
from refusing_proxy import RefusingProxy
from rowlock_server import RowlockServer

import rowlock
import rowlock.aio
from rowlock import Reason, WatchUpdate


def until_complete(updates: Iterator[WatchUpdate]) -> tuple[bool, dict[str, rowlock.LockView]]:
    """Return whether the snapshot began anew, and its locks."""
    began, locks = False, {}
    for update in updates:
        began = began or update.began_anew
        locks.update({each.name: each for each in update.locks})
        if update.complete:
            break
    return began, locks


def test_reports_the_present_state_and_then_changes(client: rowlock.Client, name: str) -> None:
    client.update_record(f"{name}/1", status="new")
    updates = client.watch(f"{name}/")
    assert until_complete(updates)[0] is False
    client.update_record(f"{name}/2", status="new")
    assert [each.name for each in next(updates).locks] == [f"{name}/2"]
    client.update_record(f"{name}/2", status="old")
    (changed,) = next(updates).locks
    assert changed.record is not None
    assert changed.record.status == "old"


def test_a_slow_reader_gets_only_the_latest_state(client: rowlock.Client, name: str) -> None:
    updates = client.watch(f"{name}/")
    until_complete(updates)
    for status in ("a", "b", "c"):
        client.update_record(f"{name}/1", status=status)
    with client.lock(f"{name}/1"):
        seen: list[rowlock.LockView] = []
        while not seen or seen[-1].holder_count == 0:
            seen.extend(next(updates).locks)
    assert seen[-1].record is not None
    assert seen[-1].record.status == "c"
    assert len(client._bridge.engine._acquisitions) == 1
    del updates
    client.get_lock(name)
    assert len(client._bridge.engine._acquisitions) == 0


def test_goes_on_over_another_connection_with_a_new_snapshot(
    own_server: RowlockServer, connect: MakeClient
) -> None:
    client = connect(own_server.address)
    client.update_record("a", status="new")
    updates = client.watch()
    until_complete(updates)
    own_server.kill()
    own_server.start_again()
    began, locks = until_complete(updates)
    assert began
    assert set(locks) == {"a"}


def test_is_cancelled_from_another_thread_and_ended_by_close(
    server: RowlockServer, connect: MakeClient, name: str
) -> None:
    client = connect(server.address)
    cancel = rowlock.Cancellation()
    updates, others = client.watch(f"{name}/", cancel=cancel), client.watch(f"{name}/")
    until_complete(updates)
    until_complete(others)
    with ThreadPoolExecutor() as pool:
        following, last = pool.submit(next, updates), pool.submit(next, others)
        cancel.cancel()
        with pytest.raises(rowlock.RowlockError) as cancelled:
            following.result(30)
        assert cancelled.value.reason == Reason.CANCELLED
        client.close()
        with pytest.raises(rowlock.RowlockError) as closed:
            last.result(30)
        assert closed.value.reason == Reason.CLOSED


def test_works_without_streams_for_calls(server: RowlockServer, connect: MakeClient, name: str) -> None:
    proxy = RefusingProxy(server.address, grpc.StatusCode.UNIMPLEMENTED, watches=True)
    client = connect(proxy.address)
    updates = client.watch(f"{name}/")
    until_complete(updates)
    client.update_record(f"{name}/1", status="new")
    assert [each.name for each in next(updates).locks] == [f"{name}/1"]
    updates.close()  # type: ignore[attr-defined]
    client.close()
    proxy.stop()


def test_is_an_async_iterator_in_asyncio(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            async with client.lock(f"{name}/1"):
                async for update in client.watch(f"{name}/"):
                    if update.locks:
                        assert update.locks[0].holder_count == 1
                        break

    asyncio.run(main())
