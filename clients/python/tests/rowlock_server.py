"""A server of this repository on an SQLite file, as a process that tests can freeze, kill and start again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

_HOUSE = Path(__file__).parents[3]
_NODE = _HOUSE / "node_modules/.bin/node"
# A cache of compiled code, as reading the sources takes half of the start.
_COMPILED = _HOUSE / "node_modules/.cache/rowlock-compiled"
_START_WITHIN = 60.0


class RowlockServer:
    """Starts when it is made. `address` stays the same when it starts again."""

    def __init__(self, folder: Path, *more: str) -> None:
        """`more`: further flags."""
        self._folder = folder
        self._more = more
        self.address = self._start("127.0.0.1:0")

    def kill(self) -> None:
        """Kill the process without a shutdown."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def retire(self) -> None:
        """Begin the shutdown of the process, which lets its clients know."""
        self._process.terminate()

    def start_again(self) -> None:
        """Start it again on the same database and at the same address."""
        self._start(self.address)

    def freeze(self) -> None:
        """Suspend the process, which keeps its connections open."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume the process."""
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stop it at the end of a test, whatever its state."""
        self.kill()

    def _start(self, listen: str) -> str:
        command = [str(_NODE), "server/main.ts", "serve", "--listen", listen]
        command += [
            "--metrics-listen",
            "127.0.0.1:0",
            "--database-url",
            f"sqlite:{self._folder}/rowlock.db",
            *self._more,
        ]
        environment = {"PATH": os.environ["PATH"], "NODE_COMPILE_CACHE": str(_COMPILED)}
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=_HOUSE, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        late = threading.Timer(_START_WITHIN, self._process.kill)
        late.start()
        try:
            return self._said(re.compile(r"gRPC +(\S+)"), re.compile(r"LockService/Acquire$"))
        finally:
            late.cancel()

    def _said(self, what: re.Pattern[str], end: re.Pattern[str]) -> str:
        """Read the first lines of its output, and return what they say."""
        assert self._process.stdout is not None
        found, screen = "", ""
        for line in self._process.stdout:
            screen += line
            match = what.search(line)
            found = match.group(1) if match else found
            if end.search(line.rstrip()):
                # The test needs nothing that follows, but a full pipe would block the server.
                self._reader = threading.Thread(target=self._process.stdout.read)
                self._reader.start()
                return found
        log = (self._folder / "log").read_text()
        self._process.stdout.close()
        raise AssertionError(f"The server has ended.\n{screen}\n{log}")


def until(holds: Callable[[], object], within: float = 30.0) -> None:
    """Wait until `holds` returns true, and fail after `within` seconds."""
    tick = threading.Event()
    for _ in range(int(within / 0.02)):
        if holds():
            return
        tick.wait(0.02)
    raise AssertionError("waited too long")
