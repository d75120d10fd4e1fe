"""A server for the tests of your own code: real, in memory only, and gone with the test.

import pytest, rowlock.testing

@pytest.fixture(scope="session")
def rowlock_server():
    with rowlock.testing.serve() as server:
        yield server

def test_that_the_job_stops_when_its_lock_is_lost(rowlock_server):
    with rowlock.connect(rowlock_server.address) as client:
        ...
        rowlock_server.lose("etl/load")
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rowlock.client import Client, connect

if TYPE_CHECKING:
    from typing_extensions import Self

# Seconds until a server that says nothing counts as broken, and for its end.
_START_WITHIN = 60.0
_STOP_WITHIN = 10.0


class EphemeralServer:
    """A running server. As it ends with its standard input, it never outlives this process."""

    def __init__(self, command: Sequence[str]) -> None:
        """For `serve` only."""
        try:
            self._process = subprocess.Popen(  # noqa: S603 - The command is the caller's.
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                # A group of its own, as the command may start the server as its child.
                start_new_session=True,
            )
        except OSError as failure:
            raise RuntimeError(_how_to_get(command[0])) from failure
        late = threading.Timer(_START_WITHIN, self._process.kill)
        late.start()
        try:
            assert self._process.stdout is not None
            line = self._process.stdout.readline()
        finally:
            late.cancel()
        if not line:
            self.stop()
            raise RuntimeError(
                f"{' '.join(command)} ended with {self._process.returncode} before it served; its log says why"
            )
        said = json.loads(line)
        self.address: str = said["grpc"]
        """For `connect`, of `rowlock` and of `rowlock.aio`."""
        self.metrics: str = said["metrics"]
        """The address of its metrics."""
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """A client of this server, which is closed with it."""
        if self._client is None:
            self._client = connect(self.address, owner="test")
        return self._client

    def lose(self, name: str) -> None:
        """End all holders of a lock, as an operator would: each of them loses its lock."""
        while self.client.force_release(name, "lost on purpose, by a test").remaining > 0:
            pass

    def freeze(self) -> None:
        """Suspend the server: it stays connected and does not answer. Not on Windows."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume the server."""
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stop the server. All that it knew is gone. A second call has no effect."""
        process = self._process
        client, self._client = getattr(self, "_client", None), None
        if client and process.poll() is None:
            client.close()
        if hasattr(signal, "SIGCONT"):
            self.thaw()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(_STOP_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def serve(command: str | Sequence[str] | None = None, *, options: Sequence[str] = ()) -> EphemeralServer:
    """Start a server on free ports: `with rowlock.testing.serve() as server:`. Raises RuntimeError if it cannot.

    command: that of Rowlock; by default the one in the environment's ROWLOCK_BIN, or `rowlock`.
    options: more options of `rowlock serve`, such as `["--grace", "1s"]`.
    """
    chosen = command or os.environ.get("ROWLOCK_BIN") or "rowlock"
    words = [chosen] if isinstance(chosen, str) else list(chosen)
    found = shutil.which(words[0])
    if found is None:
        raise RuntimeError(_how_to_get(words[0]))
    return EphemeralServer([found, *words[1:], "serve", "--ephemeral", *options])


def _how_to_get(command: str) -> str:
    return (
        f"There is no command {command}: install the server, set ROWLOCK_BIN to its path "
        "(bin/rowlock.mjs of a checkout), or pass its command"
    )
