"""What the tests share: a server for all, and clients that are closed afterwards."""

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
    """One for all tests that leave it alone."""
    shared = RowlockServer(tmp_path_factory.mktemp("server"))
    yield shared
    shared.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RowlockServer]:
    """One for a test that is not kind to it."""
    own = RowlockServer(tmp_path)
    yield own
    own.stop()


@pytest.fixture
def connect() -> Iterator[MakeClient]:
    """Makes clients."""
    clients: list[rowlock.Client] = []

    def make(*addresses: str, **options: Any) -> rowlock.Client:
        clients.append(rowlock.connect(addresses, **{"owner": "tester", **options}))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(server: RowlockServer, connect: MakeClient) -> rowlock.Client:
    """One of the shared server."""
    return connect(server.address)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A lock of this test's own."""
    found: str = request.node.name
    return found
