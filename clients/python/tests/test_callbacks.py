"""Exceptions of the user's callbacks: one of `on_position` ends its wait, and the others end nothing."""

from __future__ import annotations

import sys

import pytest
from conftest import MakeClient
from rowlock_server import RowlockServer, until

import rowlock
from rowlock import ConnectionEvent, LockState, Place


def _exit(_: object) -> None:
    sys.exit(1)


def test_a_callback_that_exits_does_not_stop_later_ones(client: rowlock.Client, name: str) -> None:
    told: list[LockState] = []
    with pytest.raises(rowlock.LockLost), client.lock(name) as lock:
        lock.on_state(_exit)
        lock.on_state(told.append)
        client.force_release(name, "test")
        until(lambda: told == [LockState.LOST])


def test_on_connection_may_exit(server: RowlockServer, connect: MakeClient, name: str) -> None:
    places: list[Place] = []
    seen: list[str] = []

    def on_connection(event: ConnectionEvent) -> None:
        seen.append(event.kind)
        sys.exit(1)

    client = connect(server.address, on_connection=on_connection)
    with client.lock(name), pytest.raises(rowlock.LockTimeout):
        client.lock(name, wait=0.5, on_position=places.append)
    assert seen == ["connected"]
    assert len(places) == 1


def test_on_position_that_exits_ends_the_wait(client: rowlock.Client, name: str) -> None:
    with client.lock(name), pytest.raises(SystemExit):
        client.lock(name, on_position=_exit)
    until(lambda: client.get_lock(name).waiter_count == 0)


def test_headers_that_exit_are_an_error(server: RowlockServer, connect: MakeClient, name: str) -> None:
    client = connect(server.address, headers=lambda: sys.exit("no token"))
    with pytest.raises(rowlock.RowlockError, match="no token"):
        client.lock(name)
