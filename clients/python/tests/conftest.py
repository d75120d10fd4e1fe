"""The tests' fixtures: a shared server, and clients that are closed after each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rowlock_server import RowlockServer

import rowlock

MakeClient = Callable[..., rowlock.Client]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RowlockServer]:
    """A server for all tests that do not disturb it."""
    shared = RowlockServer(tmp_path_factory.mktemp("server"))
    yield shared
    shared.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RowlockServer]:
    """A server for one test that stops, kills or freezes it."""
    own = RowlockServer(tmp_path)
    yield own
    own.stop()


@pytest.fixture
def connect() -> Iterator[MakeClient]:
    """Make clients, and close them after the test."""
    clients: list[rowlock.Client] = []

    def make(*addresses: str, **options: Any) -> rowlock.Client:
        clients.append(rowlock.connect(addresses, **{"owner": "tester", **options}))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(server: RowlockServer, connect: MakeClient) -> rowlock.Client:
    """A client of the shared server."""
    return connect(server.address)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """The name of a lock that only this test uses."""
    found: str = request.node.name
    return found
