"""The module for tests of programs that use locks, tried as its users would."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rowlock_server import until

import rowlock
import rowlock.aio
import rowlock.testing

_ROWLOCK = os.fspath(Path(__file__).parents[3] / "bin/rowlock.mjs")


@pytest.fixture(scope="module")
def rowlock_server() -> Iterator[rowlock.testing.EphemeralServer]:
    with rowlock.testing.serve(_ROWLOCK) as server:
        yield server


def test_a_test_loses_a_lock_on_purpose(rowlock_server: rowlock.testing.EphemeralServer) -> None:
    with rowlock.connect(rowlock_server.address) as client:
        with pytest.raises(rowlock.LockLost):
            with client.lock("etl/load") as lock:
                rowlock_server.lose("etl/load")
                assert lock.lost.wait(30)


def test_serves_asyncio_and_freezes(rowlock_server: rowlock.testing.EphemeralServer) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(rowlock_server.address) as client:
            lock = await client.lock("etl/load", ttl=2.0)
            rowlock_server.freeze()
            await lock.lost
            rowlock_server.thaw()

    asyncio.run(main())
    assert rowlock_server.client.get_lock("etl/load").name == "etl/load"


def test_says_how_to_get_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWLOCK_BIN", "/nowhere/rowlock")
    with pytest.raises(RuntimeError, match="no command /nowhere/rowlock: install the server"):
        rowlock.testing.serve()
    with pytest.raises(RuntimeError, match="ended with 1 before it served"):
        rowlock.testing.serve([sys.executable, "-c", "raise SystemExit(1)"])


def test_the_server_ends_with_a_program_that_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import os, rowlock.testing; print(rowlock.testing.serve().address, flush=True); os.abort()"
    monkeypatch.setenv("ROWLOCK_BIN", _ROWLOCK)
    ended = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, timeout=120, check=False
    )
    assert ended.returncode != 0
    with rowlock.connect(ended.stdout.strip(), give_up_after=0.2, connect_timeout=0.2) as client:

        def is_gone() -> bool:
            try:
                client.get_lock("x")
            except rowlock.RowlockError as error:
                return error.reason == rowlock.Reason.NO_SERVER
            return False

        until(is_gone)
